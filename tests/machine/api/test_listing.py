"""Traces as text."""

from __future__ import annotations

import pytest

from curta import Machine, Trap
from curta.machine.listing import executed
from curta.machine.loaded import LoadedProgram
from tests.machine.api.core_programs import program

LOADED = LoadedProgram.from_core(program())


@pytest.mark.parametrize(
    ("name", "numbers", "line", "value"),
    [
        ("add", (1, -3), "g0 = add r1, r2", "= 4294967294 (-2)"),
        ("divide", (70000, 7), "r1 = div_s r1, r2", "M2 L1808 = 10000"),
        ("divide", (-70000, 7), "r1 = div_s r1, r2", "M255 M4093 L2288 = 4294957296 (-10000)"),
        ("same", (1.5,), "store32", "stored"),
        ("_start", (), "write_err 33", "err33 '!'"),
    ],
)
def test_a_line_says_what_an_instruction_came_to(
    name: str, numbers: tuple[int, ...], line: str, value: str
) -> None:
    instance = Machine("reference").start(LOADED)
    instance.invoke(name, *numbers)
    lines = [" ".join(row.split()) for row in executed(LOADED, instance.conversation.said())]
    assert any(line in row and row.endswith(value) for row in lines), lines
    steps = [row for row in lines if row[0].isdigit()]
    assert len(steps) >= instance.figures.instructions


def test_a_trap_is_the_last_line() -> None:
    instance = Machine("reference").start(LOADED)
    with pytest.raises(Trap):
        instance.invoke("divide", 1, 0)
    assert list(executed(LOADED, instance.conversation.said()))[-1].split()[-1] == "trap1"
    instance.invoke("add", 1, 1)
    assert any("g0 = add" in row for row in executed(LOADED, instance.conversation.said()))
