"""`curta learn inside`: a look inside a trained model."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from curta.errors import ExperimentError
from curta.options import option, word


@dataclass(frozen=True)
class Options:
    """Look inside a trained model. Draws problems of the longest trained operands, laid out alike,
    and writes a page: where heads look, what can be read from the residual stream at which depth,
    whether numbers lie on a helix, and which heads the model cannot do without.

    folder:  of the run
    seed:    which of the models (the first)
    samples: problems to look at
    output:  the page (inside.html in the run's folder)
    """

    folder: str = word("RUN")
    seed: int | None = None
    samples: int = 1_000
    output: str | None = option(None, short="-o", metavar="OUT.html")


def run(options: Options) -> int:
    """A page about one model of a run."""
    import jax

    from curta.learn.commands.shared import keep_compiled_programs, picked_model
    from curta.learn.inside.look import look
    from curta.learn.inside.page import write_inside

    keep_compiled_programs()
    if options.samples < 1:
        raise ExperimentError(f"--samples {options.samples}: must be at least 1")
    folder, model, seed = picked_model(options.folder, options.seed)
    out = Path(options.output) if options.output else folder.path / "inside.html"

    def done(what: str) -> None:
        print(f"{folder.name}: {what} done", file=sys.stderr, flush=True)

    key = jax.random.key(seed)
    found = look(model, folder.setup, samples=options.samples, key=key, done=done)
    write_inside(found, folder, seed, out)
    print(f"report: {out}")
    return 0
