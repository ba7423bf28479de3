"""Witness: what WebAssembly holds where blocks begin, as values of the code.

Translation knows which value each local and each operand is. That is kept, and followed through
what passes do: a value that got another name, a value that nobody computes any more but that others
are made of. In the end it is a claim for every block, in which a register and a local that have the
same number hold the same word. A proof starts from such claims and shows that each is true whenever
its block is reached; nothing else rests on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from curta.machine.core_program import Callee, Claim, WasmLocation

Value = int
Label = int
_DEEPEST = 8


class HeldWords(NamedTuple):
    """Words of WebAssembly at a place: locals, operands, then those of the functions that this one
    is in line in.
    """

    place: WasmLocation
    words: tuple[Value, ...]

    def within(self, other: HeldWords, name: Callable[[Value], Value]) -> HeldWords:
        """The same, of a function in line of another one, with that one's names."""
        return HeldWords(_within(self.place, other.place), (*map(name, self.words), *other.words))


def _within(place: WasmLocation, outer: WasmLocation) -> WasmLocation:
    inner = outer if place.within is None else _within(place.within, outer)
    return place._replace(within=inner)


@dataclass(slots=True)
class Witness:
    """Of a function."""

    blocks: dict[Label, HeldWords] = field(default_factory=dict)
    calls: dict[WasmLocation, HeldWords] = field(default_factory=dict)
    """Before calls, without what they take."""
    returns: dict[WasmLocation, HeldWords] = field(default_factory=dict)
    """Behind the instructions that these calls are the end of."""
    inlined: dict[WasmLocation, Callee] = field(default_factory=dict)
    """Calls that have their function in line."""
    names: dict[Value, Value] = field(default_factory=dict)
    """What values are that passes have replaced."""
    made: dict[Value, tuple[str, tuple[Value, ...]]] = field(default_factory=dict)
    """How values are computed, by an operation of others."""

    def name(self, value: Value) -> Value:
        while value in self.names:
            value = self.names[value]
        return value

    def claim(
        self,
        label: Label,
        registers: Iterable[tuple[int, Value | None]],
        constants: Mapping[Value, int],
    ) -> Claim | None:
        """Of a block that begins with these values in registers, of which several may be one;
        None is where to return to.
        """
        held = self.blocks.get(label)
        if held is None:
            return None

        there: dict[int, Value | None] = {}
        names: dict[Value, Value] = {}
        for register, value in registers:
            same = there.setdefault(register, value)
            if same is not None and value is not None and same != value:
                one, other = self.name(value), self.name(same)
                names.update([(other, one) if one in constants else (one, other)])

        def number(value: Value) -> int:
            value = self.name(value)
            value = names.get(value, value)
            return ~constants[value] if value in constants else value

        words = tuple(map(number, held.words))
        held_in = {r: None if v is None else number(v) for r, v in registers}
        found = (*words, *held_in.values())
        made = _Made(self, number, {v for v in found if v is not None})
        return Claim(held.place, words, held_in, made.of_all())


class _Made:
    """How values are made of those that are there."""

    def __init__(
        self, witness: Witness, number: Callable[[Value], int], there: Iterable[int]
    ) -> None:
        self.witness, self.number = witness, number
        self.there = frozenset(there)
        self.found: dict[int, tuple[str, tuple[int, ...]] | None] = {}

    def of_all(self) -> dict[int, tuple[str, tuple[int, ...]]]:
        for value in sorted(self.there):
            if value >= 0:
                self.find(value, _DEEPEST)
        return {value: how for value, how in self.found.items() if how is not None}

    def find(self, value: int, depth: int) -> bool:
        """Whether a value follows from those that are there, or is one of them."""
        if value not in self.found:
            how = self.witness.made.get(value)
            self.found[value] = None
            if how is not None and depth:
                sources = tuple(map(self.number, how[1]))
                if all(source < 0 or self.find(source, depth - 1) for source in sources):
                    del self.found[value]  # what it is made of comes first
                    self.found[value] = how[0], sources
        return value in self.there or self.found[value] is not None
