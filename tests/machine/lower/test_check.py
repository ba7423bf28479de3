"""Each rule of values in blocks, broken once."""

from __future__ import annotations

import pytest

from curta.machine.lower.check import Checker, CodeError
from curta.machine.lower.code import Block, Branch, Code, Edge, End, Jump, Return, Step

NINE = 9
"""The only constant."""
RETURN = Return(())


def code(*blocks: tuple[list[Step], End]) -> Code:
    made = {label: Block(label, (), list(steps), end) for label, (steps, end) in enumerate(blocks)}
    return Code(("user", 0), "f", 0, made, 0, {NINE: 5})


def add(d: int, a: int, c: int | None = None) -> Step:
    return Step("add", d, a, NINE, c)


EITHER = Branch("eq", NINE, NINE, Edge(1), Edge(2))
BROKEN = {
    "read before it is written": code(([add(1, 2), add(2, NINE)], RETURN)),
    "the same in a later block": code(([], Jump(Edge(1))), ([add(1, 2), add(2, NINE)], RETURN)),
    "written nowhere": code(([], Jump(Edge(1))), ([add(1, 7)], RETURN)),
    "written where nobody comes": code(
        ([], Jump(Edge(1))), ([], Return((3,))), ([add(3, NINE)], RETURN)
    ),
    "written on one way only": code(
        ([], EITHER), ([add(1, NINE)], Jump(Edge(2))), ([add(3, 1)], RETURN)
    ),
    "a constant written": code(([add(NINE, NINE)], RETURN)),
    "written twice": code(([add(1, NINE), add(1, NINE)], RETURN)),
    "a source too many": code(([add(1, NINE, NINE)], RETURN)),
    "a jump as a step": code(([Step("jump", 1, NINE, NINE)], RETURN)),
    "an argument too many": code(([], Jump(Edge(1, (NINE,)))), ([], RETURN)),
    "no such block": code(([], Jump(Edge(1)))),
}


def test_code_that_keeps_the_rules() -> None:
    right = code(([add(1, NINE)], EITHER), ([add(2, 1)], Jump(Edge(2))), ([add(3, 1)], RETURN))
    Checker(right).check("test")


@pytest.mark.parametrize("name", BROKEN)
def test_code_that_breaks_a_rule(name: str) -> None:
    with pytest.raises(CodeError, match="f behind test"):
        Checker(BROKEN[name]).check("test")
