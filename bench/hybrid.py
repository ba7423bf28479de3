"""Benchmark of the hybrid. Run: python bench/hybrid.py [--quick] [--unit FOLDER] [--model NAME]

The joint model: what its loop costs on text without calls; how many tokens a second both parts say;
how long a call of a module takes beside the same call as `delegate` makes it, whose tools do not
hear tokens, and beside Python's calculator.

The typed unit: `generate` of the model as it came beside that of the model with a unit, on text
without numbers and on text with numbers where nothing fires; and what programs take for a result.

Both sides in one process, in turns, greedy, with the key-value cache, by seconds of the processor,
so that other work on the machine counts little. Without --unit the router has random weights and
never fires: it costs as much as a trained one.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from curta.delegate.calculator import Calculator
from curta.delegate.data.draw import Draw
from curta.delegate.evaluation.systems import generator
from curta.delegate.options import SMOLLM2
from curta.delegate.tools.calculator import CalculatorTool
from curta.hybrid import HybridModel, Module
from curta.hybrid.hearing import Hearing
from curta.hybrid.unit.arithmetic import Arithmetic, Operation
from curta.hybrid.unit.model import Settings, UnitModel
from curta.hybrid.unit.numbers import Number
from curta.hybrid.unit.router import Router, Shape
from report import print_machine, print_table, spread

TEXTS = {
    "no numbers": "Tell me about an old house by the sea.",
    "numbers": "We moved from 12 Mill Lane to 38 Station Road in 1998. Tell me about the street.",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="few rounds, short texts")
    options.add_argument("--unit", help="from curta hybrid train (random weights)")
    options.add_argument("--model", default=SMOLLM2, help=f"default {SMOLLM2}")
    options.add_argument("--threads", type=int, default=1, help="threads of PyTorch (default 1)")
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    print_machine(["torch", "transformers"])
    print(f"{arguments.model}, {arguments.threads} threads. Medians (smallest-largest).\n")
    rounds, tokens = (3, 8) if arguments.quick else (9, 48)
    joint = HybridModel.from_pretrained(
        arguments.model, modules=[Module.gallery("addition"), "sudoku", "bignum"], device="cpu"
    )
    cost_of_the_loop(joint, rounds, tokens)
    cost_of_calls(joint, rounds * 5)
    model = with_unit(arguments.model, arguments.unit)
    cost_where_nothing_fires(model, rounds, tokens)
    cost_of_results(rounds * 20)


def cost_of_the_loop(joint: HybridModel, rounds: int, tokens: int) -> None:
    """Text without calls, by both; and what both parts say in a second."""
    rows = []
    for name, text in TEXTS.items():
        given = forced(joint.base, joint.tokenizer, text, tokens)
        base, ours = taken(
            [partial(joint.base.generate, **given), partial(joint.generate, **given)], rounds
        )
        ratios = [a / b for a, b in zip(ours, base, strict=True)]
        rows += [[name, spread([tokens / each for each in base], 1),
                  spread([tokens / each for each in ours], 1), spread(ratios, 3)]]  # fmt: skip
    header = ["text", "alone, tok/s", "joint, tok/s", "ratio of times"]
    print_table(f"The loop: {tokens} tokens behind a prompt", header, rows)


def forced(model: Any, tokenizer: Any, text: str, tokens: int) -> dict[str, Any]:
    """What `generate` is given to write so many tokens behind a text."""
    asking = generator(model, tokenizer, None)
    length = {"min_new_tokens": tokens, "max_new_tokens": tokens}
    return {**asking.inputs([asking.asked(text)]), **length, "do_sample": False}


PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
CALLS: dict[str, dict[str, str]] = {
    "calculate": {"expression": "4711 + 815"},
    "addition": {"input": "4711 + 815"},
    "big_product": {"a": "7" * 40, "b": "8" * 40},
    "sudoku": {"puzzle": PUZZLE},
}


def cost_of_calls(joint: HybridModel, rounds: int) -> None:
    """From arguments to an answer: heard, as the joint stream has it, and as a tool."""
    rows = []
    for name, arguments in CALLS.items():
        module = joint.compiled[name]

        def heard(module: Module = module, given: dict[str, str] = arguments) -> Hearing:
            hearing = Hearing(module.name)
            module.heard(hearing).call(given)
            for opening, chunks in hearing.contexts:
                joint.vocabulary.context(module.name, np.concatenate([opening, *chunks]))
            return hearing

        said = sum(len(ids) for _, chunks in heard().contexts for ids in chunks)
        opening = sum(len(ids) for ids, _ in heard().contexts)
        sides: list[Callable[[], object]] = [
            heard, partial(module.tool.call, arguments),
        ]  # fmt: skip
        ours, tool = taken(sides, rounds)
        rows.append(
            [name, f"{opening:,}", f"{said:,}", spread([1e3 * t for t in ours], 2),
             spread([1e3 * t for t in tool], 2),
             spread([(opening + said) / t / 1e6 for t in ours], 1)]
        )  # fmt: skip
    python = CalculatorTool(Calculator())
    (times,) = taken([lambda: python.call(CALLS["calculate"])], rounds)
    rows.append(["calculate, Python", "", "", "", spread([1e3 * t for t in times], 2), ""])
    header = ["module", "opening", "said", "heard, ms", "tool, ms", "M tok/s"]
    print_table("Calls of modules", header, rows)


def with_unit(name: str, folder: str | None) -> UnitModel:
    """A trained one, or one that never fires."""
    if folder is not None:
        return UnitModel.from_pretrained(name, unit=folder, device="cpu")
    model = UnitModel.from_pretrained(name, device="cpu")
    model.router = Router(Shape.of(model.config.get_text_config())).eval()
    model.settings = Settings(name)
    return model


def cost_where_nothing_fires(model: UnitModel, rounds: int, tokens: int) -> None:
    """The same text by both."""
    rows = []
    for name, text in TEXTS.items():
        given = forced(model, model.tokenizer, text, tokens)
        base, unit = taken(
            [partial(model.base.generate, **given), partial(model.generate, **given)], rounds
        )
        ratios = [a / b for a, b in zip(unit, base, strict=True)]
        rows += [[name, spread([1000 * each for each in base], 0),
                  spread([1000 * each for each in unit], 0), spread(ratios, 3)]]  # fmt: skip
    header = ["text", "as it came, ms", "with a unit, ms", "ratio"]
    print_table(f"{tokens} tokens behind a prompt", header, rows)


def cost_of_results(rounds: int) -> None:
    """By operation and digits of both operands."""
    arithmetic, draw, rows = Arithmetic(), Draw(random.Random(0)), []
    for operation in Operation:
        for digits in (3, 20):
            a, b = (Number(str(draw.number(digits))) for _ in range(2))
            (times,) = taken([partial(arithmetic.compute, operation, a, b)], rounds)
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
