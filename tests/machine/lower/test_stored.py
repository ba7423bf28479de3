"""Programs that store the bytes of their memories, as baked ones do, are proved as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from curta.errors import ProofError
from curta.machine.core_program import CoreProgram
from curta.machine.instructions import MEMORY_PAGES, CoreInstruction
from curta.machine.loaded import LoadedProgram
from curta.machine.lower import lower
from curta.machine.proof import prove
from curta.machine.stored import with_stores
from curta.machine.wasm import MAX_PAGES
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import Module
from curta.machine.wasm.text import assemble
from tests.machine.lower.core_run import CoreInstance

EMPTY = """(module (memory 0 5) (table 2 funcref) (elem (i32.const 0) $f)
  (func $f (export "f") (result i32) (memory.size))
  (func (export "g") (result i32) (i32.load (i32.const 4096))))"""
BYTES = """(module (memory 1 5) (global $g (mut i32) (i32.const 7))
  (data (i32.const 65533) "abc") (data (i32.const 1) "\\01\\02")
  (func (export "f") (result i32) (i32.load (i32.const 65532)))
  (func (export "g") (result i32) (i32.load16_u (global.get $g))))"""


def check(module: Module, program: CoreProgram) -> None:
    prompt = LoadedProgram.from_core(program).prompt()
    for verdict in prove(module, program, prompt, MAX_PAGES):
        assert verdict.refused is None


@pytest.mark.parametrize(
    ("text", "f", "g"), [(EMPTY, 0, "out of bounds memory access"), (BYTES, 0x63626100, 0)]
)
def test_stored_programs_are_proved_and_do_the_same(text: str, f: int, g: object) -> None:
    module = decode(assemble(text))
    program = with_stores(lower(module))
    assert program.segments == ()
    check(module, program)
    instance = CoreInstance(program)
    assert instance.invoke("f") == (f,)
    assert instance.invoke("g") == (g if isinstance(g, str) else (g,))


@pytest.mark.parametrize("text", [EMPTY, BYTES])
def test_another_store_is_refused(text: str) -> None:
    """A word, an address or a size that is another one, or is not there."""
    module = decode(assemble(text))
    right = with_stores(lower(module))
    first = right.instructions[2].target
    tried = 0
    for at in range(first, len(right.instructions) - 1):
        one = right.instructions[at]
        if one.d == MEMORY_PAGES and (one.immediate or text == BYTES):
            continue  # all stores are within anyway; and a size that is not 0 is set later
        for other in (
            replace(one, immediate=one.immediate + 4),
            CoreInstruction("jump", target=at + 1),
        ):
            if other.operation == "jump" and one.operation == "copy" and one.d != MEMORY_PAGES:
                continue  # the word may be that of the store before
            instructions = (*right.instructions[:at], other, *right.instructions[at + 1 :])
            with pytest.raises(ProofError):
                check(module, replace(right, instructions=instructions))
            tried += 1
    assert tried >= 4
