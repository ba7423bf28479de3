"""What `curta calc` does: the calculator alone, or a language model that calls it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.delegate.calculator import Calculator
from curta.errors import CalculatorError, DataError

if TYPE_CHECKING:
    from curta.delegate.interception.events import Event


def evaluate_expressions(options: argparse.Namespace) -> int:
    """A line for each expression; 2 if one of them has no value."""
    expressions = options.expressions
    if expressions == ["-"]:
        expressions = [line for line in map(str.strip, sys.stdin) if line]
    failed = False
    calculator = Calculator(options.backend, device=options.device)
    for expression, result in zip(expressions, calculator.evaluate_all(expressions), strict=True):
        if isinstance(result, CalculatorError):
            print(f"curta: {expression}: {result}", file=sys.stderr)
            failed = True
            continue
        print(result.text if result.exact else f"{result.text}  (rounded{exactly(result.value)})")
    return 2 if failed else 0


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
    if adapter is None and options.model in models.PACKAGED:
        print(
            f"curta: {options.model} as it came: it was not taught to call. Teach it with curta "
            "delegate train, and name what that wrote with --adapter",
            file=sys.stderr,
        )
    model, tokenizer = models.load(options.model, adapter=adapter, device=options.device)
    generator = CalcGenerator(
        model,
        tokenizer,
        calculator=Calculator(options.backend, device=options.device),
        constrained=options.constrained,
    )
    question = " ".join(options.question)
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
