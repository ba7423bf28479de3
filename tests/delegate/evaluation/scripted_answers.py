"""Answers as a model would have written them, without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from curta.delegate.calculator import Calculator
from curta.delegate.data.example import ERRORS
from curta.delegate.evaluation.running import Answer, answer_of
from curta.delegate.evaluation.suites import Question
from curta.delegate.evaluation.systems import System, Writes
from curta.delegate.interception.events import (
    CallRejected,
    CallResult,
    CallStarted,
    Event,
    TextDelta,
)
from curta.delegate.interception.generator import Output
from curta.errors import CalculatorError

CALL = re.compile(r"<<calc:(?P<rest>(?P<expression>[^\n>]*)(?:>> = (?P<said>error: [a-z ]+|\S+))?)")
LIMIT = 50


def output(text: str, *, tokens: int = 10, calls: bool = True) -> Output:
    """The events of a text: calls with a result, with an error, and calls that never end."""
    events: list[Event] = []
    at = 0
    for match in CALL.finditer(text) if calls else ():
        events += [TextDelta(text[at : match.start()]), CallStarted("<<calc:")]
        expression, said = match["expression"].strip(), match["said"]
        if said is None:
            events.append(CallRejected(match["rest"], expression, None, 0.0))
        elif said.startswith("error"):
            events.append(CallRejected(match["rest"], expression, failure(said), 5.0))
        else:
            value = Calculator().evaluate(expression).value
            events.append(CallResult(match["rest"], expression, value, said, True, 5.0))
        at = match.end()
    return Output((*events, TextDelta(text[at:])), tokens, ended=tokens < LIMIT)


def failure(said: str) -> CalculatorError:
    """The error that is told in these words."""
    return ERRORS.get(said.removeprefix("error: "), CalculatorError)(said)


def answer(question: Question, text: str, *, system: str = "scripted", tokens: int = 10) -> Answer:
    """The same as it is kept, of a system with calls."""
    return answer_of(
        output(text, tokens=tokens),
        System(system, "model"),
        question,
        seconds=0.5,
    )


class Scripted:
    """Opens systems that say what stands in a table; notes what it was asked."""

    def __init__(self, texts: Mapping[str, Mapping[str, str]], *, batches: int = 1_000) -> None:
        self.texts = texts
        self.batches = batches
        self.asked: list[tuple[str, str]] = []

    def __call__(self, system: System) -> Writes:
        def write(questions: Sequence[str]) -> list[Output]:
            if self.batches == 0:
                raise KeyboardInterrupt
            self.batches -= 1
            self.asked += [(system.name, text) for text in questions]
            said = self.texts[system.name]
            return [output(said[text], calls=system.backend is not None) for text in questions]

        return write
