"""Numbers as people write them, and the same from the last digit."""

from __future__ import annotations

from dataclasses import dataclass

from curta.learn.formats.base import Format


@dataclass(frozen=True)
class Plain(Format):
    """As people write it."""

    name = "plain"
    about = "57+24=81"


@dataclass(frozen=True)
class ReversedAnswer(Format):
    """The answer begins with its last digit: carries are known when they are needed."""

    name = "reversed"
    about = "57+24=18, the answer from its last digit"
    answer_reversed = True


@dataclass(frozen=True)
class ReversedOperands(Format):
    """Only the question is reversed, to tell the two effects apart."""

    name = "reversed_operands"
    about = "75+42=81, the operands from their last digits"
    question_reversed = True


@dataclass(frozen=True)
class Reversed(Format):
    """Everything begins with the last digit."""

    name = "reversed_both"
    about = "75+42=18, all numbers from their last digits"
    question_reversed = True
    answer_reversed = True
