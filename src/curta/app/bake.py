"""`curta bake`: a program into the weights."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from curta.app.inspect import ModelFigures
from curta.app.save_trace import check_model_file
from curta.errors import CurtaError
from curta.machine.request import Loading
from curta.options import option
from curta.terminal import AsJson, Progress, Screen


@dataclass(frozen=True)
class Options(AsJson, Loading):
    """Compile a program into weights of its own: a transformer that is this program. curta run OUT
    needs no program in the prompt, and takes the same input, arguments and options.

    output:  the model file
    library: as for --invoke: no main, all functions exported
    """

    output: str = option(short="-o", metavar="OUT.safetensors")
    library: bool = False


@dataclass(frozen=True)
class Report:
    """What was made.

    file, name:        where it is, and what it is called
    core_instructions: of the program
    bytes:             of the file
    seconds:           that it took
    model:             that is the program
    """

    file: str
    name: str
    core_instructions: int
    bytes: int
    seconds: float
    model: ModelFigures

    def __str__(self) -> str:
        return (
            f"{self.file}: {self.name} as weights: {self.core_instructions:,} core instructions in "
            f"{self.model.layers} layers of width {self.model.width}, "
            f"{self.bytes / 2**20:,.0f} MiB ({self.seconds:.1f} s)\n{self.model.certificate}"
        )


def run(options: Options) -> int:
    """Compile, write the file, and say what it is."""
    from curta.compiler.compile import PASSES
    from curta.machine import requested
    from curta.machine.bake import bake

    started = time.perf_counter()
    output = Path(options.output)
    check_model_file("-o", output)
    steps = (*PASSES, "file", "native")
    with Progress() as progress:

        def begin(step: str) -> None:
            progress.show("baking", steps.index(step), len(steps), step)

        baked = bake(
            options.program,
            library=options.library,
            extensions=requested.extensions_of(options.extension),
            on_pass=begin,
            **(requested.load_options(options) | requested.told(Screen())),
        )
        begin("file")
        baked.save(output)
        begin("native")
        progress.say("baking: its C is written, which takes half a minute or so")
        with suppress(CurtaError):  # without a C compiler, other levels run it
            baked.prepare(output)
    size, seconds = output.stat().st_size, time.perf_counter() - started
    model = ModelFigures.of(baked.model)
    report = Report(str(output), baked.name, len(baked.program), size, seconds, model)
    return options.show(report)
