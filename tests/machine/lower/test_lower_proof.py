"""Proofs of programs: what the lowering says is proved, and what is changed in it is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from random import Random

import pytest

from curta.errors import ProofError
from curta.machine.core_program import Claims, CoreProgram
from curta.machine.instructions import COMPARISONS, CoreInstruction, kind_of
from curta.machine.library import exported_functions
from curta.machine.loaded import LoadedProgram
from curta.machine.lower import lower
from curta.machine.lower.translate import INSTRUCTIONS
from curta.machine.proof import Verdict, prove
from curta.machine.wasm import MAX_PAGES
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import Module
from curta.machine.wasm.opcodes import OPCODES
from curta.machine.wasm.text import assemble
from tests.machine.lower.lower_cases import LOWER_CASES
from tests.machine.wasm.wasm_cases import CASES
from tests.support.slow import some

TEXTS = {name: text for name, (text, _) in CASES.items()}
TEXTS |= {f"lower: {name}": text for name, (text, _) in LOWER_CASES.items()}
EUCLID = """(module (func $gcd (export "gcd") (param i64 i64) (result i64)
    (loop $again (result i64)
      (if (result i64) (i64.eqz (local.get 1))
        (then (local.get 0))
        (else
          (local.get 1)
          (i64.add (i64.shl (local.get 0) (local.get 1)) (i64.mul (local.get 1) (i64.const 3)))
          (local.set 1)
          (local.set 0)
          (br $again))))))"""


def verdicts(module: Module, program: CoreProgram) -> tuple[Verdict, ...]:
    return prove(module, program, LoadedProgram.from_core(program).prompt(), MAX_PAGES)


def is_refused(module: Module, program: CoreProgram) -> bool:
    try:
        return any(verdict.refused for verdict in verdicts(module, program))
    except ProofError:
        return True


def test_some_programs_are_proved() -> None:
    check_proved(list(TEXTS)[::8])


@pytest.mark.slow
def test_programs_are_proved() -> None:
    check_proved(list(TEXTS))


REPEATED = "(i32.rem_s (local.get 0) (local.get 1))"
DIVIDED = {
    "twice": f"(i32.add {REPEATED} {REPEATED})",
    "across a call": f"""(local.set 2 {REPEATED}) (call $other (local.get 2))
        (i32.add (local.get 2) {REPEATED})""",
    "behind a branch": f"""(local.set 2 {REPEATED})
        (if (local.get 0) (then (return {REPEATED}))) (i32.const 5)""",
    "where ways meet": f"""(local.set 2 {REPEATED})
        (if (local.get 0) (then (call $other (local.get 2)))) (i32.add (local.get 2) {REPEATED})""",
    "in a loop": f"""(local.set 2 {REPEATED})
        (loop (br_if 0 (local.tee 2 (i32.sub (local.get 2) {REPEATED})))) (local.get 2)""",
    "by nothing": """(i32.add (i32.div_u (local.get 0) (i32.const 0))
        (i32.div_u (local.get 0) (i32.const 0)))""",
    "by -1": """(local.set 2 (i32.div_s (local.get 0) (i32.const -1)))
        (if (local.get 1) (then (call $other (local.get 2))))
        (i32.div_s (local.get 0) (i32.const -1))""",
}


@pytest.mark.parametrize("name", DIVIDED)
def test_what_was_divided_needs_no_second_division(name: str) -> None:
    text = f"""(module (func $other (export "other") (param i32))
        (func (export "f") (param i32 i32) (result i32) (local i32) {DIVIDED[name]}))"""
    module = decode(assemble(text))
    assert not is_refused(module, lower(module))


def test_another_division_is_one() -> None:
    one, other = (
        "(i32.div_s (local.get 0) (local.get 1))",
        "(i32.div_s (local.get 1) (local.get 0))",
    )
    once, twice = (
        decode(
            assemble(
                f"""(module (func (export "f") (param i32 i32) (result i32)
                (drop {one}) (drop {second}) (i32.const 1)))"""
            )
        )
        for second in (one, other)
    )
    assert not is_refused(once, lower(once))
    assert is_refused(twice, lower(once))


def test_what_is_known_counts_before_a_loop_goes_on_and_on() -> None:
    """The last local is 0 on this way, and claimed to be the comparison: both are the same once
    what is known is taken in mind. Until then, steps must not be used up by the loop.
    """
    text = """(module (memory 1)
      (func (export "f") (param i32 i32) (result i32) (local i32 i32)
        (local.set 2 (i32.eq (local.get 0) (i32.const 1)))
        (if (local.get 2) (then (return (i32.const 9))))
        (local.set 3 (i32.eq (local.get 0) (i32.const 1)))
        (loop
          (i32.store8 (local.get 1) (local.get 1))
          (if (i32.load8_u offset=1 (local.get 1))
            (then (i32.store8 offset=2 (local.get 1) (local.get 0))))
          (if (i32.load8_u offset=3 (local.get 1))
            (then (i32.store8 offset=4 (local.get 1) (local.get 0))))
          (local.set 1 (i32.add (local.get 1) (i32.const 1)))
          (br_if 0 (i32.load8_u offset=5 (local.get 1))))
        (local.get 3)))"""
    module = decode(assemble(text))
    assert [verdict.refused for verdict in verdicts(module, lower(module))] == [None]


def check_proved(names: list[str]) -> None:
    refused = {}
    for name in names:
        text = TEXTS[name]
        module = decode(assemble(text))
        for verdict in verdicts(module, lower(module)):
            if verdict.refused is not None:
                refused[name, verdict.name] = verdict.refused
    assert refused == {}


SLOW = ("register", "source", "immediate")
CHANGES = (
    *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
    *("operation", "target"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_is_refused(change: str) -> None:
    """Of these changes none leaves the function what it was."""
    module = decode(assemble(EUCLID))
    program = lower(module)
    start = program.claims.functions["user", 0]
    end = min(
        (at for at in program.claims.functions.values() if at > start),
        default=len(program.instructions),
    )
    assert not is_refused(module, program)
    tried = 0
    for at in range(start, end):
        changed = changed_in(program.instructions[at], change, Random(at))
        if changed is None:
            continue
        instructions = [*program.instructions]
        instructions[at] = changed
        assert is_refused(module, replace(program, instructions=tuple(instructions))), (at, changed)
        tried += 1
    assert tried >= 3


@pytest.mark.parametrize(
    ("change", "every"),
    [
        ("source", 24),
        pytest.param("source", 1, marks=pytest.mark.slow),
        pytest.param("register", 1, marks=pytest.mark.slow),
        pytest.param("swapped", 1, marks=pytest.mark.slow),
    ],
)
def test_wrong_claims_make_nothing_right(change: str, every: int) -> None:
    """Registers are exchanged in one instruction, and in all claims as well."""
    module = decode(assemble(EUCLID))
    program = lower(module)
    start = program.claims.functions["user", 0]
    registers = {r for claim in program.claims.blocks.values() for r in claim.registers}
    pairs = [*permutations(sorted(registers), 2)]
    assert len(pairs) > 4
    tried = 0
    for at in range(start, len(program.instructions)):
        old = program.instructions[at]
        some_pairs = pairs[at % every :: every]
        for one, other in some_pairs if kind_of(old.operation) == "value" else ():
            names = {one: other, other: one}
            changed = {
                "source": replace(old, a=names.get(old.a, old.a)),
                "register": replace(old, d=names.get(old.d, old.d)),
                "swapped": replace(old, b=old.b and names.get(old.b, old.b)),
            }[change]
            if changed == old or (old.operation == "copy" and change == "source"):
                continue
            instructions = (*program.instructions[:at], changed, *program.instructions[at + 1 :])
            wrong = replace(program, instructions=instructions)
            assert is_refused(module, wrong), (at, changed)
            assert is_refused(module, replace(wrong, claims=renamed(program, names))), (at, changed)
            tried += 1
    assert tried > 3


IN_LIBRARY = [
    name
    for name, row in OPCODES.items()
    if row.signature is not None and name in exported_functions("arithmetic")
]


@pytest.mark.parametrize("name", some(10, IN_LIBRARY))
def test_another_function_of_the_library_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a loop it may be in line: that is claimed by who has taken the wrong one."""
    types = OPCODES[name].signature
    others = [one for one in IN_LIBRARY if one != name and OPCODES[one].signature == types]
    assert types is not None
    if not others:
        pytest.skip("no other function is of its type")
    parameters = " ".join(types.parameters)
    operands = " ".join(f"(local.get {number})" for number in range(len(types.parameters)))
    count, result = len(types.parameters), len(types.parameters) + 1
    text = f"""(module (func (export "f") (param {parameters} i32) (result {types.results[0]})
        (local {types.results[0]})
        (loop
          (local.set {result} ({name} {operands}))
          (br_if 0 (local.tee {count} (i32.sub (local.get {count}) (i32.const 1)))))
        (local.get {result})))"""
    module = decode(assemble(text))
    assert not is_refused(module, lower(module))
    monkeypatch.setitem(INSTRUCTIONS, name, INSTRUCTIONS[others[0]])
    assert is_refused(module, lower(module)), others[0]


def renamed(program: CoreProgram, names: dict[int, int]) -> Claims:
    """What is claimed, of other registers."""
    blocks = {
        at: claim._replace(registers={names.get(r, r): n for r, n in claim.registers.items()})
        for at, claim in program.claims.blocks.items()
    }
    return replace(program.claims, blocks=blocks)


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_claims_are_needed_and_looked_at(every: int) -> None:
    """Without any, a loop is followed without an end; a wrong one is not passed over."""
    module = decode(assemble(EUCLID))
    program = lower(module)
    nothing = replace(program, claims=replace(program.claims, blocks={}))
    assert "round and round" in reasons(module, nothing)
    words = {number for claim in program.claims.blocks.values() for number in claim.words}
    for word in sorted(number for number in words if number >= 0)[::every]:
        blocks = {
            at: claim._replace(words=tuple(~5 if n == word else n for n in claim.words))
            for at, claim in program.claims.blocks.items()
            if word in claim.words
        }
        wrong = replace(program, claims=replace(program.claims, blocks=blocks))
        assert is_refused(module, wrong), word


def reasons(module: Module, program: CoreProgram) -> str:
    return " ".join(verdict.refused or "" for verdict in verdicts(module, program))


def changed_in(instruction: CoreInstruction, change: str, random: Random) -> CoreInstruction | None:
    """The instruction with one thing changed that matters; None if it has no such thing."""
    name, kind = instruction.operation, kind_of(instruction.operation)
    match change:
        case "register" if kind == "value":
            return replace(instruction, d=instruction.d + 40)
        case "source" if kind == "value" and name != "copy":
            return replace(instruction, a=instruction.a + 40)
        case "immediate" if instruction.b is None and (kind == "value" or "jump_" in name):
            return replace(instruction, immediate=instruction.immediate ^ 1)
        case "operation" if name.removeprefix("jump_") in COMPARISONS and name.startswith("jump_"):
            other = random.choice([one for one in ("eq", "ne") if one not in name])
            return replace(instruction, operation=f"jump_{other}")
        case "target" if name.startswith("jump_") and name != "jump_table":
            return replace(instruction, target=instruction.target + 1)
    return None


def test_another_byte_of_memory_is_refused() -> None:
    module = decode(assemble('(module (memory 1) (data (i32.const 8) "abc"))'))
    program = lower(module)
    assert not is_refused(module, program)
    (segment,) = program.segments
    other = replace(segment, content=b"abd")
    assert is_refused(module, replace(program, segments=(other,)))


def test_a_loop_that_is_entered_elsewhere_is_not_passed_over() -> None:
    """A jump into the middle of a loop that no other way leads to."""
    text, _ = LOWER_CASES["loops right behind one another"]
    module = decode(assemble(text))
    program = lower(module)
    start = program.claims.functions["user", 0]
    for at in range(start, len(program.instructions)):
        instruction = program.instructions[at]
        if not instruction.operation.startswith("jump_"):
            continue
        for target in range(start, len(program.instructions)):
            if target in (instruction.target, at + 1):
                continue
            instructions = [*program.instructions]
            instructions[at] = replace(instruction, target=target)
            assert is_refused(module, replace(program, instructions=tuple(instructions))), target
        return
