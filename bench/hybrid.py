"""Benchmark of the typed unit. Run: python bench/hybrid.py [--quick] [--unit FOLDER] [--model NAME]

What a unit costs a language model on the CPU: `generate` of the model as it came beside that of the
model with a unit, on text without numbers and on text with numbers where nothing fires; and what
programs take for a result. Both sides in one process, in turns, greedy, with the key-value
cache, by seconds of the processor, so that other work on the machine counts little. Without --unit
the router has random weights and never fires: it costs as much as a trained one.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import torch

from curta.delegate import models
from curta.hybrid.arithmetic import Arithmetic, Operation
from curta.hybrid.evaluation import padded
from curta.hybrid.features import prompt
from curta.hybrid.numbers import Number
from curta.hybrid.questions import integer
from curta.hybrid.router import Layers, Router
from curta.hybrid.saved import Settings
from curta.hybrid.unit import UnitModel
from report import print_machine, print_table, spread

TEXTS = {
    "no numbers": "Tell me about an old house by the sea.",
    "numbers": "We moved from 12 Mill Lane to 38 Station Road in 1998. Tell me about the street.",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="few rounds, short texts")
    options.add_argument("--unit", help="from curta hybrid train (random weights)")
    options.add_argument("--model", default=models.SMOLLM2, help=f"default {models.SMOLLM2}")
    options.add_argument("--threads", type=int, default=1, help="threads of PyTorch (default 1)")
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    print_machine(["torch", "transformers"])
    print(f"{arguments.model}, {arguments.threads} threads. Medians (smallest-largest).\n")
    rounds, tokens = (3, 8) if arguments.quick else (9, 48)
    model = with_unit(arguments.model, arguments.unit)
    cost_where_nothing_fires(model, rounds, tokens)
    cost_of_results(rounds * 20)


def with_unit(name: str, folder: str | None) -> UnitModel:
    """A trained one, or one that never fires."""
    if folder is not None:
        return UnitModel.from_pretrained(name, unit=folder, device="cpu")
    model = UnitModel.from_pretrained(name, device="cpu")
    config = model.config.get_text_config()
    model.router = Router(config.hidden_size).eval()
    model.settings = Settings(name, "", Layers(config.num_hidden_layers, 1))
    return model


def cost_where_nothing_fires(model: UnitModel, rounds: int, tokens: int) -> None:
    """The same text by both."""
    rows = []
    for name, text in TEXTS.items():
        ids, mask = padded([prompt(model.tokenizer, text)], model.device)
        given: dict[str, Any] = {
            "input_ids": ids, "attention_mask": mask, "do_sample": False,
            "min_new_tokens": tokens, "max_new_tokens": tokens,
        }  # fmt: skip
        base, unit = taken(
            [lambda g=given: model.base.generate(**g), lambda g=given: model.generate(**g)], rounds
        )
        ratios = [a / b for a, b in zip(unit, base, strict=True)]
        rows += [[name, spread([1000 * each for each in base], 0),
                  spread([1000 * each for each in unit], 0), spread(ratios, 3)]]  # fmt: skip
    header = ["text", "as it came, ms", "with a unit, ms", "ratio"]
    print_table(f"{tokens} tokens behind a prompt", header, rows)


def cost_of_results(rounds: int) -> None:
    """By operation and digits of both operands."""
    arithmetic, drawn, rows = Arithmetic(), random.Random(0), []
    for operation in Operation:
        for digits in (3, 20):
            a, b = (Number(str(integer(drawn, digits))) for _ in range(2))
            (times,) = taken([lambda o=operation, x=a, y=b: arithmetic.compute(o, x, y)], rounds)
            rows.append([operation.program, str(digits), spread([1e3 * t for t in times], 2)])
    print_table("The compiled programs", ["operation", "digits", "ms"], rows)


def taken(sides: list[Callable[[], object]], rounds: int) -> list[list[float]]:
    """Processor seconds of each side in each round; the first round is not counted."""
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds + 1):
        for side, kept in zip(sides, times, strict=True):
            begun = time.process_time()
            side()
            kept.append(time.process_time() - begun)
    return [kept[1:] for kept in times]


if __name__ == "__main__":
    main()
