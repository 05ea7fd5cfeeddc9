"""docs/configuration.md, out of the descriptions: python -m eddy.jobs.config.docs > docs/configuration.md."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping

from eddy.jobs.config.schema import ConfigKey, ConfigPart, NamedSections, Section, Variants
from eddy.jobs.config.sections import JOB
from eddy.jobs.workloads.registry import WORKLOADS
from eddy.redaction import display
from eddy.wiring import policy_names, policy_parameters

HEAD = """# Configuration

One TOML file is one job. This page is generated: `python -m eddy.jobs.config.docs > docs/configuration.md`.
`conf/` has a commented example for each kind of query.

Mistakes are told all at once, each with its line and its key. Whatever a file names is beside it, wherever the job is
started:

* A relative path (of a source, a sink, a checkpoint) is relative to the folder of the job's file, and is a path of the
  machine that starts the job. Write one of a cluster's file system with its scheme: `hdfs:///in`, `s3a://bucket/in`.
* A module whose functions are named is looked for where Python looks (what is installed, `--py-files`, PYTHONPATH), and
  then in the folder of the job's file. Those that come from there are sent to the workers with the job.

Single values can be set from outside of the file, and that wins over the file. A relative path among them is relative
to where you are:

```sh
eddy run conf/quickstart.toml --set policy.name=source
spark-submit --conf spark.eddy.policy.name=source jobs/run_stream.py conf/quickstart.toml
```

`--set` wins over `--conf`, and without a value (`--set trigger.every=`) takes a key away. The environment is not read.
`eddy validate --resolved` prints every value and where it came from; what looks like a secret (`password`, `secret`,
`token`, `sasl.jaas.config`, ...) is never printed. Nothing in a file is evaluated: a function is named by its import
path, and imported as Python's `import` does."""


def page() -> str:
    """The whole page."""
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
    yield from ("", f"## `[{path}]`", "", f"{part.text} `format` says which of these:")
    for name, section in part.formats.items():
        left_out = " (when no format is said)" if name == part.default else ""
        yield from ("", f'### `[{path}]` with `format = "{name}"`{left_out}', "", section.text, *_keys(section))
        for inner, within in section.parts.items():
            if isinstance(within, Section):
                needed = " Needed." if within.required else ""
                yield from ("", f"`[{path}.{inner}]`: {within.text}{needed}")


def _keys(section: Section) -> Iterator[str]:
    keys: Mapping[str, ConfigKey] = section.keys
    if keys or section.others:
        yield from ("", "| key | what it may be | when left out | what it is for |", "| --- | --- | --- | --- |")
    for name, key in keys.items():
        yield f"| `{name}` | {_expected(key)} | {_default(key)} | {key.text} |"
    if section.others:
        yield f"| any other | {section.others.kind.expected} | | {section.others.text} |"


def _expected(key: ConfigKey) -> str:
    return " or ".join(f"`{one}`" for one in key.choices) or key.kind.expected


def _default(key: ConfigKey) -> str:
    if key.required:
        return "**needed**"
    return f"`{display((), key.default)}`" if key.default not in (None, []) else ""


def _policies() -> Iterator[str]:
    yield from ("", "## Policies", "", "| `policy.name` | parameters |", "| --- | --- |")
    for name in policy_names():
        yield f"| `{name}` | {'; '.join(_told(*parameter) for parameter in policy_parameters(name).items())} |"


def _workloads() -> Iterator[str]:
    yield from ("", "## Workloads", "", "| `kind` | parameters |", "| --- | --- |")
    for name, build in WORKLOADS.items():
        parameters = [p for p in inspect.signature(build).parameters.values() if p.name != "seed"]
        yield f"| `{name}` | {'; '.join(_told(p.name, p.default) for p in parameters)} |"


def _told(name: str, default: object) -> str:
    return f"`{name}`, needed" if default is inspect.Parameter.empty else f"`{name} = {_value(default)}`"


def _value(default: object) -> str:
    return display((), list(default) if isinstance(default, tuple) else default)


def main() -> int:
    """Print the page."""
    sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
