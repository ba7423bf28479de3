"""Extensions through all layers: C and text, lowering, prompt, weights, trace, wasmtime."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from curta import Machine
from curta.errors import LinkError, UserError
from curta.machine.extensions import Extension, built_in, find_extension
from curta.machine.extensions.byte_swap import BYTE_SWAP
from curta.machine.instructions import WORD
from curta.machine.listing import executed
from curta.machine.load import load_program
from curta.machine.loaded import LoadedProgram
from curta.machine.parts.words import from_digits
from curta.machine.prompt import decode_prompt
from curta.machine.run import MachineLevel
from curta.machine.wasm.text import assemble
from curta.machine.weights import graph_digest

SWAPS = """
__attribute__((import_module("curta"), import_name("byte_swap"))) unsigned byte_swap(unsigned);
__attribute__((import_module("curta"), import_name("blend")))
unsigned blend(unsigned, unsigned, unsigned);
unsigned blended(unsigned x) { return blend(x, 0x55667788, x * 3); }
unsigned swapped(unsigned x) { return byte_swap(x); }
unsigned constant(void) { return byte_swap(0x12345678); }
unsigned folded(unsigned x) { unsigned y = 0; while (x) { y ^= byte_swap(x); x >>= 3; } return y; }
static unsigned (*volatile pointer)(unsigned) = byte_swap;
unsigned called(unsigned x) { return pointer(x); }
"""
WORDS = [0, 1, 0x12345678, 0xFF000080, WORD - 1]
BLEND = Extension(
    "blend",
    3,
    lambda sources: from_digits(
        (*sources.a.bytes[:1], *sources.b.bytes[1:2], *sources.c.bytes[2:]), 256
    ),
    lambda a, b, c: a & 0xFF | b & 0xFF00 | c & 0xFFFF0000,
)
BLENDS = assemble("""(module
  (import "curta" "blend" (func $blend (param i32 i32 i32) (result i32)))
  (func (export "all") (param i32 i32 i32) (result i32)
    (call $blend (local.get 0) (local.get 1) (local.get 2)))
  (func (export "constants") (param i32) (result i32)
    (call $blend (i32.const 0x11223344) (i32.const 0x55667788) (local.get 0)))
  (func (export "same") (param i32) (result i32)
    (call $blend (local.get 0) (i32.const 0) (local.get 0))))""")


def swapped(word: int) -> int:
    return int.from_bytes(word.to_bytes(4, "big"), "little")


def folded(word: int) -> int:
    total = 0
    while word:
        total ^= swapped(word)
        word >>= 3
    return total


def tokens(level: MachineLevel, source: Path) -> list[str]:
    instance = Machine(level, extensions=[BYTE_SWAP, BLEND]).instantiate(source)
    for word in WORDS:
        low, high = word & 0xFF, 3 * word & 0xFFFF0000
        assert instance.invoke_bits("blended", [word]) == [high | 0x7700 | low]
        assert instance.invoke_bits("swapped", [word]) == [swapped(word)]
        assert instance.invoke_bits("folded", [word]) == [folded(word)]
        assert instance.invoke_bits("called", [word]) == [swapped(word)]
    assert instance.invoke_bits("constant") == [0x78563412]
    said = instance.conversation.said()
    text = "\n".join(executed(instance.conversation.program, said))
    assert "= byte_swap r" in text
    return list(instance.trace)


@pytest.mark.slow
def test_a_c_program_uses_it_in_the_weights(tmp_path: Path) -> None:
    source = tmp_path / "swaps.c"
    source.write_text(SWAPS)
    expected = tokens("reference", source)
    assert tokens("native", source) == expected
    assert "byte_swap#" in expected
    assert "blend#" in expected


def test_three_sources_and_constants_among_them() -> None:
    instance = Machine("reference", extensions=[BLEND]).instantiate(BLENDS)
    assert instance.invoke_bits("all", [0x01020304, 0x05060708, 0x090A0B0C]) == [0x090A0704]
    assert instance.invoke_bits("constants", [0xAABBCCDD]) == [0xAABB7744]
    assert instance.invoke_bits("same", [0xAABBCCDD]) == [0xAABB00DD]


def test_a_call_is_one_instruction() -> None:
    program = load_program(BLENDS, extensions=[BLEND])
    used = [program.instruction(number) for number in range(len(program))]
    assert [one.operation for one in used].count("blend") == 3
    again = LoadedProgram.from_bytes(program.to_bytes())
    assert again.operations[-1] == "blend"
    assert again.core_program() == program.core_program()
    assert decode_prompt(program.prompt(), program.operations).instructions == tuple(used)


@pytest.mark.parametrize("name", ["sum", "ite", "not", "extension", "symbol", "get", "junk"])
def test_a_name_means_nothing_to_lowering_and_proof(name: str) -> None:
    """Whatever else is called so within."""
    turned = Extension(name, 1, lambda sources: sources.a.number, lambda a: a ^ 0xFF)
    text = f"""(module (import "curta" "{name}" (func $turned (param i32) (result i32)))
      (func (export "f") (param i32) (result i32)
        (i32.add (call $turned (local.get 0)) (i32.eqz (call $turned (local.get 0))))))"""
    machine = Machine("reference", extensions=[turned])
    instance = machine.instantiate(assemble(text))
    assert instance.invoke("f", 0xFF) == 1
    assert instance.invoke("f", 1) == 0xFE


def test_machines_without_it_say_which_has_it() -> None:
    text = '(module (import "curta" "byte_swap" (func (param i32{}) (result i32))))'
    remedy = r"Machine\(extensions=\[BYTE_SWAP\]\).*--extension byte_swap"
    with pytest.raises(LinkError, match=remedy):
        Machine("reference").instantiate(assemble(text.format("")))
    with pytest.raises(LinkError, match="machines can have others as extensions"):
        Machine("reference", extensions=[BYTE_SWAP]).instantiate(BLENDS)
    mine = Extension("write", 1, BYTE_SWAP.result, BYTE_SWAP.meaning)
    with pytest.raises(LinkError, match="give the extension another name"):
        Machine("reference", extensions=[mine]).instantiate(
            assemble('(module (import "curta" "write" (func (param i32) (result i32))))')
        )
    wrong = assemble(text.format(" i32"))
    with pytest.raises(LinkError, match="incompatible import type"):
        Machine("reference", extensions=[BYTE_SWAP]).instantiate(wrong)


def test_what_makes_no_extension() -> None:
    for name, parameters, text in (
        ("add", 2, "a token of every machine"),
        ("start", 2, "a token of every machine"),
        ("two words", 2, "no identifier"),
        ("wide", 4, "one, two or three sources"),
    ):
        with pytest.raises(UserError, match=text):
            Extension(name, parameters, BYTE_SWAP.result, BYTE_SWAP.meaning)
    with pytest.raises(UserError, match="two extensions are named byte_swap"):
        Machine("reference", extensions=[BYTE_SWAP, BYTE_SWAP])
    with pytest.raises(UserError, match="is no Extension"):
        Machine("reference", extensions=["byte_swap"])  # type: ignore[list-item]


def test_extensions_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in built_in():
        assert find_extension(name).name == name
    (tmp_path / "halves_of_mine.py").write_text(
        "from dataclasses import replace\n"
        "from curta.machine.extensions.byte_swap import BYTE_SWAP\n"
        'MINE = replace(BYTE_SWAP, name="mine")\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert find_extension("halves_of_mine:MINE").name == "mine"
    for text in ("nothing", "halves_of_mine:YOURS", "no_such_module:X", "os:path"):
        with pytest.raises(UserError, match=f"extension '?{text}"):
            find_extension(text)


@pytest.mark.skipif(not importlib.util.find_spec("wasmtime"), reason="wasmtime is not installed")
def test_wasmtime_gets_it_from_the_host() -> None:
    from curta.machine.verify.on_wasmtime import run_on_wasmtime

    module = assemble("""(module
      (import "curta" "byte_swap" (func $swap (param i32) (result i32)))
      (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
      (memory (export "memory") 1)
      (func (export "_start")
        (call $exit (i32.eq (call $swap (i32.const 0x123456FF)) (i32.const 0xFF563412)))))""")
    assert run_on_wasmtime(module, ["x"], {}, b"", [BYTE_SWAP]).exit_code == 1
    run = Machine("reference", extensions=[BYTE_SWAP]).run(module)
    assert run.exit_code == 1


def test_weights_are_kept_by_what_extensions_build() -> None:
    assert graph_digest([BYTE_SWAP]) == graph_digest([BYTE_SWAP])
    assert len({graph_digest([]), graph_digest([BYTE_SWAP]), graph_digest([BLEND])}) == 3
