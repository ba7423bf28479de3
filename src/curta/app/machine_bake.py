"""`curta bake`: a program into the weights."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from curta.app.machine import Screen, chosen
from curta.compiler.compile import PASSES, OnPass
from curta.errors import UserError
from curta.machine.bake import BakedMachine, bake
from curta.machine.run import LoadOptions
from curta.machine.toolchain import split_flags

GRAPH = "graph"
"""What is built before the first pass."""


def run(options: argparse.Namespace) -> int:
    """Compile, write the file, and say what it is."""
    started = time.perf_counter()
    output = Path(options.output)
    if output.suffix.lower() != ".safetensors":
        raise UserError(f"-o {output}: the name of a model file ends in .safetensors")
    if not output.absolute().parent.is_dir():
        raise UserError(f"cannot write {output}: there is no such folder; choose another place")
    baked = compiled(options)
    baked.save(output)
    seconds = time.perf_counter() - started
    for line in described(baked, output, seconds):
        print(line)
    return 0


def compiled(options: argparse.Namespace) -> BakedMachine:
    """The baked machine, with a bar while its weights are made."""
    screen = Screen()
    settings: LoadOptions = {
        "cflags": split_flags(options.cflags),
        "watcher": screen.watcher,
    }
    if options.max_memory is not None:
        settings["max_memory"] = options.max_memory
    with bar() as on_pass:
        try:
            return bake(
                options.program,
                library=options.library,
                extensions=chosen(options),
                on_pass=on_pass,
                **settings,
            )
        finally:
            screen.clear()


@contextmanager
def bar() -> Iterator[OnPass]:
    """A progress bar over the compiler's passes, if a person is looking."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not sys.stderr.isatty()
    ) as progress:
        task = progress.add_task(GRAPH, total=len(PASSES) + 1, visible=False)

        def on_pass(name: str) -> None:
            progress.update(task, description=name, completed=1 + PASSES.index(name), visible=True)

        yield on_pass


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
