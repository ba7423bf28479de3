"""`curta bake`: a program into the weights."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from curta.app.machine import Screen, chosen
from curta.compiler.compile import PASSES, OnPass
from curta.errors import CurtaError, UserError
from curta.machine.bake import BakedMachine, bake
from curta.machine.run import LoadOptions
from curta.machine.toolchain import Watcher, split_flags

STEPS = ("program", *PASSES, "file", "native")
"""From C to core instructions to a graph; the compiler's passes; the model file; its C."""


def run(options: argparse.Namespace) -> int:
    """Compile, write the file, and say what it is."""
    started = time.perf_counter()
    output = Path(options.output)
    if output.suffix.lower() != ".safetensors":
        raise UserError(f"-o {output}: the name of a model file ends in .safetensors")
    if not output.absolute().parent.is_dir():
        raise UserError(f"cannot write {output}: there is no such folder; choose another place")
    with bar() as begin:
        baked = compiled(options, begin)
        begin("file")
        baked.save(output)
        begin("native")
        with suppress(CurtaError):  # without a C compiler, other levels run it
            baked.prepare(output)
    for line in described(baked, output, time.perf_counter() - started):
        print(line)
    return 0


def compiled(options: argparse.Namespace, on_pass: OnPass) -> BakedMachine:
    """The baked machine that the command line asks for."""
    settings: LoadOptions = {
        "cflags": split_flags(options.cflags),
        "watcher": Watcher(lambda _: None, Screen().warned),
        "prove": not options.unproved,
    }
    if options.max_memory is not None:
        settings["max_memory"] = options.max_memory
    return bake(
        options.program,
        library=options.library,
        extensions=chosen(options),
        on_pass=on_pass,
        **settings,
    )


@contextmanager
def bar() -> Iterator[OnPass]:
    """A progress bar over all steps, if a person is looking."""
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(STEPS[0], total=len(STEPS))

        def begin(step: str) -> None:
            progress.update(task, description=step, completed=STEPS.index(step))

        yield begin


def described(baked: BakedMachine, output: Path, seconds: float) -> Iterator[str]:
    """What the file is, in a few lines."""
    model = baked.model
    layers, width = len(model.plan["layers"]), model.plan["width"]
    size = output.stat().st_size / 2**20
    yield (
        f"{output}: {baked.name} as weights: {len(baked.program):,} core instructions in "
        f"{layers} layers of width {width}, {size:,.0f} MiB ({seconds:.1f} s)"
    )
    yield str(model.certificate)
