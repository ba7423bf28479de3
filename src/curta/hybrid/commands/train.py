"""`curta hybrid train`: a router for a frozen language model."""

from __future__ import annotations

from dataclasses import dataclass, field

from curta.delegate.options import SMOLLM2, folder_of
from curta.hybrid.unit.config import Drawing, RouterTraining
from curta.options import option
from curta.terminal import AsJson, Progress


@dataclass(frozen=True)
class Options(AsJson):
    """Teach a unit when to compute what. The language model stays as it is: every text is read
    once, then only the rows behind them are trained; each of the two takes some minutes.

    model:      on the Hub, or a folder
    device:     as cpu or cuda:1 (a GPU if there is one)
    out:        a folder
    """

    model: str = option(SMOLLM2, metavar="NAME")
    out: str = option("unit", metavar="FOLDER")
    drawing: Drawing = field(default_factory=Drawing)
    training: RouterTraining = field(default_factory=RouterTraining)
    device: str | None = None


@dataclass(frozen=True)
class Report:
    """What was trained.

    unit:      where it is
    weights:   how many numbers were trained or measured
    threshold: the logit with which it fires
    right:     of validation questions, the share routed rightly in all
    false:     of validation texts with nothing to compute, the share that fires
    """

    unit: str
    weights: int
    threshold: float
    right: float
    false: float

    def __str__(self) -> str:
        return (
            f"validation: {self.right:.1%} of questions routed rightly, {self.false:.1%} of texts "
            f"with nothing to compute fire\nunit: {self.unit} ({self.weights:,} weights)"
        )


def run(options: Options) -> int:
    """Read the stream, train, and say where the unit is."""
    out = folder_of(options.out)
    from curta.delegate import models
    from curta.hybrid.unit.features import prepare
    from curta.hybrid.unit.model import Settings, write_unit
    from curta.hybrid.unit.training import train

    with Progress() as progress:
        base, tokenizer = models.load(options.model, device=options.device)
        base.requires_grad_(False)
        parts = prepare(base, tokenizer, options.drawing, on_progress=progress.show)
        trained = train(base, *parts, options.training, on_progress=progress.show)
    settings = Settings(options.model, models.origin(options.model), trained.threshold)
    write_unit(out, trained.router, settings)
    report = Report(
        options.out, trained.router.weights, trained.threshold, trained.right, trained.false
    )
    return options.show(report)
