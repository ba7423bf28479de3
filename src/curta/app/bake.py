"""`curta bake`: a program into the weights."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from curta.app.save_trace import check_model_file
from curta.app.screen import Screen
from curta.errors import CurtaError
from curta.machine.request import Loading
from curta.options import option
from curta.terminal import Progress, write_json


@dataclass(frozen=True)
class Options(Loading):
    """Compile a program into weights of its own: a transformer that is this program. curta run OUT
    needs no program in the prompt, and takes the same input, arguments and options.

    output:  the model file
    library: as for --invoke: no main, all functions exported
    json:    what was made, as JSON
    """

    output: str = option(short="-o", metavar="OUT.safetensors")
    library: bool = False
    json: bool = False


@dataclass(frozen=True)
class Report:
    """What was made.

    file, name:        where it is, and what it is called
    core_instructions: of the program
    layers, width, bytes: of the model
    seconds:           that it took
    certificate:       what is proved about it
    """

    file: str
    name: str
    core_instructions: int
    layers: int
    width: int
    bytes: int
    seconds: float
    certificate: str


def run(options: Options) -> int:
    """Compile, write the file, and say what it is."""
    from curta.compiler.compile import PASSES
    from curta.machine import requested
    from curta.machine.bake import bake

    started = time.perf_counter()
    output = Path(options.output)
    check_model_file("-o", output)
    steps = ("program", *PASSES, "file", "native")
    with Progress(lines=False) as progress:

        def begin(step: str) -> None:
            progress.show("baking", steps.index(step), len(steps), step)

        begin("program")
        baked = bake(
            options.program,
            library=options.library,
            extensions=requested.extensions_of(options.extension),
            on_pass=begin,
            **(requested.load_options(options) | {"watcher": Screen().watcher}),
        )
        begin("file")
        baked.save(output)
        begin("native")
        with suppress(CurtaError):  # without a C compiler, other levels run it
            baked.prepare(output)
    report = Report(
        str(output),
        baked.name,
        len(baked.program),
        len(baked.model.plan["layers"]),
        baked.model.plan["width"],
        output.stat().st_size,
        time.perf_counter() - started,
        str(baked.model.certificate),
    )
    if options.json:
        write_json(report)
        return 0
    print(
        f"{report.file}: {report.name} as weights: {report.core_instructions:,} core instructions "
        f"in {report.layers} layers of width {report.width}, {report.bytes / 2**20:,.0f} MiB "
        f"({report.seconds:.1f} s)\n{report.certificate}"
    )
    return 0
