"""What `curta calc` does: the calculator alone, or a language model that calls it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.app.waiting import spinning
from curta.delegate.calculator import Calculator
from curta.errors import CalculatorError, DataError

if TYPE_CHECKING:
    from curta.delegate.interception.events import Event

LONG = 80
"""Characters of an expression that an error repeats."""

WORKING = {"machine": "the transformer computes; before its first run it is compiled"}
"""What takes longer than a moment."""


def evaluate_expressions(options: argparse.Namespace) -> int:
    """A line for each expression; 2 if one of them has no value, which stderr says more about."""
    expressions = options.expressions
    if expressions == ["-"]:
        expressions = [line.strip() for line in sys.stdin]
    failed = False
    calculator = Calculator(options.backend, device=options.device)
    with spinning(WORKING.get(options.backend, "computing")):
        results = calculator.evaluate_all(expressions)
    for expression, result in zip(expressions, results, strict=True):
        if isinstance(result, CalculatorError):
            print(f"curta: {short(expression)}: {result}", file=sys.stderr)
            print(f"error: {result.brief}")
            failed = True
            continue
        print(result.text if result.exact else f"{result.text}  (rounded{exactly(result.value)})")
    return 2 if failed else 0


def short(expression: str) -> str:
    """An expression in a line of an error."""
    if len(expression) > LONG:
        return f"{expression[:LONG]}... ({len(expression):,} characters)"
    return expression or "(empty)"


def exactly(value: object) -> str:
    """The exact value behind a rounded text, if it is a short fraction."""
    if isinstance(value, Fraction) and len(str(value)) <= 40:
        return f"; exactly {value}"
    return ""


def ask(options: argparse.Namespace) -> int:
    """A model's answer as it comes; calls in colour where there is a terminal."""
    from curta.delegate import models
    from curta.delegate.interception.generator import CalcGenerator

    if options.max_new_tokens < 1:
        raise DataError(f"--max-new-tokens {options.max_new_tokens}: at least 1")
    adapter = Path(options.adapter) if options.adapter else None
    question = " ".join(options.question)
    if not question.strip():
        raise DataError("there is no question")
    models.warn_untaught(options.model, adapter)
    model, tokenizer = models.load(options.model, adapter=adapter, device=options.device)
    generator = CalcGenerator(
        model,
        tokenizer,
        calculator=Calculator(options.backend, device=options.device),
        constrained=options.constrained,
    )
    chats = getattr(tokenizer, "chat_template", None) is not None
    prompt = [{"role": "user", "content": question}] if chats else f"{question}\n"
    events = generator.stream(prompt, max_new_tokens=options.max_new_tokens)
    show(events, coloured() if sys.stdout.isatty() else plain)
    return 0


def show(events: Iterable[Event], put: Callable[[Event], None]) -> None:
    """Every event as it happens."""
    for event in events:
        put(event)
    print()


def plain(event: Event) -> None:
    """The text and nothing else."""
    print(event.text, end="", flush=True)


def coloured() -> Callable[[Event], None]:
    """Calls and their answers in colours; what was refused in red."""
    from rich.console import Console
    from rich.text import Text

    from curta.delegate.interception.events import CallRejected, CallResult, CallStarted

    console: Any = Console(highlight=False, soft_wrap=True)
    styles = {CallStarted: "cyan", CallResult: "bold cyan", CallRejected: "red"}

    def put(event: Event) -> None:
        console.print(Text(event.text, styles.get(type(event), "")), end="")

    return put
