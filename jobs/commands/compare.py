"""eddy compare: policies side by side, on a job or experiment."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from eddy.jobs.commands.command import Command


def arguments(parser: ArgumentParser) -> None:
    """Add those of the comparison itself, for who lists them: it reads them by itself."""
    from eddy.jobs import compare_policies  # noqa: PLC0415  other commands do without it

    compare_policies.arguments(parser)


def run(chosen: Namespace) -> int:
    """Hand everything on."""
    from eddy.jobs import compare_policies  # noqa: PLC0415  other commands do without it

    return compare_policies.main(chosen.rest, prog="eddy compare")


COMMAND = Command(
    arguments=arguments,
    run=run,
    forwards=True,
)
