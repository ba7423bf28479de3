"""The text format: what wasmtime reads is what a module means here, or it is refused by name."""

from __future__ import annotations

import pytest

from curta.errors import TextFormatError, UnsupportedFeatureError
from curta.machine.wasm.text import assemble, parse_text

REFUSED = {
    "open": ("(module\n (func)", "expected `)`", 2, 8),
    "string": ('(memory 1)\n(data "abc)', "unexpected end-of-file", 2, 12),
    "instruction": ("(func\n  i32.const 1\n  i32.plus)", "unknown operator", 3, 3),
    "number": ("(func (drop (i32.const 4294967296)))", "invalid i32 number", 1, 24),
    "label": ("(func (br $x))", "unknown label", 1, 11),
    "duplicate": ("(func $f)\n(func $f)", "duplicate func identifier", 2, 7),
    "two modules": ("(module) (module)", "extra tokens remaining after parse", 1, 10),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said_with_its_place(name: str) -> None:
    text, wording, line, column = REFUSED[name]
    with pytest.raises(TextFormatError) as caught:
        assemble(text)
    assert str(caught.value).startswith(wording)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "\n" not in str(caught.value)


UNSUPPORTED = {
    "(func (param v128))": "SIMD",
    "(func (v128.const i32x4 0 0 0 0) drop)": "SIMD",
    "(memory 1 1 shared)": "threads",
    "(memory i64 1)": "memory64",
    "(tag (param i32))": "exceptions",
    "(func return_call 0)": "tail calls",
    "(func (param externref))": "reference types",
    "(table 1 externref)": "reference types",
    "(func (drop (ref.null func)))": "reference types",
    "(rec (type (func)))": "garbage collection",
    "(type (struct))": "garbage collection",
    "(type (func)) (func (param (ref null 0)) (call_ref 0 (local.get 0)))": "reference types",
}


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_unsupported_features_are_named(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"^{UNSUPPORTED[text]}: "):
        parse_text(text)


def test_names_are_kept_for_messages() -> None:
    module = parse_text("(module (func $sum (param $a i32)))")
    assert module.function_name(0) == "0 ($sum)"


def test_a_text_may_hold_a_binary_or_fields_only() -> None:
    assert assemble('(module binary "\\00asm" "\\01\\00\\00\\00")') == assemble("(module)")
    fields = '(func (export "f"))'
    assert assemble(fields) == assemble(f"(module {fields})")


def test_nesting_has_no_limit() -> None:
    """Texts come from strangers, too."""
    deep = 100_000
    assert len(assemble(f"(func {'(block ' * deep}{')' * deep})")) > 3 * deep
    with pytest.raises(TextFormatError):
        assemble("(" * deep)
