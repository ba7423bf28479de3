"""`curta hybrid ask`: a language model that holds compiled modules answers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from curta.delegate.options import say_if_cut
from curta.errors import DataError
from curta.hybrid.options import Joint
from curta.options import option, word

if TYPE_CHECKING:
    from curta.hybrid.hearing import ModuleSaid
    from curta.hybrid.model import HybridModel


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
    model = options.joint_model()
    from curta.hybrid.hearing import ModuleSaid

    stream = model.stream(question, call=options.call, max_new_tokens=options.max_new_tokens)
    heard: list[ModuleSaid] = []
    for event in stream:
        if isinstance(event, ModuleSaid):
            heard.append(event)
            continue
        if heard:
            print(told(model, heard, options.show), file=sys.stderr, flush=True)
            heard.clear()
        print(event.text, end="", flush=True)
    print()
    say_if_cut(stream.row, options.max_new_tokens)
    assert stream.transcript is not None
    if options.keep is not None:
        stream.transcript.save(options.keep)
        kept = f"kept in {options.keep}: curta hybrid verify {options.keep}, with the same --module"
        print(kept, file=sys.stderr)
    return 0


def told(model: HybridModel, heard: Sequence[ModuleSaid], show: int) -> str:
    """What a module said in one call, in a line."""
    name = heard[0].module
    opening = sum(len(event.ids) for event in heard if event.opens)
    said = sum(len(event.ids) for event in heard if not event.opens)
    tokens = chain.from_iterable(event.ids.tolist() for event in heard if not event.opens)
    vocabulary = model.compiled[name].engine.vocabulary
    shown = " ".join(vocabulary[token] for token in islice(tokens, max(show, 0)))
    more = " ..." if said > show else ""
    return f"\n[{name}: {said:,} tokens behind {opening:,} that open; {shown}{more}]"
