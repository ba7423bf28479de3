"""`curta hybrid ask`: a language model that holds compiled modules answers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from curta.errors import DataError
from curta.hybrid.options import Joint
from curta.options import option, word

if TYPE_CHECKING:
    from curta.hybrid.model import HybridModel
    from curta.hybrid.writing import ModuleSaid


@dataclass(frozen=True)
class Options(Joint):
    """Ask a language model that holds compiled modules. Its answer goes to standard output as it
    comes, what modules say on the way to standard error.

    question: in the words of one or more arguments
    call:     what the answer begins with, as in 'sudoku("8..........36......7..")', if the language
              model would not call by itself
    show:     so many of a call's tokens, by name
    keep:     the transcript, in this file: curta hybrid verify checks it
    max_new_tokens: of the language model's own
    """

    question: tuple[str, ...] = word("QUESTION")
    call: str = option("", metavar="CALL")
    show: int = 12
    keep: str | None = option(None, metavar="FILE")
    max_new_tokens: int = 256


def run(options: Options) -> int:
    """The answer."""
    question = " ".join(options.question)
    if not question.strip():
        raise DataError("there is no question")
    if options.max_new_tokens < 1:
        raise DataError(f"--max-new-tokens {options.max_new_tokens}: at least 1")
    from curta.hybrid.writing import ModuleSaid

    model = options.joint_model()
    stream = model.stream(question, call=options.call, max_new_tokens=options.max_new_tokens)
    heard = Heard(model, options.show)
    for event in stream:
        if isinstance(event, ModuleSaid):
            heard.take(event)
            continue
        heard.tell()
        print(event.text, end="", flush=True)
    print()
    assert stream.transcript is not None
    if options.keep is not None:
        stream.transcript.save(options.keep)
        told = f"kept in {options.keep}: curta hybrid verify {options.keep}, with the same --module"
        print(told, file=sys.stderr)
    return 0


@dataclass
class Heard:
    """What a module says in one call, in a line."""

    model: HybridModel
    show: int
    module: str = ""
    opening: int = 0
    said: int = 0
    names: list[str] = field(default_factory=list)

    def take(self, event: ModuleSaid) -> None:
        """More of it."""
        self.module = event.module
        if event.opens:
            self.opening += len(event.ids)
            return
        self.said += len(event.ids)
        left = max(self.show - len(self.names), 0)
        vocabulary = self.model.compiled[event.module].engine.vocabulary
        self.names += [vocabulary[token] for token in event.ids[:left].tolist()]

    def tell(self) -> None:
        """The call is over."""
        if not self.module:
            return
        shown = " ".join(self.names) + (" ..." if self.said > len(self.names) else "")
        told = f"\n[{self.module}: {self.said:,} tokens behind {self.opening:,} that open; {shown}]"
        print(told, file=sys.stderr, flush=True)
        self.module, self.opening, self.said, self.names = "", 0, 0, []
