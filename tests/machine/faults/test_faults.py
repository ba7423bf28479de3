"""Planted faults are noticed: by the validator, by the corpus, or they change nothing.

The small test plants some faults in a few programs; the long one all that the tool draws.
"""

from __future__ import annotations

from random import Random

import pytest

from curta.machine.core_program import CoreProgram
from curta.machine.instructions import WORD, CoreInstruction
from curta.machine.layout import ARGUMENTS, ENVIRONMENT
from curta.machine.lower import context
from curta.machine.wasm.decode import decode
from curta.machine.wasm.text import assemble
from tests.machine.faults.code_faults import code_fault
from tests.machine.faults.corpus import Program, make_cases, make_corpus
from tests.machine.faults.drawing import Plan, draw_faults
from tests.machine.faults.equivalence import explain
from tests.machine.faults.fault import Fault, replaced_attribute
from tests.machine.faults.fault_table import table
from tests.machine.faults.judging import Judge, Verdict, lowered, refused
from tests.machine.faults.pass_faults import HAND, pass_faults
from tests.machine.faults.program_faults import instruction_fault, target_faults
from tests.machine.faults.rule_faults import rule_faults

FEW = (
    "case wide numbers that change places",
    "case loop that passes values around",
    "case results that change places",
    "case table of branches with values",
)
LEAST = 300
"""Faults that change code."""


@pytest.fixture(scope="module")
def few() -> Judge:
    programs: list[Program] = [one for one in make_cases() if one.name in FEW]
    judge = Judge.of(programs)
    assert len(judge.rights) >= 3, judge.left_out
    return judge


def judged(judge: Judge, faults: list[Fault]) -> list[Verdict]:
    verdicts = [judge.judge(fault) for fault in faults]
    assert not [(str(v.fault), v.holes) for v in verdicts if v.holes]
    return [verdict for verdict in verdicts if verdict.changed]


def test_nothing_is_noticed_without_a_fault(few: Judge) -> None:
    assert not judged(few, [Fault("none", "nothing")])


def test_changed_instructions_are_noticed(few: Judge) -> None:
    random = Random(1)
    faults = [
        instruction_fault(right.core, right.program.name, at, random)
        for right in few.rights
        for at in range(2, len(right.core.instructions), 5)
    ]
    verdicts = judged(few, faults)
    assert len(verdicts) > 15
    assert sum(bool(verdict.validator) for verdict in verdicts) > 0.8 * len(verdicts)
    assert any(verdict.corpus for verdict in verdicts)


def test_changes_between_passes_are_noticed(few: Judge) -> None:
    random = Random(2)
    faults = [
        code_fault(right.program, callee, random)
        for right in few.rights
        for callee in sorted(right.core.claims.functions)
        if callee[0] == "user"
    ]
    verdicts = judged(few, faults * 2)
    assert len(verdicts) > 3
    assert any(verdict.validator and verdict.corpus for verdict in verdicts)


def test_mistakes_of_passes_and_rules_are_noticed(few: Judge) -> None:
    first = [fault for fault in pass_faults() if fault.name.endswith("(always)")]
    faults = [*first, *rule_faults(Random(3), 20)]
    verdicts = judged(few, faults)
    assert len(verdicts) > 5
    assert any(verdict.validator for verdict in verdicts)
    assert not any(verdict.holes for verdict in verdicts)


def test_faults_are_gone_afterwards(few: Judge) -> None:
    again = Judge.of([right.program for right in few.rights])
    cores = {one.program.name: one.core for one in few.rights}
    assert {one.program.name: one.core for one in again.rights} == cores


def test_what_is_changed_by_hand_is_there() -> None:
    assert [row[:3] for row in HAND if not hasattr(row[0], row[1])] == []


def test_faults_have_names_that_say_which_they_are() -> None:
    names = [fault.name for fault in pass_faults()]
    assert len(names) == len(set(names)) > 100


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (CoreInstruction("copy", a=3, d=1, immediate=7), "the field is not read"),
        (CoreInstruction("copy", d=1, immediate=8), "the result is not read"),
    ],
)
def test_changes_that_change_nothing_have_a_reason(changed: CoreInstruction, reason: str) -> None:
    ends = CoreInstruction("trap")
    right = CoreProgram((CoreInstruction("copy", d=1, immediate=7), ends))
    assert explain(right, CoreProgram((changed, ends))) == reason
    read = CoreProgram((right.instructions[0], CoreInstruction("write_out", b=1), ends))
    wrong = CoreProgram((changed, *read.instructions[1:]))
    assert explain(read, wrong) == ("" if "result" in reason else reason)


def test_a_jump_into_a_loop_is_not_taken_for_one_to_its_head() -> None:
    name = "case loops right behind one another"
    (program,) = (one for one in make_cases() if one.name == name)
    (right,) = Judge.of([program]).rights
    start = right.core.claims.functions["user", 0]
    into_loops = [fault for fault in target_faults(right, 12) if f": {start}: jump_" in fault.name]
    assert len(into_loops) > 15
    judged(Judge([right]), into_loops)


@pytest.mark.parametrize("place", [ARGUMENTS, ENVIRONMENT, WORD - 3])
def test_passive_segments_lie_where_nobody_else_writes(place: int) -> None:
    text = """(module (memory 1) (data $d "hello, world") (func (export "f") (param i32)
        (result i32) (memory.init $d (i32.const 0) (i32.const 0) (i32.const 12))
        (i32.load8_u (local.get 0))))"""
    binary = assemble(text)
    program = Program("passive", binary, decode(binary), (("f", (1,)),), ((101,),))
    assert refused(program, lowered(program, [])) == ""
    with replaced_attribute(context, "DATA", place):
        assert refused(program, lowered(program, []))


@pytest.mark.slow
def test_no_jump_to_a_wrong_place_is_accepted_if_results_change() -> None:
    judge = Judge.of(make_cases())
    for right in judge.rights:
        if len(right.core.instructions) < 80:
            judged(Judge([right]), list(target_faults(right, 25)))


@pytest.mark.slow
def test_no_fault_that_changes_a_result_is_accepted() -> None:
    judge = Judge.of(make_corpus())
    verdicts = judged(judge, list(draw_faults(judge, Plan(), 0)))
    print(table(verdicts))
    assert len(verdicts) >= LEAST
