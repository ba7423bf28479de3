"""`curta run --keep` and `curta resume`: runs that can be ended at any time."""

from __future__ import annotations

import argparse
import fcntl
import os
import stat
import sys
import time
from dataclasses import replace

from curta.app.entry import INTERRUPTED
from curta.app.machine import (
    Screen,
    chosen,
    is_baked,
    numbers_for,
    open_baked,
    run_options,
    show_figures,
    standard_input,
)
from curta.errors import LimitError, ProgramError, Trap, UserError
from curta.machine.conversation import Conversation, Host, Input, Limits
from curta.machine.instance import Instance
from curta.machine.kept.file import Ending, Invocation, KeptRun, Kind
from curta.machine.kept.journal import command
from curta.machine.kept.keeping import (
    Handed,
    Ready,
    create,
    figures,
    is_regular,
    library_invocations,
    play,
    run_invocations,
)
from curta.machine.kept.resume import check_is_of_use, ready_for
from curta.machine.machine import Machine
from curta.machine.run import RunOptions, host_of, program_name
from curta.machine.values import show, to_number


def run_and_keep(options: argparse.Namespace, stdin: Input) -> int:
    """Begin a run that is kept."""
    if options.trace:
        raise UserError("--trace shows a run, --keep keeps it: give one of them")
    if options.save_trace is not None:
        raise UserError("--save-trace with --keep: a kept run has its tokens with --keep-tokens")
    if not options.keep:
        raise UserError("--keep: give the file that the run is to be kept in a name")
    screen = Screen()
    refuse_own_output(options.keep)
    settings = run_options(options, screen, stdin)
    settings["args"] = options.arguments if options.invoke is None else ()
    ready, name = ready_to_run(options, screen, settings)
    invocations = invocations_of(options, ready)
    screen.draw("keeping the input")
    with create(
        options.keep,
        ready,
        name,
        settings,
        invocations,
        keeps_tokens=options.keep_tokens,
        output=output_file(),
    ) as kept:
        return finish(options, kept, ready, screen, host_of(settings))


def ready_to_run(
    options: argparse.Namespace, screen: Screen, settings: RunOptions
) -> tuple[Ready, str]:
    """The machine and the program that the command line names, and what it is called."""
    if is_baked(options.program):
        baked = open_baked(options, options.level)
        screen.building("reading the weights")
        ready, name = baked.ready(), baked.name
    else:
        machine = Machine(options.level, extensions=chosen(options), on_pass=screen.building)
        library = options.invoke is not None
        ready = machine.ready(options.program, library=library, **settings)
        name = program_name(options.program)
    return replace(ready, extensions=tuple(options.extension)), name


def invocations_of(options: argparse.Namespace, ready: Ready) -> tuple[Invocation, ...]:
    """What is to be invoked."""
    if options.invoke is None:
        return run_invocations(ready.program)
    instance = Instance(Conversation(ready.talker, ready.program, Host(), Limits()))
    numbers = numbers_for(instance, options.invoke, options.arguments)
    _, patterns = instance.patterns(options.invoke, numbers)
    return library_invocations(ready.program, options.invoke, patterns)


def resume(options: argparse.Namespace) -> int:
    """Go on with a kept run."""
    screen = Screen()
    with KeptRun.open(options.file, to_write=True) as kept, standard_input(options) as stdin:
        refuse_own_output(options.file)
        given = options.stdin is not None or options.stdin_file is not None
        check_is_of_use(kept, given, options.max_tokens is not None)
        options.extension = options.extension or list(kept.beginning.extensions)
        extensions = chosen(options)
        ready = ready_for(kept, options.level, extensions, options.weights)
        options.level = ready.level
        last = b"" if kept.ending is None else results_text(kept, ready, kept.ending)
        there = 0 if options.whole else output_there(kept, last)
        handed = {Kind.OUTPUT: min(there, kept.streams[Kind.OUTPUT].length)}
        if options.whole:
            handed[Kind.ERRORS] = 0
        describe(kept, handed[Kind.OUTPUT])
        host = Host(stdin, screen.write, screen.write_error, screen.progress)
        more = there - handed[Kind.OUTPUT]
        return finish(options, kept, ready, screen, host, handed, more)


def finish(
    options: argparse.Namespace,
    kept: KeptRun,
    ready: Ready,
    screen: Screen,
    host: Host,
    handed: Handed | None = None,
    results_there: int = 0,
) -> int:
    """Bring the run to its end, and say how it ended."""
    started = time.perf_counter()
    failure: ProgramError | None = None
    code, reached = 1, screen.figures
    try:
        ending = play(kept, ready, host, handed=handed, max_tokens=options.max_tokens)
        code, reached = ending.code or 0, figures(ending)
        if ending.code is None:
            code, failure = 1, Trap(*ending.trap)
        if last := results_text(kept, ready, ending)[results_there:]:
            screen.write(last)
    except ProgramError as error:
        failure, reached = error, screen.figures
    except BrokenPipeError:
        raise
    except OSError as error:  # of the output: those of the file are the file's
        failure = ProgramError(f"the output cannot be written: {error.strerror}")
        reached = screen.figures
    except KeyboardInterrupt:
        screen.clear()
        print(f"curta: interrupted; {how_to_go_on(kept)}", file=sys.stderr)
        return INTERRUPTED
    screen.clear()
    if failure is not None:
        what = "trap" if isinstance(failure, Trap) else "curta"
        limit = options.max_tokens or kept.beginning.max_tokens
        more = 2 * limit if limit is not None and isinstance(failure, LimitError) else None
        hint = "" if isinstance(failure, Trap) else f"; {how_to_go_on(kept, more)}"
        print(f"{what}: {failure}{hint}", file=sys.stderr)
    show_figures(options, reached, time.perf_counter() - started, code, failure)
    return code if 0 <= code < 256 else 1


def how_to_go_on(kept: KeptRun, max_tokens: int | None = None) -> str:
    resume = command("resume", kept.path)
    if max_tokens is not None:
        resume += f" --max-tokens {max_tokens}"
    return f"kept up to {kept.state}: `{resume}` goes on from there"


def results(kept: KeptRun, ready: Ready, ending: Ending) -> list[str]:
    """What a function that was invoked returned."""
    types = ready.program.entries[kept.beginning.invocations[-1].name].results
    if len(types) != len(ending.results):
        return []
    pairs = zip(ending.results, types, strict=True)
    return [show(to_number(pattern, type_)) for pattern, type_ in pairs]


def results_text(kept: KeptRun, ready: Ready, ending: Ending) -> bytes:
    """The same, as it is written behind the output."""
    return "".join(f"{line}\n" for line in results(kept, ready, ending)).encode()


def describe(kept: KeptRun, handed: int) -> None:
    """Say where the run is, and what is left out because it was done before."""
    said = [f"{kept.path}: {'at' if kept.ending else 'from'} {kept.state}"]
    length = kept.streams[Kind.OUTPUT].length
    if handed:
        rest = " (--whole writes them, too)" if handed == length else ""
        said.append(f"{handed:,} bytes of output were written before and are skipped{rest}")
    read = kept.streams[Kind.INPUT].length
    if read and not kept.input_ended:
        said.append(f"{read:,} bytes of input were read before, standard input gives what follows")
    if (
        kept.input_ended
        and not kept.ending
        and sys.stdin is not None
        and is_regular(sys.stdin.buffer)
    ):
        said.append("all of its input is kept, standard input is not read")
    print("; ".join(said), file=sys.stderr)


# -- the file that output goes to ---------------------------------------------


def output_file() -> tuple[int, int, int] | None:
    """The file that the standard output is, if it is one, and where in it output begins."""
    try:
        number = sys.stdout.fileno()
        found = os.fstat(number)
    except (AttributeError, OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    appends = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND
    start = found.st_size if appends else os.lseek(number, 0, os.SEEK_CUR)
    return found.st_dev, found.st_ino, start


def refuse_own_output(path: str) -> None:
    """A run is not kept in the file that its output goes to."""
    file = output_file()
    if file is not None and os.path.exists(path):
        found = os.stat(path)
        if (found.st_dev, found.st_ino) == file[:2]:
            raise UserError(f"{path} is where the output goes to: keep the run in another file")


def output_there(kept: KeptRun, last: bytes) -> int:
    """How many bytes of the run's output, and of its results behind that, are where output goes to.

    A file that holds a beginning of it, or nothing, gets what it lacks; by its length that is known
    to the byte. Anything else (a terminal, a pipe, a log of other things) got all that was kept.
    """
    stream = kept.streams[Kind.OUTPUT]
    file = output_file()
    if file is None:
        return stream.length
    number, before = sys.stdout.fileno(), kept.beginning.output
    size = os.fstat(number).st_size
    start = before[2] if before is not None and before[:2] == file[:2] else 0
    there = max(size - start, 0)
    os.lseek(number, 0, os.SEEK_END)
    return there if holds(number, kept, start, there, last) else stream.length


def holds(number: int, kept: KeptRun, start: int, length: int, last: bytes) -> bool:
    """Whether so many bytes of a file begin the output and what follows."""
    stream = kept.streams[Kind.OUTPUT]
    behind = max(length - stream.length, 0)
    if behind > len(last):
        return False
    try:
        with open(f"/dev/fd/{number}", "rb") as file:
            file.seek(start)
            same = all(file.read(len(block)) == block for block in stream.blocks(0, length))
            return same and file.read(behind) == last[:behind]
    except OSError:
        return True
