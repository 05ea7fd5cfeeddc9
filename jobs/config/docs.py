"""Writes docs/configuration.md from the descriptions.

python -m eddy.jobs.config.docs > docs/configuration.md
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from eddy.jobs.config.schema import ConfigKey, ConfigPart, NamedSections, Section, Variants
from eddy.jobs.config.sections import JOB
from eddy.jobs.workloads.registry import WORKLOADS, find_workload
from eddy.plug_ins import PlugIns
from eddy.redaction import display
from eddy.wiring import policy_names, policy_parameters

HEAD = """# Configuration

One TOML file is one job; `conf/` has a commented example for each kind of query. This page is generated:
`python -m eddy.jobs.config.docs > docs/configuration.md`.

One error tells all mistakes, each with its line and its key. Names are looked up from the file:

* A relative path (of a source, a sink, a checkpoint) is relative to the folder of the job's file, on the machine that
  starts the job. Write a path of a cluster's file system with its scheme: `hdfs:///in`, `s3a://bucket/in`.
* A function's module is looked for where Python looks (installed packages, `--py-files`, PYTHONPATH), then in the
  folder of the job's file. Modules from there are sent to the workers. Nothing in a file is evaluated.

Single values can be set from outside. A relative path among them is relative to where you are:

```sh
eddy run conf/quickstart.toml --set policy.name=source
spark-submit --conf spark.eddy.policy.name=source jobs/run_stream.py conf/quickstart.toml
```

A policy that is named so keeps the parameters that the file gives, and refuses those that it does not have:
`--set 'policy={name="source"}'` replaces the section.

`--set` wins over `--conf`, `--conf` over a profile, and that over the file; `--set trigger.every=` takes a key away.
`eddy validate --resolved` prints every value and where it came from, without secrets (`password`, `secret`, `token`,
`sasl.jaas.config`, ...).

A profile is what the file says besides for one place where it runs; `--profile prod` of `eddy run`, `validate`,
`explain`, `compare` and of `jobs/run_stream.py` chooses it. A table of it that says another `format`, or another
policy, replaces that of the file, since its keys are others:

```toml
[profile.prod.engine]
cells = 32
[profile.prod.sink]
format = "parquet"
path = "s3a://${BUCKET}/matches"
```

A value may come from the environment of the process that starts the job: `"${NAME}"`, also as a part of a text,
`"${NAME:-default}"` for one that need not be set, and `"$${"` for `${` itself. It is taken as it is, looked through for
nothing, and never run. Keys of SQL, and `format`, have no variables. Where a key takes no text the variable may say a
number, or true or false. What a variable says is never printed: `--resolved`, logs and mistakes show `"${NAME}"`. In
errors of others it is hidden where its key or its own name is that of a secret. In
`--set 'sink.options.password=${PASSWORD}'` it is not seen by `ps` either.

`eddy schema > eddy.schema.json` writes a JSON Schema, by which editors complete and check a file that begins with
`#:schema ./eddy.schema.json` (Taplo, Even Better TOML)."""


SHIPPED = "`web` and `shop` come with the package; the others need a clone of the repository."
"""Before the table of workloads."""


def page() -> str:
    """Write the whole page."""
    return "\n".join([HEAD, *_part("", JOB), *_policies(), *_workloads()]) + "\n"


def _part(path: str, part: ConfigPart) -> Iterator[str]:
    if isinstance(part, NamedSections):
        yield from _section(f"{path}.NAME", part.each, f"{part.text} ")
    elif isinstance(part, Variants):
        yield from _variants(path, part)
    else:
        yield from _section(path, part)


def _section(path: str, part: Section, before: str = "") -> Iterator[str]:
    if path:
        yield from ("", f"## `[{path}]`", "", f"{before}{part.text}", *_keys(part))
    for name, inner in part.parts.items():
        yield from _part(f"{path}.{name}" if path else name, inner)


def _variants(path: str, part: Variants) -> Iterator[str]:
    if part.like:
        as_there = f"It has the formats and keys of [`[{part.like}]`](#{part.like})."
        yield from ("", f"## `[{path}]`", "", f"{part.text} {as_there}")
        return
    # Packages that happen to be installed here are not on the page.
    formats = part.formats.own if isinstance(part.formats, PlugIns) else part.formats
    part = replace(part, formats=formats)
    yield from ("", f"## `[{path}]`", "", f"{part.text} `format` is one of:", "")
    for name, section in part.formats.items():
        left_out = " (when left out)" if name == part.default else ""
        yield f"* `{name}`{left_out}: {section.text}"
    # A key that several formats have stands once.
    rows: dict[str, list[str]] = {}
    for name, section in part.formats.items():
        for key, value in section.keys.items():
            rows.setdefault(_key(key, value), []).append(name)
    yield from ("", f"| {KEY_TITLES} | with `format` |", "| --- | --- | --- | --- | --- |")
    yield from (f"{row} {_quote(names)} |" for row, names in rows.items())
    yield from _inner_sections(path, part)


def _inner_sections(path: str, part: Variants) -> Iterator[str]:
    """Give the sections within formats, each once."""
    for inner in dict.fromkeys(name for section in part.formats.values() for name in section.parts):
        within = {name: section.parts[inner] for name, section in part.formats.items() if inner in section.parts}
        needed = [name for name, section in within.items() if isinstance(section, Section) and section.required]
        also = f"; needed with {_quote(needed)}" if needed else ""
        yield from ("", f"`[{path}.{inner}]` (with {_quote(within)}{also}): {next(iter(within.values())).text}")


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


KEY_TITLES = "key | value | when left out | what it is for"


def _keys(section: Section) -> Iterator[str]:
    keys: Mapping[str, ConfigKey] = section.keys
    if keys or section.others:
        yield from ("", f"| {KEY_TITLES} |", "| --- | --- | --- | --- |")
    yield from (_key(name, key) for name, key in keys.items())
    if section.others:
        yield f"| any other | {section.others.kind.expected} | | {section.others.text} |"


def _key(name: str, key: ConfigKey) -> str:
    return f"| `{name}` | {_write_expected(key)} | {_default(key)} | {key.text} |"


def _write_expected(key: ConfigKey) -> str:
    return " or ".join(f"`{one}`" for one in key.choices) or key.kind.expected


def _default(key: ConfigKey) -> str:
    if key.required:
        return "**needed**"
    return f"`{display((), key.default)}`" if key.default not in (None, []) else ""


def _policies() -> Iterator[str]:
    yield from ("", "## Policies", "", "| `policy.name` | parameters |", "| --- | --- |")
    for name in policy_names():
        yield f"| `{name}` | {'; '.join(_describe(*parameter) for parameter in policy_parameters(name).items())} |"


def _workloads() -> Iterator[str]:
    yield from ("", "## Workloads", "", SHIPPED, "", "| `kind` | parameters |", "| --- | --- |")
    for name in WORKLOADS:
        parameters = [p for p in inspect.signature(find_workload(name)).parameters.values() if p.name != "seed"]
        yield f"| `{name}` | {'; '.join(_describe(p.name, p.default) for p in parameters)} |"


def _describe(name: str, default: object) -> str:
    return f"`{name}`, needed" if default is inspect.Parameter.empty else f"`{name} = {_value(default)}`"


def _value(default: object) -> str:
    return display((), list(default) if isinstance(default, tuple) else default)


def main() -> int:
    """Print the page."""
    sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
