"""Beginnings of expressions: what may follow, so that the whole can still be parsed.

`begin()` is the state before the first character and `follow(state, character, budget)` the one
behind it, or None if nothing that begins so is an expression within the budget. What is accepted
is a part of what `parse` takes: no sugar (thousands, currencies, `of`), no lists, comparisons only
outside of parentheses. Whatever is complete can be parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.operations import CONSTANTS, FUNCTIONS

DIGITS = frozenset("0123456789")
CHARACTERS = DIGITS.union(" .+-*/^%!<>=(),", *FUNCTIONS, *CONSTANTS)
"""All that an expression is made of here."""


class Frame(NamedTuple):
    """An open parenthesis: how many operands it takes, and which one this is."""

    least: int
    most: int
    now: int


class State(NamedTuple):
    """How far an expression has come.

    phase:  what stands at its end, a key of `PHASES`
    spaced: whether a space does
    length, steps, powers: how much there is, as the budget counts
    """

    phase: str = "operand"
    spaced: bool = False
    name: str = ""
    frames: tuple[Frame, ...] = ()
    compared: bool = False
    length: int = 0
    steps: int = 0
    powers: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether this is an expression as it stands."""
        return not self.frames and missing_operand(self) == (0, 0, 0)


def begin() -> State:
    """Before the first character."""
    return State()


def follow(state: State, character: str, budget: Budget) -> State | None:
    """The state behind one more character."""
    if character == " ":
        after = space(state)
    else:
        after = PHASES[state.phase](state._replace(spaced=False), character, state.spaced)
    if after is None:
        return None
    after = after._replace(length=state.length + 1)
    return after if fits(after, budget) else None


def fits(state: State, budget: Budget) -> bool:
    """Whether it can still be completed within the budget."""
    characters, steps, depth = missing_operand(state)
    for frame in state.frames:
        operands = max(0, frame.least - frame.now)
        characters += 2 * operands + 1
        steps += operands
    return (
        state.length + characters <= budget.characters
        and state.steps + steps <= budget.steps
        and len(state.frames) + state.powers + depth <= budget.depth
    )


def missing_operand(state: State) -> tuple[int, int, int]:
    """Characters, steps and depth until the operand is complete that is written or expected."""
    if state.phase == "name":
        return missing_of_name(state.name)
    return MISSING.get(state.phase, (0, 0, 0))


MISSING = {
    "operand": (1, 1, 0),
    "unsigned": (1, 1, 0),
    "point": (1, 0, 0),
    "*": (1, 1, 0),
    "/": (1, 1, 0),
    "<": (1, 1, 0),
    ">": (1, 1, 0),
    "=": (2, 1, 0),
}


@cache
def missing_of_name(name: str) -> tuple[int, int, int]:
    """The same for the beginning of a constant's or a function's name: its shortest end."""
    ends = [(len(each) - len(name), 0, 0) for each in CONSTANTS if each.startswith(name)]
    for each, operation in FUNCTIONS.items():
        if each.startswith(name):
            brackets = len("()") + 2 * operation.least - 1
            ends.append((len(each) - len(name) + brackets, operation.least, 1))
    return min(ends)


# ---- what may follow in each phase ----


def space(state: State) -> State | None:
    """One space may stand before and behind everything but inside of numbers and names."""
    if state.spaced or state.phase in ("point", "=") or len(state.name) > 0:
        return constant_and_space(state)
    if state.phase in ("number", "decimals", "!"):
        return state._replace(phase="behind", spaced=True)
    if state.phase in ("*", "/", "<", ">"):
        return state._replace(phase="operand", spaced=True)
    return state._replace(spaced=True)


def constant_and_space(state: State) -> State | None:
    """A name that is complete may be followed by a space."""
    if state.phase == "name" and state.name in CONSTANTS:
        return state._replace(phase="behind", name="", spaced=True)
    return None


def operand(state: State, character: str, spaced: bool) -> State | None:
    """An operand, or its sign."""
    if character == "-":
        return state._replace(phase="unsigned", steps=state.steps + 1)
    return unsigned(state, character, spaced)


def unsigned(state: State, character: str, spaced: bool) -> State | None:
    """An operand without a sign."""
    if character in DIGITS:
        return state._replace(phase="number", steps=state.steps + 1)
    if character == "(":
        return opened(state, Frame(1, 1, 1))
    if is_name(character):
        return state._replace(phase="name", name=character, steps=state.steps + 1)
    return None


def number(state: State, character: str, spaced: bool) -> State | None:
    if character == ".":
        return state._replace(phase="point")
    return state if character in DIGITS else behind(state, character, spaced)


def point(state: State, character: str, spaced: bool) -> State | None:
    return state._replace(phase="decimals") if character in DIGITS else None


def decimals(state: State, character: str, spaced: bool) -> State | None:
    return state if character in DIGITS else behind(state, character, spaced)


def name(state: State, character: str, spaced: bool) -> State | None:
    """More of a name, or the parenthesis behind a function's."""
    if is_name(state.name + character):
        return state._replace(name=state.name + character)
    if character == "(" and state.name in FUNCTIONS:
        operation = FUNCTIONS[state.name]
        return opened(state._replace(name=""), Frame(operation.least, operation.most, 1))
    if state.name in CONSTANTS:
        return behind(state._replace(name=""), character, spaced)
    return None


def behind(state: State, character: str, spaced: bool) -> State | None:
    """What follows a complete operand."""
    if character in "+-":
        return state._replace(phase="operand", steps=state.steps + 1)
    if character in "*/":
        return state._replace(phase=character, steps=state.steps + 1)
    if character in "%!":
        return state._replace(phase=character, steps=state.steps + 1)
    if character == "^":
        return raised(state._replace(steps=state.steps + 1))
    if character in "<>=":
        return compared(state._replace(steps=state.steps + 1), character)
    if character in "),":
        return closed(state, character)
    return None


def closed(state: State, character: str) -> State | None:
    """The end of a parenthesis, or of one operand in it."""
    if not state.frames:
        return None
    *outer, frame = state.frames
    if character == ")":
        enough = frame.now >= frame.least
        return state._replace(phase="behind", frames=tuple(outer)) if enough else None
    if frame.now == frame.most:
        return None
    frames = (*outer, frame._replace(now=frame.now + 1))
    return state._replace(phase="operand", frames=frames)


def starred(state: State, character: str, spaced: bool) -> State | None:
    return raised(state) if character == "*" else operand(state, character, spaced)


def divided(state: State, character: str, spaced: bool) -> State | None:
    if character == "/":
        return state._replace(phase="operand")
    return operand(state, character, spaced)


def ordered(state: State, character: str, spaced: bool) -> State | None:
    """Behind < or >."""
    if character == "=":
        return state._replace(phase="operand")
    return operand(state, character, spaced)


def equals(state: State, character: str, spaced: bool) -> State | None:
    return state._replace(phase="operand") if character == "=" else None


def exclaimed(state: State, character: str, spaced: bool) -> State | None:
    """A factorial, or the beginning of !=."""
    if character == "=":
        return compared(state, "operand")
    return behind(state, character, spaced)


def percent(state: State, character: str, spaced: bool) -> State | None:
    """A percentage, or a remainder if an operand follows; `parse` refuses signs there."""
    if character in "+-%":
        return None
    if (after := unsigned(state, character, spaced)) is not None:
        return after
    return behind(state, character, spaced)


def opened(state: State, frame: Frame) -> State:
    return state._replace(phase="operand", frames=(*state.frames, frame))


def raised(state: State) -> State:
    return state._replace(phase="operand", powers=state.powers + 1)


def compared(state: State, phase: str) -> State | None:
    """A comparison, of which there is one at most."""
    if state.compared or state.frames:
        return None
    return state._replace(phase=phase, compared=True)


@cache
def is_name(beginning: str) -> bool:
    """Whether something is called so, or begins so."""
    return any(each.startswith(beginning) for each in (*FUNCTIONS, *CONSTANTS))


PHASES: dict[str, Callable[[State, str, bool], State | None]] = {
    "operand": operand,
    "unsigned": unsigned,
    "number": number,
    "point": point,
    "decimals": decimals,
    "name": name,
    "behind": behind,
    "*": starred,
    "/": divided,
    "<": ordered,
    ">": ordered,
    "=": equals,
    "!": exclaimed,
    "%": percent,
}
