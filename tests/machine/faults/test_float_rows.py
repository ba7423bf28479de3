"""Rows that lower instructions on floats, each with every exchange that could be a slip of the pen:
the validator refuses all of them. Of operations on floats it knows nothing but their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from curta.machine.float_words import FLOATS
from curta.machine.lower import numbers, translate
from curta.machine.wasm.decode import decode
from curta.machine.wasm.opcodes import OPCODES
from curta.machine.wasm.text import assemble
from tests.machine.faults.corpus import Program
from tests.machine.faults.fault import replaced_attribute
from tests.machine.faults.judging import lowered, refused

ROWS = {
    head.split()[0]: (head.split()[1], [step.split() for step in steps.split(";")])
    for head, steps in (line.split(":") for line in numbers._TEXT.strip().splitlines())
    if any(name in steps for name in FLOATS) and not head.startswith("curta.")
}
EXCHANGED = {"operands": (0, 1), "high and low word": (0, 2), "low words": (2, 3)}
OTHER = {"high": "low", "low": "high", "lt": "le", "le": "lt", "eq": "le", "add": "sub"}
OTHER |= {"sub": "add", "mul": "div", "div": "mul", "sqrt": "div"}


def other_name(name: str) -> Iterator[str]:
    """Another operation: one part of the name is its neighbour."""
    parts = name.split("_")
    for at, part in enumerate(parts):
        other = "_".join([*parts[:at], OTHER.get(part, part), *parts[at + 1 :]])
        if other != name and other in FLOATS:
            yield other


def faults(steps: list[list[str]]) -> Iterator[tuple[str, list[list[str]]]]:
    """Each step with two of its sources exchanged, or with another operation."""
    for at, (result, _, *called) in enumerate(steps):
        if called[0] not in FLOATS:
            continue
        name, *sources = called
        changed = [[other, *sources] for other in other_name(name)]
        for i, j in EXCHANGED.values():
            if j < len(sources) and sources[i] != sources[j]:
                moved = list(sources)
                moved[i], moved[j] = moved[j], moved[i]
                changed.append([name, *moved])
        for one in changed:
            yield " ".join(one), [*steps[:at], [result, "=", *one], *steps[at + 1 :]]


def program_of(name: str) -> Program:
    signature = OPCODES[name].signature
    assert signature is not None
    operands = " ".join(f"(local.get {n})" for n in range(len(signature.parameters)))
    text = f"""(module (func (export "f") (param {" ".join(signature.parameters)})
      (result {signature.results[0]}) ({name} {operands})))"""
    binary = assemble(text)
    return Program(name, binary, decode(binary), (), ())


@pytest.mark.parametrize("name", ROWS)
def test_faults_of_a_row_are_refused(name: str) -> None:
    program, (given, steps) = program_of(name), ROWS[name]
    assert not refused(program, lowered(program, []))
    takes = len(OPCODES[name].signature.parameters)  # type: ignore[union-attr]
    planted = 0
    for fault, changed in faults(steps):
        compute = partial(numbers._go_straight, given, changed)
        handler = partial(translate._on_stack, compute, takes)
        with replaced_attribute(
            translate, "INSTRUCTIONS", translate.INSTRUCTIONS | {name: handler}
        ):
            core = lowered(program, [])
        assert refused(program, core), f"{name}: {fault}"
        planted += 1
    assert planted
