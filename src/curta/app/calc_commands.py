"""The calculator on the command line, and models that call it."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Callable

from curta.app.parser import Parser

Command = Callable[[argparse.Namespace], int]

BACKENDS = ("exact", "kernel", "torch", "machine")
"""As in curta.delegate.calculator.backends, which takes longer to import."""
MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"


def add_calc(commands: argparse._SubParsersAction[Parser]) -> None:
    """`curta calc QUESTION` and `curta calc eval EXPRESSION ...`"""
    calc = commands.add_parser(
        "calc",
        help="the calculator that language models call, and a model that calls it",
        description="curta calc QUESTION is short for curta calc ask QUESTION.",
    )
    calc.prepare = ask_by_default
    inner = calc.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_ask(inner)
    add_evaluate(inner)


def ask_by_default(parser: Parser, args: list[str], namespace: argparse.Namespace) -> list[str]:
    """Words that are no command are a question."""
    known = {"ask", "eval", "-h", "--help"}
    return ["ask", *args] if args and args[0] not in known else args


def add_ask(commands: argparse._SubParsersAction[Parser]) -> None:
    ask = commands.add_parser(
        "ask",
        help="ask a language model; what it calls is evaluated while it writes",
        description="The answer as it is written; calls are shown as they happen.",
    )
    ask.add_argument("question", nargs="+", metavar="QUESTION")
    ask.add_argument(
        "--model", default=MODEL, metavar="NAME", help=f"on the Hub, or a folder ({MODEL})"
    )
    ask.add_argument("--adapter", metavar="FOLDER", help="from curta delegate train")
    add_backend(ask)
    ask.add_argument(
        "--max-new-tokens", type=int, default=256, metavar="N", help="of the answer (256)"
    )
    ask.add_argument(
        "--device",
        help="as cpu or cuda:1, for the model (a GPU if there is one) and for the backends kernel "
        "and torch (cpu)",
    )
    ask.add_argument(
        "--constrained",
        action="store_true",
        help="inside of a call, only what can become an expression may be written",
    )
    ask.set_defaults(command=later("ask"))


def add_evaluate(commands: argparse._SubParsersAction[Parser]) -> None:
    evaluate = commands.add_parser(
        "eval",
        help="evaluate expressions",
        description="Whole numbers, decimals, + - * / // % ^, parentheses, comparisons, functions; "
        "exactly wherever there is an exact answer. Rounded results say so. One line each; - "
        "reads lines of standard input.",
    )
    evaluate.prepare = keep_minus
    evaluate.add_argument("expressions", nargs="+", metavar="EXPRESSION")
    add_backend(evaluate)
    evaluate.add_argument(
        "--device", help="as cpu or cuda:1, for the backends kernel and torch (cpu)"
    )
    evaluate.set_defaults(command=later("evaluate_expressions"))


def add_backend(parser: Parser) -> None:
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        default="exact",
        help="exact (the default); kernel and torch, compiled code and PyTorch, in float64, where "
        "every result counts as rounded; machine, rationals by a program that the transformer "
        "executes",
    )


MINUS = re.compile(r"-(?!-)|-+[\d.(]")
"""What begins like an option and is none, unless it is a known one."""


def keep_minus(parser: Parser, args: list[str], namespace: argparse.Namespace) -> list[str]:
    """-2^2 is an expression, not an option: with a space before it argparse sees that, too."""
    known = {*parser._option_string_actions, "-"}
    return [f" {word}" if MINUS.match(word) and word not in known else word for word in args]


def later(name: str) -> Command:
    """A command that is imported when it is used."""

    def command(options: argparse.Namespace) -> int:
        chosen: Command = getattr(importlib.import_module("curta.app.calc"), name)
        return chosen(options)

    return command
