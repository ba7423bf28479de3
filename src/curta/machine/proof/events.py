"""What happens besides computing: the same events on both sides.

A load, a store, what can trap: each is a node that holds the world before it, its operands and, as
a trap would leave them, the shared registers.
"""

from __future__ import annotations

from typing import Protocol

from curta.machine.instructions import WORD
from curta.machine.proof.terms import ZERO, Term, Terms, constant, located, word_of


class Side(Protocol):
    """Either of the two that are executed."""

    terms: Terms

    def happen(self, what: str, *arguments: object) -> Term: ...
    def seen(self) -> Term: ...


def accessed(side: Side, world: Term, name: str, base: Term, offset: int, *stored: Term) -> Term:
    """A load or store. The private memory has no bounds: to read it changes nothing."""
    where = located(base, ~offset)
    if name in ("peek8", "peek32"):
        return side.terms.node(name, world, *where)
    return side.happen(name, *where, *stored, side.seen())


def written(byte: Term) -> Term:
    """Only the lowest byte of a word is written."""
    return byte if byte >= 0 else constant(~byte % 256)


def divided(side: Side, operation: str, a: Term, b: Term) -> Term:
    """A quotient or remainder: a shift or a mask for powers of two, an event if it may trap."""
    divisor, unsigned, terms = word_of(b), operation.endswith("_u"), side.terms
    if divisor and unsigned and not divisor & (divisor - 1):
        if operation == "rem_u":
            return terms.value("and", a, constant(divisor - 1))
        return terms.value("shr_u", a, constant(divisor.bit_length() - 1))
    if divisor == 1:
        return a if operation == "div_s" else ZERO
    if divisor and (unsigned or divisor != WORD - 1):
        return terms.node(operation, a, b)
    return side.happen(operation, a, b, side.seen())
