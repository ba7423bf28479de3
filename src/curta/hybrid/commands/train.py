"""`curta hybrid train`: a router for a frozen language model."""

from __future__ import annotations

from dataclasses import dataclass, field

from curta.delegate.options import SMOLLM2, folder_of
from curta.hybrid.unit.config import Drawing, RouterTraining
from curta.options import option
from curta.terminal import AsJson, Progress


@dataclass(frozen=True)
class Options(AsJson):
    """Teach a unit when to compute what. The language model stays as it is: its residual stream is
    read once for every text, which takes minutes, and kept in --out; training takes seconds.

    model:      on the Hub, or a folder
    device:     as cpu or cuda:1 (a GPU if there is one)
    regressing: beside it, a unit that regresses operands, in the folder regressing of --out
    out:        a folder
    """

    model: str = option(SMOLLM2, metavar="NAME")
    out: str = option("unit", metavar="FOLDER")
    drawing: Drawing = field(default_factory=Drawing)
    training: RouterTraining = field(default_factory=RouterTraining)
    regressing: bool = False
    device: str | None = None


@dataclass(frozen=True)
class Report:
    """What was trained.

    unit:      where it is
    weights:   how many numbers were trained or measured
    text, numbers: behind which blocks the stream is read
    threshold: the probability with which it fires
    right:     of validation questions, the share routed rightly in all
    false:     of validation texts with nothing to compute, the share that fires
    """

    unit: str
    weights: int
    text: int
    numbers: int
    threshold: float
    right: float
    false: float

    def __str__(self) -> str:
        return (
            f"validation: {self.right:.1%} of questions routed rightly, {self.false:.1%} of other "
            f"texts fire\nunit: {self.unit} ({self.weights:,} weights; text read behind block "
            f"{self.text}, numbers behind block {self.numbers})"
        )


def run(options: Options) -> int:
    """Read the stream, train, and say where the unit is."""
    out = folder_of(options.out)
    from curta.delegate import models
    from curta.hybrid.unit import regressing
    from curta.hybrid.unit.features import label, prepare
    from curta.hybrid.unit.model import Settings, write_unit
    from curta.hybrid.unit.training import train

    origin = models.origin(options.model)
    with Progress() as progress:
        parts = prepare(
            options.model, origin, options.drawing, out, options.device, on_progress=progress.show
        )
        training, validation = ((read, [label(one) for one in asked]) for read, asked in parts)
        trained = train(training, validation, options.training)
    layers = trained.layers
    settings = Settings(options.model, origin, layers, trained.threshold)
    write_unit(out, trained.router, settings)
    if options.regressing:
        found = regressing.train(*parts)
        write_unit(out / "regressing", trained.router, settings)
        regressing.save(found, out / "regressing")
    report = Report(
        options.out, trained.router.weights, layers.text, layers.numbers, trained.threshold,
        trained.right, trained.false,
    )  # fmt: skip
    return options.show(report)
