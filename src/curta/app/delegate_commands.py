"""The commands of the calculator-calling language model."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

from curta.app.parser import Parser

Command = Callable[[argparse.Namespace], int]


def add_delegate(commands: argparse._SubParsersAction[Parser]) -> None:
    """`curta delegate data`"""
    delegate = commands.add_parser("delegate", help="teach a language model to call a calculator")
    inner = delegate.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_data(inner)


def add_data(commands: argparse._SubParsersAction[Parser]) -> None:
    data = commands.add_parser(
        "data",
        help="make a data set of questions with calls",
        description="Questions from templates (whose tests are of other kinds than the training) "
        "and, if given, from annotated sets: train.jsonl, valid.jsonl and test.jsonl as chat "
        "messages, and a card with counts and plots.",
    )
    data.add_argument("--out", required=True, metavar="FOLDER")
    for name, default, what in (
        ("train", 8_000, "examples from templates for training"),
        ("valid", 400, "examples for validation"),
        ("test", 1_000, "examples of the test templates"),
        ("seed", 0, "the same seed makes the same set"),
    ):
        data.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{what} ({default})"
        )
    data.add_argument(
        "--digits", default="1..4", help="how long numbers are that may be of any length (1..4)"
    )
    data.add_argument(
        "--negatives", type=float, default=0.25, help="share without anything to compute (0.25)"
    )
    data.add_argument(
        "--arithmetic", type=float, default=0.15, help="share of bare calculations (0.15)"
    )
    data.add_argument(
        "--gsm8k", metavar="FILE", help="add GSM8K's training set, from its JSON lines"
    )
    data.add_argument(
        "--calc-x",
        action="append",
        default=[],
        metavar="SET",
        help="add a set of Calc-X, a file or a name on the Hub, as MU-NLPC/Calc-ape210k",
    )
    data.set_defaults(command=later("make_data"))


def later(name: str) -> Command:
    """A command that is imported when it is used."""

    def command(options: argparse.Namespace) -> int:
        chosen: Command = getattr(importlib.import_module("curta.app.delegate"), name)
        return chosen(options)

    return command
