"""What happens besides computing: the same events on both sides.

A load, a store, what can trap: each is a node that holds the world before it, its operands and, as
a trap would leave them, the shared registers.
"""

from __future__ import annotations

from typing import Protocol

from curta.machine.proof.terms import ZERO, Term, Terms, constant, located


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


def divided(side: Side, world: Term, operation: str, a: Term, b: Term) -> Term:
    """A quotient or remainder: an event if it may trap, and did not happen before."""
    terms = side.terms
    known = terms.quotient(operation, a, b)
    if known is not None:
        return known
    for before in terms.past(world):
        name, *words = terms.nodes[before]
        if name == operation and words[1:3] == [a, b]:
            return terms.node("result", before, ZERO)
    return side.happen(operation, a, b, side.seen())
