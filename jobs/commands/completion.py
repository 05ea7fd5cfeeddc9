"""eddy completion: what a shell needs to complete our commands."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eddy.jobs.commands.command import Command

PLACES = {
    "bash": "eddy completion bash > ~/.local/share/bash-completion/completions/eddy",
    "zsh": 'eddy completion zsh > "${fpath[1]}/_eddy"',
    "fish": "eddy completion fish > ~/.config/fish/completions/eddy.fish",
}
"""How to keep what is printed where a shell looks for it."""


@dataclass(frozen=True)
class Option:
    """An option of a command: its names, whether a value follows, and which values there are."""

    names: Sequence[str]
    text: str
    takes_value: bool
    values: Sequence[str]


@dataclass(frozen=True)
class Completed:
    """A command: its options, and the words that it takes besides; where there are none it takes files."""

    name: str
    text: str
    options: Sequence[Option]
    words: Sequence[str]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("shell", choices=tuple(PLACES), help="which shell")
    parser.epilog = "; ".join(PLACES.values())


def run(chosen: Namespace) -> int:
    """Print what the shell reads."""
    print("\n".join(SHELLS[chosen.shell](list(read_commands(chosen.make_parser())))))
    return 0


def read_commands(parser: ArgumentParser) -> Iterator[Completed]:
    """Read the commands of the parser that will read what is completed."""
    (known,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    texts = {action.dest: action.help or "" for action in known._choices_actions}
    for name, one in known.choices.items():
        options = [
            Option(tuple(a.option_strings), _shorten(a.help), a.nargs != 0, [str(value) for value in a.choices or ()])
            for a in one._actions
            if a.option_strings
        ]
        words = [str(value) for a in one._actions if not a.option_strings for value in a.choices or ()]
        yield Completed(name, texts[name], options, words)


def _shorten(text: str | None) -> str:
    """Keep the first part of a help text: a list of completions has one line for each."""
    return re.split(r"[;:(]", text or "", maxsplit=1)[0].strip().replace("%%", "%")


def _write_bash(commands: Sequence[Completed]) -> Iterator[str]:
    yield "# bash completion of eddy, written by: eddy completion bash"
    yield "_eddy() {"
    yield '    local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'        COMPREPLY=($(compgen -W "{" ".join(one.name for one in commands)} --help --version" -- "$cur"))'
    yield "        return"
    yield "    fi"
    yield '    case "${COMP_WORDS[1]} $before" in'
    for one in commands:
        for option in one.options:
            if option.values:
                found = f'COMPREPLY=($(compgen -W "{" ".join(option.values)}" -- "$cur")); return'
                yield f"        {_either(one, option)}) {found} ;;"
    yield "    esac"
    yield '    case "${COMP_WORDS[1]}" in'
    for one in commands:
        names = " ".join(name for option in one.options for name in option.names)
        words = f'words="{" ".join(one.words)}"'
        yield f'        {one.name}) case "$cur" in -*) words="{names}" ;; *) {words} ;; esac ;;'
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield '    case "$cur" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$cur")) ;; esac'
    yield "}"
    yield "complete -o filenames -F _eddy eddy"


def _either(command: Completed, option: Option) -> str:
    return "|".join(f'"{command.name} {name}"' for name in option.names)


def _write_zsh(commands: Sequence[Completed]) -> Iterator[str]:
    yield "#compdef eddy"
    yield "# zsh completion of eddy, written by: eddy completion zsh"
    yield "_eddy() {"
    yield "    local -a commands=("
    yield from (f"        {_quote(f'{one.name}:{one.text}')}" for one in commands)
    yield "    )"
    yield "    if (( CURRENT == 2 )); then _describe command commands; return; fi"
    yield "    local command=$words[2]"
    yield "    shift words; (( CURRENT-- ))"
    yield "    case $command in"
    for one in commands:
        told = [_quote(spec) for option in one.options for spec in _spell_zsh(option)]
        told += [_quote(f"1:word:({' '.join(one.words)})")] if one.words else []
        yield f"        {one.name}) _arguments {' '.join(told)} '*:file:_files' ;;"
    yield "    esac"
    yield "}"
    yield '_eddy "$@"'


def _spell_zsh(option: Option) -> Iterator[str]:
    text = re.sub(r"[\[\]:]", "", option.text)
    values = f"({' '.join(option.values)})" if option.values else ""
    yield from (f"{name}[{text}]{f':value:{values}' if option.takes_value else ''}" for name in option.names)


def _write_fish(commands: Sequence[Completed]) -> Iterator[str]:
    yield "# fish completion of eddy, written by: eddy completion fish"
    for one in commands:
        yield f"complete -c eddy -f -n __fish_use_subcommand -a {one.name} -d {_quote(one.text)}"
        within = f"complete -c eddy -n '__fish_seen_subcommand_from {one.name}'"
        for option in one.options:
            names = " ".join(f"-{'l' if name.startswith('--') else 's'} {name.lstrip('-')}" for name in option.names)
            values = f" -x -a {_quote(' '.join(option.values))}" if option.values else " -r" * option.takes_value
            yield f"{within} {names}{values} -d {_quote(option.text)}"
        if one.words:
            yield f"{within} -a {_quote(' '.join(one.words))}"


def _quote(text: str) -> str:
    """Quote a text for zsh and fish, which have no escapes between single quotes in common."""
    return "'" + text.replace("'", "`") + "'"


SHELLS: Mapping[str, Callable[[Sequence[Completed]], Iterator[str]]] = {
    "bash": _write_bash,
    "zsh": _write_zsh,
    "fish": _write_fish,
}

COMMAND = Command(arguments=arguments, run=run)
