"""Benchmark of a typed unit beside one that regresses its operands, as IGC does. Run:

    python bench/regressing.py UNIT [--adapter calls=FOLDER] [--inline same-size=FOLDER] [--few]

UNIT is a folder of `curta hybrid train`. A regressor is trained on the same questions
(`regressor.py`). Both are asked the questions of `curta hybrid evaluate`, beside the model as it
came and the adapters that are given; answers and pages are kept as it keeps them. What an adapter
of the same size is trained on, without calls, `--examples FOLDER` writes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from curta.delegate import models
from curta.delegate.evaluation.systems import System, Writes, systems
from curta.hybrid.unit import evaluation
from curta.hybrid.unit.config import Asking, Drawing
from curta.hybrid.unit.features import features
from curta.hybrid.unit.model import UnitModel, read_unit
from curta.hybrid.unit.questions import KINDS, Question, questions
from curta.terminal import Progress
from regressor import RegressingUnit, Regressor, one_by_one, train, write_examples
from report import print_machine, print_table

REGRESSING = "regressing"
BATCH = 32
MOST_TOKENS = 160
"""Of an answer: calls write a question of two numbers of 20 digits down again."""
ASKED = Asking(seen=86, held_out=172, stories_seen=44, stories_held_out=61, texts=250)
"""Of wordings that training had, those drawn anew; a part of all suites, because answers of up to
160 tokens are written by five systems."""
FEW = Asking(2, 2, 2, 2, 2, 2)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("unit", help="folder of curta hybrid train")
    options.add_argument("--examples", type=Path, help="write training examples there, and stop")
    options.add_argument("--adapter", action="append", default=[], help="one that calls")
    options.add_argument("--inline", action="append", default=[], help="one that does not")
    options.add_argument("--few", action="store_true", help="two questions of each kind")
    options.add_argument("--out", type=Path, default=Path("runs/regressing"))
    options.add_argument("--threads", type=int, default=1)
    chosen = options.parse_args()
    if chosen.examples is not None:
        write_examples(learnt_from(few=chosen.few), chosen.examples)
        return
    torch.set_num_threads(chosen.threads)
    print_machine(["torch", "transformers"])
    _, settings = read_unit(Path(chosen.unit))
    origin = models.origin(settings.base)
    own = evaluation.unit(chosen.unit, settings.base, origin)
    others = systems(
        settings.base, adapters=chosen.adapter, inline=chosen.inline, untrained=True, origin=origin
    )
    with Progress() as progress:
        regressor = regressor_of(chosen.unit, chosen.few, progress)
        print(f"{sum(each.numel() for each in regressor.parameters()):,} weights regress")

        def opened(system: System, **how: Any) -> Writes:
            if system.name != REGRESSING:
                return evaluation.opened(system, **how)
            most = 1 if how["routes_alone"] else MOST_TOKENS
            return one_by_one(RegressingUnit.having(regressor, chosen.unit), most)

        found = evaluation.compare(
            (*others, replace(own, name=REGRESSING), own),
            FEW if chosen.few else ASKED,
            chosen.out,
            BATCH,
            MOST_TOKENS,
            "cpu",
            opened=opened,
            on_progress=progress.show,
        )
    for page, figures in found.items():
        rows = [
            [suite, str(figures.accuracy(figures.systems[0].name, suite).count)]
            + [str(figures.accuracy(each.name, suite)) for each in figures.systems]
            for suite in figures.suites
        ]
        print_table(str(page), ["suite", "asked", *(each.name for each in figures.systems)], rows)


def regressor_of(unit: str, few: bool, progress: Progress) -> Regressor:
    """Of the stream of the model that a unit was trained for."""
    model, asked = UnitModel.from_pretrained(unit, device="cpu"), learnt_from(few=few)
    texts = [one.text for one in asked]
    read = features(
        model.base, model.tokenizer, texts, on_progress=lambda *how: progress.show("read", *how)
    )
    return train(read, asked)


def learnt_from(*, few: bool) -> list[Question]:
    """The questions with operands that routers are trained on."""
    drawing = Drawing()
    return [
        one
        for kind in KINDS[:2]
        for one in questions("train", kind, 40 if few else drawing.counts[kind], drawing.seed)
    ]


if __name__ == "__main__":
    main()
