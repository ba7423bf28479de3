"""Comparisons: as values, and as branches.

A comparison right before a br_if, an if, an i32.eqz or a select is not computed: it becomes the
branch. Of two numbers of 64 bits the high words decide, unless they are equal, as they mostly are.
"""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.lower.builder import Builder, To, Values, flat
from curta.machine.lower.code import Value
from curta.machine.lower.rules import INVERTED, WIDE, Operation, of_low_words

Arm = Values | Callable[[], Values]
"""Words, or what computes them."""
_TAKERS = ("br_if", "if", "i32.eqz", "select")


def compare(name: str, b: Builder, *sources: Value) -> Values:
    """The result of a comparison instruction."""
    reduced = b.reduce(Operation(name, sources))
    if isinstance(reduced, Value):
        return (reduced,)
    taken = b.body[b.index + 1].opcode in _TAKERS
    return (b.defer(reduced) if taken else value_of(b, reduced, after=1),)


def pop_condition(b: Builder) -> Operation | Value:
    """What the top of the stack is true for: a comparison, or a constant."""
    return b.reduce(Operation("ne", (b.pop_word(), b.constant(0))))


def invert(condition: Operation) -> Operation:
    return Operation(INVERTED[condition.name], condition.sources)


def branch(
    b: Builder, condition: Operation | Value, then: To, otherwise: To, rare: int = 0
) -> None:
    """Go one way if a condition holds, else the other."""
    reduced = b.reduce(condition) if isinstance(condition, Operation) else condition
    if isinstance(reduced, Value):
        b.jump(then if b.word(reduced) else otherwise)
    elif not reduced.name.startswith(WIDE):
        first, second = reduced.sources
        b.branch(reduced.name, first, second, then, otherwise, rare)
    else:
        _branch_wide(b, reduced, then, otherwise)


def _branch_wide(b: Builder, condition: Operation, then: To, otherwise: To) -> None:
    name = condition.name.removeprefix(WIDE)
    al, ah, bl, bh = condition.sources
    following = To(b.new_join())
    if name == "ne":
        then, otherwise = otherwise, then
    if name in ("eq", "ne"):
        branch(b, Operation("ne", (al, bl)), otherwise, following)
        _branch_there(b, following, Operation("eq", (ah, bh)), then, otherwise)
        return
    level = To(b.new_join())
    branch(b, Operation("eq", (ah, bh)), level, following)
    _branch_there(b, following, Operation(name, (ah, bh)), then, otherwise)
    _branch_there(b, level, Operation(of_low_words(name), (al, bl)), then, otherwise)


def _branch_there(b: Builder, here: To, condition: Operation, then: To, otherwise: To) -> None:
    """Branch where ways meet, if any does."""
    b.begin(here.join)
    if b.live:
        branch(b, condition, then, otherwise)


def value_of(b: Builder, condition: Operation, after: int = 0) -> Value:
    """1 if the condition holds, else 0; `after` is 1 if that is all that the instruction does."""
    name = condition.name.removeprefix(WIDE)
    if name == condition.name:
        return b.value(name, *condition.sources)
    al, ah, bl, bh = condition.sources

    def different() -> Values:
        if name in ("eq", "ne"):
            return (b.constant(int(name == "ne")),)
        return (b.value(name, ah, bh),)

    level = b.value(of_low_words(name), al, bl)
    (value,) = choose(b, Operation("eq", (ah, bh)), (level,), different, after=after)
    return value


def choose(
    b: Builder, condition: Operation, then: Arm, otherwise: Arm, rare: int = 0, after: int = 1
) -> Values:
    """The words that one piece of code gives if a condition holds, else another one.

    `after` is 1 if nothing else is left to do for the instruction.
    """
    done = b.new_join()
    arms = (then, otherwise)
    ways = [To(b.new_join()) if callable(arm) else To(done, (arm,)) for arm in arms]
    branch(b, condition, ways[0], ways[1], rare)
    for way, arm, seldom in zip(ways, arms, (rare == 1, rare == -1), strict=True):
        if callable(arm):
            b.begin(way.join, rare=seldom)
            if b.live:
                b.jump(To(done, (arm(),)))
    return flat(b.begin(done, after=after))
