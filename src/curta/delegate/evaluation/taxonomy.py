"""What went wrong: every answer is of exactly one kind, and the first rule that holds decides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from curta.delegate.calculations import calculations
from curta.delegate.data.answers import final_answer, is_right
from curta.delegate.evaluation.running import Answer
from curta.delegate.evaluation.suites import Question

Kind = Literal[
    "right",
    "wrong reasoning",
    "wrong computation",
    "wrong format",
    "stopped early",
    "unneeded call",
]
WRONG: tuple[Kind, ...] = get_args(Kind)[1:]


@dataclass(frozen=True)
class Verdict:
    """An answer with its question: what it is, and why in a few words."""

    question: Question
    answer: Answer
    kind: Kind
    why: str = ""

    @property
    def is_right(self) -> bool:
        return self.kind == "right"


def verdict(question: Question, answer: Answer) -> Verdict:
    """The kind of an answer. A call that is only begun is one already where none was needed; which
    calculations are looked at, `calculations` says.
    """
    found = partial(Verdict, question, answer)
    if question.value is None:
        if answer.calls:
            return found("unneeded call", f"it computes {answer.calls[0].expression!r}")
        return found("right")
    if is_right(answer.text, question.value):
        return found("right")
    if not answer.ended:
        return found("stopped early", f"after {answer.tokens} tokens")
    if complaint := malformed(question, answer):
        return found("wrong format", complaint)
    for stated in calculations(answer.text):
        if not stated.right:
            return found("wrong computation", str(stated))
    said = final_answer(answer.text)
    return found("wrong reasoning", f"it says {said}, not {question.value}")


def malformed(question: Question, answer: Answer) -> str:
    """What is wrong with the form of an answer, or nothing."""
    for call in answer.calls:
        if not call.closed:
            return f"the call {call.expression!r} is never closed"
        if call.failed(question.value):
            return f"the call {call.expression!r} has no result"
    return "" if final_answer(answer.text) is not None else "there is no final answer"
