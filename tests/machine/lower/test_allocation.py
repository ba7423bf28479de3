"""Code by hand, given registers: what it does is still what its values say.

Each function is run on the reference machine. And whatever register is changed behind the
allocation, the check finds it, unless nobody can.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from curta.machine.core_program import CoreProgram
from curta.machine.instructions import GLOBALS, CoreInstruction
from curta.machine.lower.check import Checker
from curta.machine.lower.code import (
    Block,
    Branch,
    Call,
    Code,
    Edge,
    End,
    Jump,
    Return,
    Step,
    Value,
)
from curta.machine.lower.context import SharedRegisters
from curta.machine.lower.emit import Constant, emit, in_turn
from curta.machine.lower.flat import Flat, arrange
from curta.machine.lower.operations import GET, SET
from curta.machine.lower.place import place
from curta.machine.lower.registers import choose_registers
from curta.machine.reference import CoreMachine

COUNTER = GLOBALS + 20
"""A shared register."""


class Writer:
    """Writes a function of some words block by block; the first one is block 0."""

    def __init__(self, number: int, parameters: int, results: int, first_cell: int = 8) -> None:
        self.code = Code(("user", number), f"f{number}", results, {}, first_cell)
        self.given = tuple(self.code.new_value(place) for place in range(parameters))

    def constant(self, word: int) -> Value:
        value = self.code.new_value()
        self.code.constants[value] = word
        return value

    def values(self, count: int) -> tuple[Value, ...]:
        return tuple(self.code.new_value() for _ in range(count))

    def block(self, parameters: tuple[Value, ...], steps: list[Step | Call], end: End) -> None:
        label = self.code.new_label()
        self.code.blocks[label] = Block(label, parameters, steps, end)


def fibonacci() -> Code:
    """Two values change places in every turn."""
    w = Writer(1, 1, 1)
    zero, one = w.constant(0), w.constant(1)
    left, a, b, less, total = w.values(5)
    w.block(w.given, [], Jump(Edge(1, (w.given[0], zero, one))))
    w.block((left, a, b), [], Branch("eq", left, zero, Edge(3), Edge(2)))
    steps: list[Step | Call] = [Step("sub", less, left, one), Step("add", total, a, b)]
    w.block((), steps, Jump(Edge(1, (less, b, total))))
    w.block((), [], Return((a,)))
    return w.code


def swap() -> Code:
    """Values go round in a loop: each turn needs all of them at once."""
    w = Writer(1, 3, 3)
    zero, one = w.constant(0), w.constant(1)
    left, a, b, less = w.values(4)
    w.block(w.given, [], Jump(Edge(1, w.given)))
    steps: list[Step | Call] = [Step("sub", less, left, one)]
    w.block((left, a, b), steps, Branch("eq", left, zero, Edge(2), Edge(1, (less, b, a))))
    w.block((), [], Return((a, b, left)))
    return w.code


def choice() -> Code:
    """Both ways of a branch lead to the same block with other words."""
    w = Writer(1, 2, 1)
    seven = w.constant(7)
    x, y, total = w.values(3)
    first, second = w.given
    end = Branch("lt_u", first, second, Edge(1, (second, seven)), Edge(1, (first, first)))
    w.block(w.given, [], end)
    w.block((x, y), [Step("sub", total, x, y)], Return((total,)))
    return w.code


def calls() -> Code:
    """An argument that is read again behind the call, and results that are arguments."""
    w = Writer(1, 2, 1)
    (one, two, three, total, sum_) = w.values(5)
    a, b = w.given
    steps: list[Step | Call] = [
        Call(("user", 2), (a, b), (one,), 0),
        Call(("user", 2), (b, one), (two,), 1),
        Call(("user", 2), (two, two), (three,), 0),
        Step("add3", total, one, three, a),
        Step("add", sum_, total, b),
    ]
    w.block(w.given, steps, Return((sum_,)))
    return w.code


def crowded() -> Code:
    """More values live across a call than there are registers below its frame."""
    w = Writer(1, 1, 1, first_cell=3)
    (x,) = w.given
    many = w.values(12)
    steps: list[Step | Call] = [
        Step("mul", value, x, w.constant(n + 2)) for n, value in enumerate(many)
    ]
    (total,) = w.values(1)
    steps.append(Call(("user", 2), (x, x), (total,), 0))
    for value in many:
        (further,) = w.values(1)
        steps.append(Step("add", further, total, value))
        total = further
    w.block(w.given, steps, Return((total,)))
    return w.code


def counter() -> Code:
    """A shared register is read, written and read again."""
    w = Writer(1, 1, 1)
    (x,) = w.given
    before, next_, after, total = w.values(4)
    steps: list[Step | Call] = [
        Step(GET, before, immediate=COUNTER),
        Step("add", next_, before, x),
        Step(SET, c=next_, immediate=COUNTER),
        Step(GET, after, immediate=COUNTER),
        Step("mul", total, before, after),
    ]
    w.block(w.given, steps, Return((total,)))
    return w.code


def difference() -> Code:
    """What the others call."""
    w = Writer(2, 2, 1)
    (total,) = w.values(1)
    w.block(w.given, [Step("sub", total, w.given[0], w.given[1])], Return((total,)))
    return w.code


CASES: list[tuple[Callable[[], Code], list[int], list[int]]] = [
    (fibonacci, [10], [55]),
    (fibonacci, [0], [0]),
    (swap, [3, 8, 9], [9, 8, 0]),
    (swap, [4, 8, 9], [8, 9, 0]),
    (choice, [3, 20], [13]),
    (choice, [20, 3], [0]),
    (calls, [30, 10], [60]),
    (crowded, [2], [2 * sum(range(2, 14))]),
    (counter, [6], [0]),
]


def lowered(code: Code, shared: SharedRegisters) -> Flat:
    Checker(code).check("test")
    return arrange(emit(code, choose_registers(code), shared))


def run(code: Code, words: list[int]) -> list[int]:
    """The results of a function: it returns to an instruction that ends the program."""
    shared = SharedRegisters()
    flats = [lowered(code, shared), lowered(difference(), shared)]
    placed = place(flats)
    stop = CoreInstruction("exit")
    machine = CoreMachine(CoreProgram((*placed.instructions, CoreInstruction("call"), stop)))
    for word, register in shared.constants.items():
        machine.write(register, word)
    for register, word in enumerate(words):
        machine.write(register, word)
    machine.write(max(code.parameters, code.results), len(placed.instructions) + 1)
    machine.run(10_000)
    return [machine.read(register) for register in range(code.results)]


@pytest.mark.parametrize(("make", "words", "results"), CASES)
def test_values_are_what_they_were(
    make: Callable[[], Code], words: list[int], results: list[int]
) -> None:
    assert run(make(), words) == results


def test_what_is_kept_across_a_call_lies_below_its_frame() -> None:
    code = crowded()
    registers = choose_registers(code)
    (slot,) = registers.slots.values()
    assert all(registers.of[value] < slot for value in range(1, 13))


@pytest.mark.parametrize(
    "moves",
    [
        {1: 2, 2: 1},
        {1: 2, 2: 3, 3: 1, 4: 1},
        {1: Constant(5), 2: 1, 3: 3},
        {1: 2, 2: 1, 3: 4, 4: 3, 5: Constant(1)},
    ],
)
def test_moves_happen_at_once(moves: dict[int, int | Constant]) -> None:
    before = {register: 100 + register for register in range(10)}
    registers = before.copy()
    for d, source in in_turn(moves, 9):
        registers[d] = source.word if isinstance(source, Constant) else registers[source]
    for d, source in moves.items():
        assert registers[d] == (source.word if isinstance(source, Constant) else before[source])
