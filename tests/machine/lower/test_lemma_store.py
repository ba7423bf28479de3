"""What was proved once is known again in another program, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from curta.machine.instructions import CoreInstruction
from curta.machine.loaded import LoadedProgram
from curta.machine.lower import lower
from curta.machine.proof import LemmaStore, prove
from curta.machine.proof.lemma_store import fingerprint
from curta.machine.proof.modules import Sources, shared_registers, user_module
from curta.machine.proof.simulate import FunctionProof
from curta.machine.proof.target import Target
from curta.machine.wasm import MAX_PAGES
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import FunctionType
from curta.machine.wasm.text import assemble

COUNTED = """(func $other (param i32) (result i32) (i32.mul (local.get 0) (i32.const 7)))
  (func $counted (export "counted") (param i32) (result i32) (local i32)
    (loop $again
      (local.set 1 (i32.add (local.get 1) (call $other (local.get 0))))
      (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
    (local.get 1))"""
ALONE = f"(module {COUNTED})"
BEHIND = f"""(module
  (func $first (export "first") (param i64) (result i64) (i64.mul (local.get 0) (local.get 0)))
  {COUNTED})"""


def taken(text: str, number: int) -> tuple[Sources, Target, int]:
    """A program as a proof sees it, and where a function begins."""
    module = decode(assemble(text))
    program = lower(module)
    user = user_module(module, program.claims, MAX_PAGES)
    starts = {at: callee for callee, at in program.claims.functions.items()}
    target = Target(program.instructions, starts, {}, tuple(shared_registers(user)))
    return Sources(user, {}), target, program.claims.functions["user", number]


def content(sources: Sources, target: Target, number: int, start: int) -> str:
    return fingerprint(sources, target, ("user", number), start, target.reached(start))


def test_a_function_is_known_in_another_program() -> None:
    (one, target, start), (other, moved, there) = taken(ALONE, 1), taken(BEHIND, 2)
    assert start != there
    assert content(one, target, 1, start) == content(other, moved, 2, there)


def test_another_function_is_not_known() -> None:
    one, target, start = taken(ALONE, 1)
    other, changed, there = taken(ALONE.replace("i32.sub", "i32.add"), 1)
    assert content(one, target, 1, start) != content(other, changed, 1, there)
    assert content(one, target, 1, start) != content(one, changed, 1, there)
    assert content(one, target, 1, start) != content(other, target, 1, start)


@pytest.mark.parametrize("field", ["operation", "a", "b", "c", "d", "immediate"])
def test_a_changed_instruction_is_not_known(field: str) -> None:
    sources, target, start = taken(ALONE, 1)
    before = content(sources, target, 1, start)
    for at in target.reached(start):
        old = target.instructions[at]
        if field == "operation" and old.operation.startswith(("jump", "return", "call")):
            continue  # other instructions are reached then
        value = getattr(old, field)
        new = replace(old, **{field: "xor" if field == "operation" else (value or 0) + 1})
        assert content(sources, changed(target, at, new), 1, start) != before


def test_a_jump_to_another_place_is_not_known() -> None:
    sources, target, start = taken(ALONE, 1)
    before = content(sources, target, 1, start)
    jumps = [at for at in target.reached(start) if target.instructions[at].target]
    assert jumps
    for at in jumps:
        old = target.instructions[at]
        new = replace(old, target=old.target + 1)
        assert content(sources, changed(target, at, new), 1, start) != before


def changed(target: Target, at: int, new: CoreInstruction) -> Target:
    instructions = (*target.instructions[:at], new, *target.instructions[at + 1 :])
    return replace(target, instructions=instructions)


def test_constants_count() -> None:
    """A number that is subtracted from is read from a shared register."""
    sources, target, start = taken(
        ALONE.replace("(local.get 0) (i32.const 1)", "(i32.const 9) (local.get 0)"), 1
    )
    (register,) = {target.instructions[at].a for at in target.reached(start)} - {*range(1 << 15)}
    with_nine = replace(target, constants={register: 9})
    assert content(sources, with_nine, 1, start) != content(sources, target, 1, start)


def test_what_a_native_instruction_takes_counts() -> None:
    """One and the same name may be an extension's, with other parameters."""
    sources, target, start = taken(
        """(module (import "curta" "carry" (func $carry (param i32 i32) (result i32)))
          (func (export "f") (param i32) (result i32)
            (call $carry (local.get 0) (local.get 0))))""",
        1,
    )
    before = content(sources, target, 1, start)
    sources.user.functions = (FunctionType(("i32",), ("i32",)), sources.user.functions[1])
    assert content(sources, target, 1, start) != before


def test_what_is_kept_is_not_proved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    lemma_store = LemmaStore(b"today")
    first = verdicts(ALONE, lemma_store)
    assert not any(verdict.refused for verdict in first)
    proved: list[object] = []
    monkeypatch.setattr(FunctionProof, "prove", lambda self: proved.append(self.callee))
    again = verdicts(BEHIND, lemma_store)
    assert proved == [("user", 0)]
    assert [verdict.lemmas for verdict in again[1:]] == [verdict.lemmas for verdict in first]
    verdicts(ALONE, LemmaStore(b"another proof"))
    assert len(proved) == 3


def verdicts(text: str, lemma_store: LemmaStore) -> tuple:  # type: ignore[type-arg]
    module = decode(assemble(text))
    program = lower(module)
    prompt = LoadedProgram.from_core(program).prompt()
    return prove(module, program, prompt, MAX_PAGES, lemma_store=lemma_store)
