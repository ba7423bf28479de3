"""Planted faults are noticed: by the validator, by the corpus, or they change nothing.

The small test plants some faults in a few programs; the long one all that the tool draws.
"""

from __future__ import annotations

from random import Random

import pytest
from code_faults import code_fault
from corpus import Program, make_cases, make_corpus
from drawing import Plan, draw_faults
from equivalence import explain
from fault import Fault
from fault_table import table
from judging import Judge, Verdict
from pass_faults import pass_faults
from program_faults import instruction_fault
from rule_faults import rule_faults

from curta.machine.instructions import Instruction
from curta.machine.program import CoreProgram

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
        code_fault(right.program.name, callee, random)
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
    assert any(verdict.checkers for verdict in verdicts)
    assert any(verdict.validator for verdict in verdicts)


def test_faults_are_gone_afterwards(few: Judge) -> None:
    again = Judge.of([right.program for right in few.rights])
    cores = {one.program.name: one.core for one in few.rights}
    assert {one.program.name: one.core for one in again.rights} == cores


def test_faults_have_names_that_say_which_they_are() -> None:
    names = [fault.name for fault in pass_faults()]
    assert len(names) == len(set(names)) > 100


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (Instruction("copy", a=3, d=1, immediate=7), "the field is not read"),
        (Instruction("copy", d=1, immediate=8), "the result is not read"),
    ],
)
def test_changes_that_change_nothing_have_a_reason(changed: Instruction, reason: str) -> None:
    ends = Instruction("trap")
    right = CoreProgram((Instruction("copy", d=1, immediate=7), ends))
    assert explain(right, CoreProgram((changed, ends))) == reason
    read = CoreProgram((right.instructions[0], Instruction("write_out", b=1), ends))
    wrong = CoreProgram((changed, *read.instructions[1:]))
    assert explain(read, wrong) == ("" if "result" in reason else reason)


@pytest.mark.slow
def test_no_fault_that_changes_a_result_is_accepted() -> None:
    judge = Judge.of(make_corpus())
    verdicts = judged(judge, list(draw_faults(judge, Plan(), 0)))
    print(table(verdicts))
    assert len(verdicts) >= LEAST
