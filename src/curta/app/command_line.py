"""The `curta` command: find what is called, read its options, call it, show its error.

Exit codes: 0 done; 1 the program failed while it ran; 2 the user has to change something;
130 interrupted (see `entry`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from curta.app.commands import (
    COMMANDS,
    GROUPS,
    HELP,
    VERSION,
    check_packages,
    find,
    listed,
    module_of,
)
from curta.errors import CurtaError, ModuleError, ProgramError

SUMMARY = "Language models that compute exactly."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; print an error as one line."""
    name, words = find(sys.argv[1:] if arguments is None else arguments)
    options = None
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # tokens may be any characters
    try:
        if name not in COMMANDS:
            return show_help(name, words)
        command, options = read(name, words)
        check_packages(name)
        code = command(options)
        sys.stdout.flush()
        return code
    except CurtaError as error:
        print(f"curta: {located(error, options)}", file=sys.stderr)
        return 1 if isinstance(error, ProgramError) else 2
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        where = error.filename2 or error.filename
        reason = error.strerror or error
        print(f"curta: {where}: {reason}" if where else f"curta: {reason}", file=sys.stderr)
        return 1


def read(name: str, words: Sequence[str]) -> tuple[Callable[[Any], int], Any]:
    """A command, and its options."""
    from curta.app.parser import parse

    module = import_module(module_of(name))
    return module.run, parse(name, module.Options, words)


def located(error: CurtaError, options: Any) -> str:
    """The message; what is wrong inside of a module is said to be in its file."""
    files: Sequence[str] = getattr(options, "program", ())
    return f"{' '.join(files)}: {error}" if isinstance(error, ModuleError) else str(error)


def show_help(group: str, words: Sequence[str]) -> int:
    """What there is; an error if it is something else that was asked for."""
    first = words[0] if words else ""
    program = f"curta {group}".strip()
    if first == VERSION:
        from curta import __version__

        print(f"curta {__version__}")
    elif first in HELP:
        print(f"usage: {program} COMMAND [options]\n\n{GROUPS.get(group, SUMMARY)}\n\ncommands:")
        for name, summary in listed(group).items():
            print(f"  {name:12} {summary}")
        print(f"\n{program} COMMAND --help says more")
    else:
        from curta.app.parser import likely, refuse

        near = likely(first, listed(group))
        what = f"there is no command {first}" if first else "COMMAND is missing"
        refuse(program, what + (f": did you mean {near}?" if near else ""))
    return 0
