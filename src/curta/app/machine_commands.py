"""The machine's commands and their options."""

from __future__ import annotations

import argparse
import os

from curta.app.machine_arguments import take_program
from curta.app.parser import Parser
from curta.app.save_trace import add_save_trace

LEVELS = ("native", "hull", "plain", "evaluate", "reference")


def add_machine_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    """`curta run`, `resume`, `bake`, `verify` and `disasm`."""
    add_run(commands)
    add_resume(commands)
    add_bake(commands)
    add_verify(commands)
    add_disasm(commands)


def add_run(commands: argparse._SubParsersAction[Parser]) -> None:
    run = commands.add_parser(
        "run",
        help="run a program of C, C++ or WebAssembly inside the transformer",
        usage="curta run [options] PROG [arguments of the program] [options] [-- arguments]",
        description="PROG is a file .c .cc .cpp .cxx (or several, one after another), .wat or "
        ".wasm, or .safetensors from curta bake. Options stand before or behind it; words that "
        "curta does not know, and everything behind --, are the program's. Its output goes to the "
        "standard output, then one line of figures to the standard error; its exit code is "
        "passed on, a trap exits 1.",
    )
    run.prepare = take_program
    add_surroundings(run)
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
    run.add_argument(
        "--keep", metavar="FILE", help="keep the run in this file: `curta resume FILE` goes on"
    )
    run.add_argument(
        "--keep-tokens", action="store_true", help="its tokens, too: two bytes for each"
    )
    add_save_trace(run)
    add_limits(run)
    add_extension(run)
    add_stats(run)
    run.add_argument(
        "--level",
        choices=LEVELS,
        default="native",
        help="generated C (default), hull caches, PyTorch softmax, exact arithmetic; or the "
        "machine in plain Python, without weights",
    )
    add_cflags(run)
    run.set_defaults(command=run_program)


def add_resume(commands: argparse._SubParsersAction[Parser]) -> None:
    resume = commands.add_parser(
        "resume",
        help="go on with a run that was kept",
        description="FILE is from curta run --keep. The run goes on where its last chapter begins. "
        "Output that was written before is not repeated: a file gets what it lacks, a terminal or "
        "a pipe what comes next.",
    )
    resume.add_argument("file", metavar="FILE")
    resume.add_argument(
        "--whole", action="store_true", help="write all of the output, also what was written before"
    )
    resume.add_argument("--stdin", metavar="TEXT", help="a line of further input")
    resume.add_argument("--stdin-file", metavar="FILE", help="a file with further input")
    resume.add_argument(
        "--max-tokens", type=int, metavar="N", help="instead of the limit that it was begun with"
    )
    resume.add_argument(
        "--weights", metavar="FILE", help="where the weights of a baked program are now"
    )
    resume.add_argument(
        "--extension", metavar="NAME", action="append", default=[], help=argparse.SUPPRESS
    )
    add_stats(resume)
    resume.add_argument("--level", choices=LEVELS, help="instead of the one it was begun at")
    resume.set_defaults(command=resume_run)


def add_stats(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--stats", choices=("text", "json", "none"), default="text", help="the figures"
    )


def add_bake(commands: argparse._SubParsersAction[Parser]) -> None:
    bake = commands.add_parser(
        "bake",
        help="compile a program into weights of its own",
        description="PROG is a file as for curta run, or several of C or C++. OUT is a "
        "transformer that is this program: curta run OUT needs no program in the prompt, and takes "
        "the same input, arguments and options.",
    )
    bake.add_argument("program", nargs="+", metavar="PROG")
    bake.add_argument("-o", "--output", required=True, metavar="OUT.safetensors")
    bake.add_argument(
        "--library", action="store_true", help="as for --invoke: no main, all functions exported"
    )
    bake.add_argument(
        "--max-memory", type=int, metavar="PAGES", help="of 64 KiB (default: 16384, 1 GiB)"
    )
    add_extension(bake)
    add_cflags(bake)
    bake.set_defaults(command=bake_program)


def add_verify(commands: argparse._SubParsersAction[Parser]) -> None:
    verify = commands.add_parser(
        "verify",
        help="check a run against the plain softmax model and against wasmtime",
        usage="curta verify [options] PROG [arguments of the program] [options] [-- arguments]",
        description="PROG is a file as for curta run, which is run once, or a run that was kept "
        "(curta run --keep). Another level of the engine replays the conversation and has to say "
        "every token that the machine said, and wasmtime, if it is installed, has to write the "
        "same and to end the same way. The first difference is named, and the exit code is 1.",
    )
    verify.prepare = take_program
    verify.add_argument(
        "--invoke", metavar="NAME", help="call this function; the arguments are numbers"
    )
    add_surroundings(verify)
    verify.add_argument(
        "--level",
        choices=("plain", "hull"),
        help="PyTorch softmax (default for conversations of up to 20,000 tokens) or hull caches "
        "(for longer ones)",
    )
    verify.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="so many processes replay (default: 1)"
    )
    verify.add_argument(
        "--cluster", action="store_true", help="a Ray cluster replays (extra cluster)"
    )
    verify.add_argument(
        "--sample", type=int, metavar="K", help="replay K chapters only, drawn at random"
    )
    verify.add_argument(
        "--tokens",
        type=int,
        metavar="N",
        help="replay the first N tokens, the program included (default: all of them)",
    )
    verify.add_argument("--weights", metavar="FILE", help="where the weights of a kept run are now")
    add_limits(verify)
    add_extension(verify)
    add_cflags(verify)
    verify.set_defaults(command=verify_program, trace=True, save_trace=None)


def add_disasm(commands: argparse._SubParsersAction[Parser]) -> None:
    disasm = commands.add_parser(
        "disasm",
        help="show WebAssembly beside core instructions beside tokens",
        description="PROG is a file as for curta run, or several of C or C++. Of a baked program "
        "there are core instructions only.",
    )
    disasm.add_argument("program", nargs="+", metavar="PROG")
    disasm.add_argument(
        "--library", action="store_true", help="as for --invoke: no main, all functions exported"
    )
    disasm.add_argument(
        "--proof",
        action="store_true",
        help="show instead, function by function, that the core instructions do what the "
        "WebAssembly does, and what that rests on",
    )
    add_extension(disasm)
    add_cflags(disasm, runs=False)
    disasm.set_defaults(command=disassemble)


def add_surroundings(command: argparse.ArgumentParser) -> None:
    command.add_argument("--stdin", metavar="TEXT", help="a line of input (a newline is added)")
    command.add_argument("--stdin-file", metavar="FILE", help="a file with the input")
    command.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="can be given repeatedly"
    )


def add_limits(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help="where the run ends at the latest (default: nowhere)",
    )
    command.add_argument(
        "--chapter-tokens",
        type=int,
        metavar="N",
        help="how long chapters are, behind their openings, which say program and state again "
        "(default: so long that openings are next to nothing); short ones can be read by softmax",
    )
    command.add_argument(
        "--max-memory", type=int, metavar="PAGES", help="of 64 KiB (default: 16384, 1 GiB)"
    )
    command.add_argument("--seed", type=int, metavar="N", help="of the program's random numbers")


def add_extension(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--extension",
        metavar="NAME",
        action="append",
        default=[],
        help="an operation that the machine has in addition: one of curta's own (byte_swap), or "
        "module:NAME; can be given repeatedly",
    )


def add_cflags(command: argparse.ArgumentParser, *, runs: bool = True) -> None:
    command.add_argument(
        "--cflags", metavar="FLAGS", default="", help="for the C compiler, as one word: '-O3 -DN=8'"
    )
    if runs:
        command.add_argument(
            "--unproved",
            action="store_true",
            help="run the program even if it is not proved that it does what its WebAssembly does",
        )


def run_program(options: argparse.Namespace) -> int:
    from curta.app import machine

    return machine.run(options)


def resume_run(options: argparse.Namespace) -> int:
    from curta.app import machine_keep

    return machine_keep.resume(options)


def bake_program(options: argparse.Namespace) -> int:
    from curta.app import machine_bake

    return machine_bake.run(options)


def verify_program(options: argparse.Namespace) -> int:
    # What NumPy multiplies here is small: several threads on it only wait for one another. It looks
    # at this once, when imported. (PyTorch has the whole sequence at once, and takes all cores.)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Its threads wait for one another often: asleep, or they would keep a busy computer's cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from curta.app import machine_verify

    return machine_verify.verify(options)


def disassemble(options: argparse.Namespace) -> int:
    from curta.app import machine

    return machine.disasm(options)
