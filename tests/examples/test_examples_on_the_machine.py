"""The example programs on the machine: what wasmtime prints, said by the weights."""

from __future__ import annotations

import pytest

from curta import Machine
from curta.machine.bake import bake
from curta.machine.run import Run
from tests.examples.example_cases import CASES, Case

LONG = {"sudoku-inkala", "sha256-own", "lisp", "floats", "nbody"}
"""More than half a million tokens each."""


def cases() -> list[object]:
    return [
        pytest.param(case, id=case.id, marks=[pytest.mark.slow] if case.id in LONG else [])
        for case in CASES
    ]


def ran(machine: Machine, case: Case) -> Run:
    return machine.run(case.path, stdin=case.stdin.encode(), args=case.args)


@pytest.mark.parametrize("case", cases())
def test_the_weights_run_it(case: Case) -> None:
    run = ran(Machine(), case)
    assert (run.stdout.decode(), run.exit_code) == (case.expected.decode(), case.exit_code)


@pytest.mark.parametrize("name", ["lines", "queens-six", "hungarian-input"])
def test_weights_and_reference_say_the_same_tokens(name: str) -> None:
    (case,) = [case for case in CASES if case.id == name]
    expected, actual = ran(Machine("reference"), case), ran(Machine(), case)
    places = (expected.trace.ids != actual.trace.ids).nonzero()[0]
    first = int(places[0]) if len(places) else -1
    assert first < 0, f"token {first}: {expected.trace[first]} became {actual.trace[first]}"
    assert expected.figures.instructions == actual.figures.instructions


@pytest.mark.slow
def test_sudoku_in_the_weights() -> None:
    (case,) = [case for case in CASES if case.id == "sudoku-inkala"]
    run = bake(case.path).run(stdin=case.stdin.encode(), args=case.args)
    assert (run.stdout.decode(), run.exit_code) == (case.expected.decode(), case.exit_code)
    assert run.figures.prompt_tokens < 100
