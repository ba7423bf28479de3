"""The machine's commands and their options."""

from __future__ import annotations

import argparse

from curta.app.machine_arguments import take_program
from curta.app.parser import Parser

LEVELS = ("native", "hull", "plain", "evaluate", "reference")


def add_machine_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    """`curta run` and `curta disasm`."""
    add_run(commands)
    add_disasm(commands)


def add_run(commands: argparse._SubParsersAction[Parser]) -> None:
    run = commands.add_parser(
        "run",
        help="run a program of C, C++ or WebAssembly inside the transformer",
        usage="curta run [options] PROG [arguments of the program] [options] [-- arguments]",
        description="PROG is a file .c .cc .cpp .cxx (or several, one after another), .wat or "
        ".wasm. Options stand before or behind it; words that curta does not know, and everything "
        "behind --, are the program's. Its output goes to the standard output, then one line of "
        "figures to the standard error; its exit code is passed on, a trap exits 1.",
    )
    run.prepare = take_program
    run.add_argument("--stdin", metavar="TEXT", help="a line of input (a newline is added)")
    run.add_argument("--stdin-file", metavar="FILE", help="a file with the input")
    run.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="can be given repeatedly"
    )
    run.add_argument(
        "--invoke",
        metavar="NAME",
        help="call this function with numbers, the program's arguments, and print its results",
    )
    run.add_argument(
        "--trace",
        action="store_true",
        help="print, instead of the output, every instruction with the tokens that it said",
    )
    run.add_argument("--max-tokens", type=int, metavar="N", help="the longest conversation")
    run.add_argument(
        "--max-memory", type=int, metavar="PAGES", help="of 64 KiB (default: 16384, 1 GiB)"
    )
    run.add_argument("--seed", type=int, metavar="N", help="of the program's random numbers")
    run.add_argument(
        "--stats", choices=("text", "json", "none"), default="text", help="the figures"
    )
    run.add_argument(
        "--level",
        choices=LEVELS,
        default="native",
        help="generated C (default), hull caches, PyTorch softmax, exact arithmetic; or the "
        "machine in plain Python, without weights",
    )
    add_cflags(run)
    run.set_defaults(command=run_program)


def add_disasm(commands: argparse._SubParsersAction[Parser]) -> None:
    disasm = commands.add_parser(
        "disasm",
        help="show WebAssembly beside core instructions beside tokens",
        description="PROG is a file as for curta run, or several of C or C++.",
    )
    disasm.add_argument("program", nargs="+", metavar="PROG")
    disasm.add_argument(
        "--library", action="store_true", help="as for --invoke: no main, all functions exported"
    )
    add_cflags(disasm)
    disasm.set_defaults(command=disassemble)


def add_cflags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--cflags", metavar="FLAGS", default="", help="for the C compiler, as one word: '-O3 -DN=8'"
    )


def run_program(options: argparse.Namespace) -> int:
    from curta.app import machine

    return machine.run(options)


def disassemble(options: argparse.Namespace) -> int:
    from curta.app import machine

    return machine.disasm(options)
