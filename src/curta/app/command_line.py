"""The `curta` command.

Exit codes: 0 done; 1 the program failed while it ran; 2 the user has to change something;
130 interrupted (see `entry`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper

from curta import __version__
from curta.app.cache import add_cache
from curta.app.calc_commands import add_calc
from curta.app.delegate_commands import add_delegate
from curta.app.learn_commands import add_learn
from curta.app.machine_commands import add_machine_commands
from curta.app.parser import Parser
from curta.app.save_trace import add_save_trace
from curta.app.serve_command import add_serve
from curta.errors import CurtaError, ModuleError, ProgramError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; print an error as one line."""
    options = parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # tokens may be any characters
    try:
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
        print(f"curta: {error.strerror or error}", file=sys.stderr)
        return 1


def located(error: CurtaError, options: argparse.Namespace) -> str:
    """The message; what is wrong inside of a module is said to be in its file."""
    files: list[str] = getattr(options, "program", [])
    return f"{' '.join(files)}: {error}" if isinstance(error, ModuleError) else str(error)


def parser() -> argparse.ArgumentParser:
    top = Parser(prog="curta", description="Language models that compute exactly.")
    top.add_argument("--version", action="version", version=f"curta {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_machine_commands(commands)
    add_gallery(commands)
    add_build(commands)
    add_inspect(commands)
    add_learn(commands)
    add_calc(commands)
    add_delegate(commands)
    add_serve(commands)
    add_cache(commands)
    return top


def add_gallery(commands: argparse._SubParsersAction[Parser]) -> None:
    gallery = commands.add_parser(
        "gallery",
        help="list the worked programs, or compile and run one",
        description="Without NAME: list the worked programs. With NAME: compile it into a "
        "transformer, and let that transformer answer INPUT (by default the program's example).",
    )
    gallery.add_argument("name", nargs="?", metavar="NAME")
    gallery.add_argument("input", nargs="?", metavar="INPUT")
    gallery.add_argument(
        "--level",
        choices=("evaluate", "plain", "hull", "native"),
        default="native",
        help="exact arithmetic, PyTorch softmax, hull caches, or generated C (default)",
    )
    gallery.add_argument("--tokens", action="store_true", help="print the tokens as they are said")
    gallery.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="say at most N tokens (default: to the stop)",
    )
    add_save_trace(gallery)
    gallery.add_argument("--stats", choices=("text", "json"), default="text", help="the figures")
    gallery.set_defaults(command=run_gallery)


def add_build(commands: argparse._SubParsersAction[Parser]) -> None:
    build = commands.add_parser(
        "build",
        help="compile a program and write it to a file",
        description="NAME is a program of the gallery, FILE.py with a function build() that "
        "returns a Graph, or machine: the weights with which curta run runs any program.",
    )
    build.add_argument("name", metavar="NAME")
    build.add_argument(
        "--emit",
        choices=("safetensors", "c", "torch"),
        default="safetensors",
        help="the model file; the C that the native engine compiles; or a folder with the model "
        "file and a PyTorch module that needs nothing of curta",
    )
    build.add_argument("-o", "--output", required=True, metavar="OUT")
    build.add_argument(
        "--max-tokens", type=int, metavar="T", help="the length to certify (default: the program's)"
    )
    build.set_defaults(command=run_build)


def add_inspect(commands: argparse._SubParsersAction[Parser]) -> None:
    inspect = commands.add_parser(
        "inspect",
        help="show what a model file computes, where, and what is proved about it",
    )
    inspect.add_argument("file", metavar="FILE.safetensors")
    inspect.add_argument(
        "--verify", action="store_true", help="compile the graph again and compare every weight"
    )
    inspect.set_defaults(command=run_inspect)


def run_gallery(options: argparse.Namespace) -> int:
    from curta.app import gallery

    if options.name is None:
        gallery.show_list()
        return 0
    return gallery.run(options)


def run_build(options: argparse.Namespace) -> int:
    from curta.app import build

    build.run(options.name, options.emit, options.output, options.max_tokens)
    return 0


def run_inspect(options: argparse.Namespace) -> int:
    from curta.app import inspect

    inspect.run(options.file, verify=options.verify)
    return 0
