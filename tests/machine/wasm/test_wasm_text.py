"""The text format: what it means, what is refused and where, and agreement with wasmtime."""

from __future__ import annotations

import struct
from random import Random

import pytest
import wasmtime

from curta.errors import ModuleError, TextFormatError, UnsupportedFeatureError
from curta.machine.wasm import FunctionType, assemble, decode, encode, parse_text
from curta.machine.wasm.floats import F32, F64, from_ratio
from curta.machine.wasm.module import Module
from curta.machine.wasm.text_numbers import OutOfRangeError, parse_float, parse_integer
from tests.machine.wasm.c_programs import compile_freestanding
from tests.machine.wasm.oracle import Wasmtime, make_engine
from tests.machine.wasm.wasm_cases import CASES

# Each pair means the same.
SAME = {
    "folded": (
        "(func (result i32) (i32.add (i32.const 1) (i32.mul (i32.const 2) (i32.const 3))))",
        "(func (result i32) i32.const 1 i32.const 2 i32.const 3 i32.mul i32.add)",
    ),
    "folded if": (
        "(func (if (i32.const 1) (i32.const 2) (drop) (then nop) (else (nop) nop)))",
        "(func i32.const 1 i32.const 2 drop if nop else nop nop end)",
    ),
    "mixed": (
        "(func block (loop br 0 end) (br 0) end)".replace("end) ", ") "),
        "(func block loop br 0 end br 0 end)",
    ),
    "labels": (
        "(func (block $a (block $b (br $a) (block $a (br $a) (br $b)))))",
        "(func (block (block (br 1) (block (br 0) (br 1)))))",
    ),
    "repeated labels": (
        "(func i32.const 0 if $x nop else $x nop end $x)",
        "(func i32.const 0 if nop else nop end)",
    ),
    "names": (
        "(func $g (param $a i32) (local $b i64) (drop (local.get $b)) (call $f)) (func $f)",
        "(func $g (param i32) (local i64) (drop (local.get 1)) (call 1)) (func $f)",
    ),
    "inline types": (
        "(func (param i32) (result i32) unreachable) (func (param i32) (result i32) unreachable)",
        "(type (func (param i32) (result i32))) (func (type 0) unreachable) (func (type 0) "
        "unreachable)",
    ),
    "types behind": (
        "(func (param i64)) (type (func))",
        "(type (func)) (type (func (param i64))) (func (type 1))",
    ),
    "type and inline": (
        "(type (func (param i32))) (func (type 0) (param $x i32) (drop (local.get $x)))",
        "(type (func (param i32))) (func (type 0) (drop (local.get 0)))",
    ),
    "block with type": (
        "(func (block (result i32 i32) unreachable) drop drop)",
        "(type (func)) (type (func (result i32 i32))) (func (block (type 1) unreachable) "
        "drop drop)",
    ),
    "inline import": (
        '(func $f (export "x") (import "a" "b") (param i32)) (memory (import "a" "m") 1)',
        '(type (func (param i32))) (import "a" "b" (func $f (type 0))) '
        '(import "a" "m" (memory 1)) (export "x" (func 0))',
    ),
    "inline data": (
        '(memory (data "abc" "d"))',
        '(memory 1 1) (data (i32.const 0) "abcd")',
    ),
    "inline elements": (
        "(table funcref (elem $f $f)) (func $f)",
        "(table 2 2 funcref) (elem (i32.const 0) func $f $f) (func $f)",
    ),
    "element expressions": (
        "(table 1 funcref) (func $f) (elem (offset (i32.const 0)) funcref (item ref.func $f))",
        "(table 1 funcref) (func $f) (elem (table 0) (i32.const 0) $f)",
    ),
    "segment names": (
        '(memory 1) (data $d "") (data $e "") (func (data.drop $e))',
        '(memory 1) (data "") (data "") (func (data.drop 1))',
    ),
    "offset words": (
        "(memory 1) (func (drop (i64.load offset=0x10 align=4 (i32.const 0))))",
        "(memory 1) (func i32.const 0 i64.load offset=16 align=4 drop)",
    ),
    "optional indices": (
        '(table $t 1 funcref) (memory $m 1) (elem $e func) (data $d "") (func '
        "(table.init $t $e (i32.const 0) (i32.const 0) (i32.const 0)) "
        "(memory.copy 0 0 (i32.const 0) (i32.const 0) (i32.const 0)) (drop (memory.size $m)))",
        '(table 1 funcref) (memory 1) (elem func) (data "") (func '
        "(table.init 0 (i32.const 0) (i32.const 0) (i32.const 0)) "
        "(memory.copy (i32.const 0) (i32.const 0) (i32.const 0)) (drop (memory.size)))",
    ),
    "strings": (
        r'(memory 1) (data "\t\n\r\"\'\\\41\u{41}\u{20ac}é")',
        r'(memory 1) (data "\09\0a\0d\22\27\5cAA\e2\82\ac\c3\a9")',
    ),
    "binary": ('(module binary "\\00asm" "\\01\\00\\00\\00")', "(module)"),
    "quote": ('(module quote "(func (export \\"f\\"))")', '(func (export "f"))'),
    "separators": ("(func(block)(nop))(;c;)(func;;x\n)", "(func (block) nop) (func)"),
}


@pytest.mark.parametrize("name", SAME)
def test_same(name: str) -> None:
    left, right = SAME[name]
    assert parse_text(left) == parse_text(right)
    if not left.startswith("(module"):
        assert parse_text(left) == decode(wasmtime.wat2wasm(left))


REFUSED = {
    "open": ("(module (func)", "unexpected end: a parenthesis is not closed", 1, 1),
    "closed": ("(module))", "unexpected token )", 1, 9),
    "string": ('(memory 1)\n(data "abc)', "unclosed string", 2, 7),
    "escape": (r'(data "\z")', "unclosed string, or an unknown escape", 1, 7),
    "comment": ("(; (; ;)", "unexpected end: a comment is not closed", 1, 1),
    "character": ("(func é)", "unexpected character", 1, 7),
    "field": ("(func) (fnuc)", "unexpected token fnuc", 1, 8),
    "instruction": ("(func\n  i32.const 1\n  i32.plus)", "unknown operator i32.plus", 3, 3),
    "glued": ('(data "a"x)', "unknown operator: no space", 1, 10),
    "number": ("(func (drop (i32.const 0x)))", "unknown operator 0x", 1, 24),
    "underscores": ("(func (drop (i32.const 1__0)))", "unknown operator 1__0", 1, 24),
    "i32": ("(func (drop (i32.const 4294967296)))", "constant out of range", 1, 24),
    "negative i32": ("(func (drop (i32.const -2147483649)))", "constant out of range", 1, 24),
    "f32": ("(func (drop (f32.const 0x1p128)))", "constant out of range", 1, 24),
    "payload": ("(func (drop (f32.const nan:0x0)))", "constant out of range", 1, 24),
    "no number": ("(func (i32.const))", "unexpected token, a number expected", 1, 17),
    "label": ("(func (br $x))", "unknown label $x", 1, 11),
    "mismatch": ("(func block $a end $b)", "mismatching label $b", 1, 16),
    "end": ("(func block)", "unexpected end: block without end", 1, 12),
    "too many ends": ("(func end)", "unexpected token end", 1, 7),
    "else": ("(func block else end)", "unexpected token else", 1, 13),
    "folded end": ("(func (end))", "unexpected token end", 1, 7),
    "no then": ("(func (if (i32.const 1)))", "unexpected token: an if without (then", 1, 24),
    "else first": ("(func (if (i32.const 1) (else) (then)))", "unexpected token: else", 1, 30),
    "local": ("(func (local.get $x))", "unknown local $x", 1, 18),
    "global": ("(func (global.get $x))", "unknown global $x", 1, 19),
    "function": ("(func (call $x))", "unknown func $x", 1, 13),
    "type": ("(func (type $x))", "unknown type $x", 1, 13),
    "duplicate": ("(func $f)\n(func $f)", "duplicate func $f", 2, 7),
    "duplicate local": ("(func (param $x i32) (local $x i32))", "duplicate local $x", 1, 29),
    "inline type": (
        "(type (func)) (func (type 0) (param i32))",
        "inline function type: [i32] -> [] is not type 0",
        1,
        30,
    ),
    "import order": (
        '(func) (import "a" "b" (func))',
        "import after function, table, memory or global",
        1,
        29,
    ),
    "starts": ("(func) (start 0) (start 0)", "multiple start sections", 1, 25),
    "alignment": (
        "(memory 1) (func (drop (i32.load align=3 (i32.const 0))))",
        "alignment must be a power of two, not 3",
        1,
        34,
    ),
    "offset": (
        "(memory 1) (func (drop (i32.load offset=4294967296 (i32.const 0))))",
        "i32 constant out of range",
        1,
        34,
    ),
    "value type": ("(func (param int))", "unexpected token, a value type expected", 1, 14),
    "named block parameter": ("(func (block (param $x i32)))", "unexpected token: param", 1, 14),
    "result before parameter": ("(func (result i32) (param i32))", "unknown operator param", 1, 21),
    "name": ('(export "\\ff" (func 0))', "malformed UTF-8 encoding", 1, 9),
    "scalar value": ('(data "\\u{d800}")', "malformed UTF-8 encoding", 1, 7),
    "empty name": ("(func $)", "empty identifier", 1, 7),
    "behind a type": ("(type (func) (func))", "unexpected token", 1, 14),
    "two modules": ("(module) (module)", "unexpected token", 1, 10),
    "quoted": ('(module quote "(func")', "unexpected end", 1, 1),
}


READ_BY_WASMTIME = {
    **dict.fromkeys(
        ("end", "too many ends", "else", "folded end"), "its text reader counts no ends"
    ),
    "else first": "it does not ask for the order",
    "starts": "the last one counts",
    "offset": "offsets of 64 bits are read",
}
"""Texts that wasmtime turns into binaries, most of them invalid; and why."""


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, wording, line, column = REFUSED[name]
    with pytest.raises(TextFormatError) as caught:
        assemble(text)
    assert str(caught.value).startswith(wording)
    assert (caught.value.line, caught.value.column) == (line, column)
    if name not in READ_BY_WASMTIME:
        with pytest.raises(wasmtime.WasmtimeError):
            wasmtime.wat2wasm(text)


UNSUPPORTED = {
    "(func (param v128))": "SIMD",
    "(func v128.const i32x4 0 0 0 0)": "SIMD",
    "(func (i32.atomic.load (i32.const 0)))": "threads",
    "(memory 1 1 shared)": "threads",
    "(memory i64 1)": "memory64",
    "(memory 1) (memory 1) (func (drop (i32.load 1 (i32.const 0))))": "multi-memory",
    "(tag (param i32))": "exceptions",
    "(func (throw 0))": "exceptions",
    "(func return_call 0)": "tail calls",
    "(func (param externref))": "reference types",
    "(func (param (ref func)))": "reference types",
    "(table 1 externref)": "reference types",
    "(func (drop (ref.null func)))": "reference types",
    "(func (drop (select (result i32) (i32.const 1) (i32.const 1) (i32.const 1))))": (
        "reference types"
    ),
    "(rec (type (func)))": "garbage collection",
    "(type (struct))": "garbage collection",
    "(func (drop (struct.new 0)))": "garbage collection",
    "(func (call_ref 0))": "typed function references",
}


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_unsupported_features_are_named(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"^{UNSUPPORTED[text]}: "):
        assemble(text)


# -- numbers --------------------------------------------------------------------------------------


def test_floats_are_rounded_once() -> None:
    """Doubles as Python reads them; singles by exact arithmetic, on numbers near a tie."""
    random = Random(1)
    for _ in range(3000):
        pattern = random.getrandbits(64) & ~F64.sign
        if pattern >= F64.infinity:
            continue
        (number,) = struct.unpack("<d", pattern.to_bytes(8, "little"))
        digits = random.randint(1, 25)
        text = f"{number:.{digits}e}"
        assert parse_float(text, F64) == int.from_bytes(struct.pack("<d", float(text)), "little")
        assert parse_float(number.hex(), F64) == pattern
        numerator, denominator = number.as_integer_ratio()
        if 2.0**-149 < number < 2.0**127:
            assert parse_float(number.hex(), F32) == from_ratio(numerator, denominator, F32)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("1e-45", 1),
        ("7e-46", 0),
        ("7.006492321624085e-46", 0),
        ("7.006492321624086e-46", 1),
        ("1.1754943508222874e-38", 0x800000),
        ("340282356779733661637539395458142568447.9", 0x7F7FFFFF),
        ("0x1.fffffefffffffffffffp127", 0x7F7FFFFF),
        ("1e-999999999999999999999", 0),
        ("0e99999999999999999999999", 0),
        ("16777217." + "0" * 5000 + "1", 0x4B800001),
        ("16777217." + "0" * 5000, 0x4B800000),
        ("0x1000001." + "0" * 5000 + "1", 0x4B800001),
        ("-0x0.p-3", 0x80000000),
        ("+inf", 0x7F800000),
        ("-nan:0x200_000", 0xFFA00000),
        ("1.e+1_0", 0x501502F9),
    ],
)
def test_single_floats(text: str, pattern: int) -> None:
    assert parse_float(text, F32) == pattern


@pytest.mark.parametrize("text", ["340282356779733661637539395458142568448", "1e39", "0x1p128"])
def test_too_large_for_a_single_float(text: str) -> None:
    with pytest.raises(OutOfRangeError):
        parse_float(text, F32)


@pytest.mark.parametrize("text", ["", ".5", "1e", "0x", "_1", "1_", "0x1p", "nan:1", "infinity"])
def test_not_a_float(text: str) -> None:
    assert parse_float(text, F64) is None


def test_integers_of_any_length() -> None:
    assert parse_integer("0" * 9000 + "7", 32) == 7
    with pytest.raises(OutOfRangeError):
        parse_integer("9" * 9000, 64)
    assert parse_integer("+1", 32, signed=False) is None


def literal(random: Random) -> str:
    """Something like a number; most are well-formed."""
    digits = "0123456789abcdefABCDEF" if random.random() < 0.5 else "0123456789"

    def some(least: int = 1) -> str:
        text = "".join(random.choices(digits, k=random.randint(least, 12)))
        return "_".join((text[:3], text[3:])) if random.random() < 0.1 else text

    text = random.choice(("", "", "+", "-")) + random.choice(("", "0x")) + some()
    if random.random() < 0.6:
        text += "." + some(0)
    if random.random() < 0.6:
        exponent = str(random.randrange(random.choice((3, 45, 160, 400, 1100))))
        text += random.choice("eEpP") + random.choice(("", "+", "-")) + exponent
    if random.random() < 0.1:
        text = random.choice(("nan", "inf", "nan:0x", "+", "0x", text + "_")) + text
    return text


def test_numbers_mean_what_they_mean_to_wasmtime() -> None:
    random, read = Random(3), 0
    for number in range(6000):
        type_ = ("i32", "i64", "f32", "f64")[number % 4]
        text = f"(global {type_} ({type_}.const {literal(random)}))"
        mine = read_by_us(text)
        assert mine == read_by_wasmtime(text), text
        read += isinstance(mine, Module)
    assert read > 1500


def test_nesting_has_no_limit() -> None:
    depth = 30_000
    text = f"(func {'(block ' * depth}{')' * depth})"
    assert len(parse_text(text).functions[0].body) == 2 * depth + 1
    text = f"(func (result i32) {'(i32.eqz ' * depth}(i32.const 0){')' * depth})"
    assert len(parse_text(text).functions[0].body) == depth + 2


# -- changed texts --------------------------------------------------------------------------------


def changed(text: str, random: Random) -> str:
    """One word or parenthesis less, twice, moved, or another one."""
    words = text.replace("(", " ( ").replace(")", " ) ").split(" ")
    words = [word for word in words if word]
    at, other = random.randrange(len(words)), random.randrange(len(words))
    match random.randrange(4):
        case 0:
            del words[at]
        case 1:
            words.insert(at, words[other])
        case 2:
            words[at] = words[other]
        case _:
            words[at], words[other] = words[other], words[at]
    return " ".join(words)


def read_by_us(text: str) -> Module | str:
    try:
        return parse_text(text)
    except UnsupportedFeatureError:
        return "unsupported"
    except ModuleError as error:
        # wasmtime reads flat operands, and an else or end that closes nothing.
        lenient = ("operands stand in parentheses", "unexpected token e")
        return "unsupported" if any(words in str(error) for words in lenient) else "refused"


def read_by_wasmtime(text: str) -> Module | str:
    try:
        binary = wasmtime.wat2wasm(text)
    except wasmtime.WasmtimeError:
        return "refused"
    try:
        return decode(binary)
    except UnsupportedFeatureError:
        return "unsupported"
    except ModuleError:
        return "refused"


def compare_changed(seed: int, count: int) -> tuple[int, int]:
    random, read, refused = Random(seed), 0, 0
    texts = [text for text, _ in CASES.values() if len(text) > 20]
    for number in range(count):
        text = changed(texts[number % len(texts)], random)
        mine, theirs = read_by_us(text), read_by_wasmtime(text)
        if "unsupported" not in (mine, theirs):
            assert mine == theirs, text
        read += isinstance(mine, Module)
        refused += mine == "refused"
    return read, refused


def test_changed_texts() -> None:
    read, refused = compare_changed(1, 2500)
    assert read > 200
    assert refused > 1000


@pytest.mark.slow
def test_many_changed_texts() -> None:
    print(compare_changed(2, 60_000))


# -- whole programs -------------------------------------------------------------------------------


def test_what_clang_makes_is_read() -> None:
    binary = compile_freestanding("-s")
    module = decode(binary)
    assert decode(encode(module)) == module
    apply = FunctionType(("i32", "i32"), ("i32",))
    assert Wasmtime(make_engine(), encode(module)).invoke(apply, "apply", (1, 5)) == (15,)
