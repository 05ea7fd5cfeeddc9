# `make help` lists what there is. Every target makes what it needs on first use, in .venv; nothing is installed elsewhere.

VENV   := .venv
PY     := $(VENV)/bin/python
LOG    := $(VENV)/install.log
# Where to look for python, best first; `make PYTHON=/path/to/python3 ...` says which.
PYTHON ?=
PYTHONS = $(or $(PYTHON),python3 python3.11 python3.12 python3.13 python3.14)
# A streaming query that hangs must fail, and must not hold up the run for ever.
PYTEST := $(PY) -m pytest --timeout=300
# More arguments for pytest: `make test ARGS="-k filters"`.
ARGS   ?=

# Spark starts its python workers with what PYSPARK_PYTHON names, and not with the python that runs the job.
export PYSPARK_PYTHON := $(CURDIR)/$(PY)
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(PY)

# $(call step,what is done,how): says when it begins, and how many seconds it took.
step = echo '$(1)'; begun=$$(date +%s); $(2); ended=$$?; echo "$(1): $$(($$(date +%s) - begun)) s"; exit $$ended

.DEFAULT_GOAL := help
.PHONY: help check test versions oldest lowest demo dist kafka bench notebooks peers soak soak-long lint format cover venv java clean
# A target whose recipe failed half-way must be made again.
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: $(VENV)/.dev ## Check style and types, and run every test that starts neither Spark nor a process
	@$(call step,check,$(PY) -m tests.tiers check --timeout=300 $(ARGS))

test: java $(VENV)/.dev ## Check style and types, and run every test and every example in the docs
	@$(call step,tests,$(PY) -m tests.tiers all --timeout=300 $(ARGS))

demo: java $(VENV)/.run ## Watch policies follow a stream that changes: a minute, on Spark
	@$(VENV)/bin/eddy demo --report build/demo.html

dist: $(VENV)/.run ## Make dist/eddy.zip, for spark-submit --py-files
	@$(PY) -m eddy.jobs.dist

kafka: $(VENV)/.dev ## Fetch a broker of Kafka and Spark's connector into build/kafka, as the tests do
	@$(PY) -m tests.jobs.kafka.jars

bench: java $(VENV)/.dev ## Compare with what else there is, in one run: ratios, figures, build/bench.json
	@mkdir -p build
	@$(PY) -m benchmarks --json build/bench.json

# Each wants an older pyarrow than Spark and we do, so each has an environment of its own.
FLINK   := apache-flink>=2.3,<2.4
PATHWAY := pathway>=0.33,<0.34

peers: $(VENV)/peers/flink/.done $(VENV)/peers/pathway/.done ## Install Flink and Pathway, for "make bench"

$(VENV)/peers/flink/.done: WHAT = $(FLINK)
$(VENV)/peers/pathway/.done: WHAT = $(PATHWAY)
$(VENV)/peers/%/.done: | $(VENV)/.made
	@echo "installing $* into $(@D) (once; a minute or two)"
	@rm -rf $(@D) && $(PY) -m venv $(@D)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(@D)/bin/python -m pip install '$(WHAT)' >$(@D)/install.log 2>&1 </dev/null || { \
	    tail -n 40 $(@D)/install.log >&2; echo 'installing failed; the end of $(@D)/install.log is above' >&2; exit 1; }
	@touch $@

# The oldest Spark that joins run on, the oldest on which everything does, and what lies between that and ours.
SPARKS  := 4.0 4.1 4.2
# The oldest versions of everything at once, as setup.cfg has them: `==2` is 2.0.0.
LOWEST  := $(shell awk '/^ +(pyarrow|numpy|pandas|cloudpickle|numba|pyspark) >=/ { split($$2, low, /[=,]/); sub(/pyspark/, "&[connect]"); print $$1 "==" low[2] }' setup.cfg)
PLAIN   := tests -m 'not spark and not process and not apart and not long' --ignore=tests/test_house.py --ignore=tests/benchmarks
# How columns arrive, rows go, and states are kept: what a version of Spark may change.
OLDEST  := tests/eddy/spark/test_versions.py tests/eddy/spark/test_parcels.py tests/eddy/spark/test_types.py \
           tests/eddy/spark/test_restart.py tests/jobs/test_same_job.py
OF_SPARK = tests/eddy/spark tests/eddy/sql/test_spark.py tests/jobs -m 'spark and not long'
# $(call on,version,what to run)
on = PYSPARK_PYTHON=$(CURDIR)/$(VENV)/spark/$(1)/bin/python PYSPARK_DRIVER_PYTHON=$(CURDIR)/$(VENV)/spark/$(1)/bin/python \
     $(VENV)/spark/$(1)/bin/python -m pytest --timeout=300 $(2) $(ARGS)

oldest: java $(VENV)/spark/lowest/.done ## Run some tests of Spark on the oldest one, with the oldest of all else
	@$(call step,tests on $(LOWEST),$(call on,lowest,$(OLDEST)))

lowest: oldest ## Run these, and every test that starts neither Spark nor a process, on the oldest of everything
	@$(call step,tests on $(LOWEST),$(call on,lowest,$(PLAIN)))

versions: java $(SPARKS:%=$(VENV)/spark/%/.done) ## Run the tests of Spark on the older ones
	@$(foreach spark,$(SPARKS),$(call step,tests on Spark $(spark),$(call on,$(spark),$(OF_SPARK))) &&) true

$(VENV)/spark/lowest/.done: WHAT = $(LOWEST)
$(VENV)/spark/%/.done: WHAT = pyspark[connect]==$*.*
$(VENV)/spark/%/.done: setup.cfg pyproject.toml | $(VENV)/.made
	@echo "installing $(WHAT) into $(@D) (once; a minute or two)"
	@rm -rf $(@D) && $(PY) -m venv $(@D)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(@D)/bin/python -m pip install --editable '.[test,fast,plots,flights,airports,baseball]' $(WHAT) \
	    >$(VENV)/spark-$*.log 2>&1 </dev/null || { tail -n 40 $(VENV)/spark-$*.log >&2; \
	    echo 'installing failed; the end of $(VENV)/spark-$*.log is above' >&2; exit 1; }
	@touch $@

# This template gives pictures the text of their cell's "alt". The kernel would warn that it can be listened to; it is
# on this machine, and says nothing that is secret.
PAGES := --to html --template classic --ExecutePreprocessor.extra_arguments=--IPKernelApp.log_level=ERROR

notebooks: java $(VENV)/.dev ## Execute the notebooks; build/notebooks has them as pages to read
	@$(PY) -m nbconvert --execute $(PAGES) --output-dir build/notebooks --log-level WARN notebooks/*.ipynb
	@echo "build/notebooks has them as pages"

soak: java $(VENV)/.dev ## Run what takes long: bugs put in, killed tasks and drivers, random queries, bad inputs, 500 micro-batches
	@$(call step,long tests,$(PY) -m tests.tiers soak --timeout=1200 $(ARGS))
	@$(call step,soak,$(PY) -m tests.soak)

soak-long: java $(VENV)/.dev ## Try ten times as many random queries, bad inputs and micro-batches: hours
	@$(PY) -m tests.soak --times 10

lint: $(VENV)/.dev ## Check style (ruff) and types (mypy --strict)
	@$(call step,style (ruff),$(PY) -m ruff check --quiet .)
	@$(PY) -m ruff format --check --quiet . || { echo 'these files are not formatted; "make format" does it:' >&2; \
	    $(PY) -m ruff format --check . >&2; exit 1; }
	@$(call step,types (mypy --strict),$(PY) -m mypy --no-error-summary)

format: $(VENV)/.dev ## Format the code and mend what ruff can mend
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

cover: java $(VENV)/.dev ## Run the tests and list the lines that none of them reaches
	@$(PYTEST) --cov --cov-report=term-missing $(ARGS)

venv: $(VENV)/.dev ## Make the virtual environment with everything in it
	@echo "$(VENV) is ready: . $(VENV)/bin/activate"

clean: ## Remove everything that make or a run has made
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage htmlcov spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The empty files .made, .run and .dev say how far $(VENV) has come.

$(VENV)/.made:
	@found=; for python in $(PYTHONS); do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo 'no python 3.11 or newer among "$(PYTHONS)"; install one, or say where it is: make PYTHON=/path/to/python3' >&2; exit 1; \
	fi; \
	echo "making $(VENV) with $$("$$found" --version)"; \
	rm -rf $(VENV); \
	"$$found" -m venv $(VENV) || { \
	    echo "\"$$found\" cannot make virtual environments; on Debian and Ubuntu, install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	@touch $@

# $(call install,what to install,how to call it)
define install
@echo "installing $(2) into $(VENV) (once; a minute or two)"
@PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip install --editable '$(1)' >$(LOG) 2>&1 </dev/null || { \
    tail -n 40 $(LOG) >&2; echo 'installing failed; the end of $(LOG) is above' >&2; exit 1; }
@touch $@
endef

$(VENV)/.run: $(VENV)/.made setup.cfg pyproject.toml
	$(call install,.[spark],what the jobs need)

$(VENV)/.dev: $(VENV)/.made setup.cfg pyproject.toml
	$(call install,.[dev],what the jobs and the tests need)
	@touch $(VENV)/.run

java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	version=$$("$$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1); \
	if [ "$${version:-0}" -lt 17 ]; then \
	    echo "Spark needs Java 17 or newer; \"$$java\" is $${version:+version }$${version:-missing}." \
	        'Install it (Debian: openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME' >&2; exit 1; \
	fi
