"""The table of opcodes: one row says all about an instruction.

Everything that handles instructions reads this table: decoder, encoder, validator, text format,
interpreter, lowering and proof. What control, variables and memory do is in `execute`. Instructions
whose operand types depend on more than the opcode have no signature here; the validator has a rule
for each.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Literal, get_args

from curta.machine.wasm import numeric
from curta.machine.wasm.floats import F32, F64, Format
from curta.machine.wasm.numeric import Meaning, to_signed

ValueType = Literal["i32", "i64", "f32", "f64"]
VALUE_TYPES: dict[int, ValueType] = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64"}
VALUE_TYPE_CODES = {name: code for code, name in VALUE_TYPES.items()}
BITS: dict[ValueType, int] = {"i32": 32, "i64": 64, "f32": 32, "f64": 64}
FORMATS: dict[ValueType, Format] = {"f32": F32, "f64": F64}
Space = Literal["label", "local", "func", "type", "table", "memory", "global", "data", "elem"]
"""What an index can count."""


class Immediates(Enum):
    """What follows an opcode in the code, which becomes the operands of the Instruction."""

    INDICES = auto()  # those of the row but for memories, as there is only one
    ZERO_BYTE = auto()  # (), where others have the index of a memory
    BLOCK = auto()  # (block type, index of the instruction where the construct goes on)
    ELSE = auto()  # (index of the matching end,)
    END = auto()
    LABELS = auto()  # (depths, default depth)
    ACCESS = auto()  # (log2 of the alignment, offset)
    INTEGER = auto()  # (value,), as an unsigned bit pattern
    FLOAT = auto()


@dataclass(frozen=True, slots=True)
class Signature:
    """What an instruction pops (the last one first) and pushes."""

    parameters: tuple[ValueType, ...]
    results: tuple[ValueType, ...]


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row. Two-byte opcodes have the code 0xFC00 + second number."""

    name: str
    code: int
    immediates: Immediates = Immediates.INDICES
    indices: tuple[Space, ...] = ()
    signature: Signature | None = None
    meaning: Meaning | None = None
    """Of numeric instructions: the bit pattern of the result from those of the operands."""
    width: int = 0
    """Bytes that a load or a store touches."""
    signed: bool = False
    """Whether a load extends the sign."""

    @property
    def parameters(self) -> tuple[ValueType, ...]:
        return self.signature.parameters if self.signature else ()

    @property
    def results(self) -> tuple[ValueType, ...]:
        return self.signature.results if self.signature else ()

    @property
    def bits(self) -> int:
        """Of the number that it gives."""
        return BITS[self.results[0]]


# Code, name, what follows it, and what it pops and pushes.
_STEPS = """
00 unreachable | 01 nop | 02 block BLOCK | 03 loop BLOCK | 04 if BLOCK | 05 else ELSE | 0B end END
0C br label | 0D br_if label | 0E br_table LABELS | 0F return
10 call func | 11 call_indirect type table | 1A drop | 1B select
20 local.get local | 21 local.set local | 22 local.tee local
23 global.get global | 24 global.set global
3F memory.size ZERO_BYTE memory : -> i32 | 40 memory.grow ZERO_BYTE memory : i32 -> i32
41 i32.const INTEGER : -> i32 | 42 i64.const INTEGER : -> i64
43 f32.const FLOAT : -> f32 | 44 f64.const FLOAT : -> f64
FC08 memory.init data memory : i32 i32 i32 ->
FC09 data.drop data : ->
FC0A memory.copy memory memory : i32 i32 i32 ->
FC0B memory.fill memory : i32 i32 i32 ->
FC0C table.init elem table : i32 i32 i32 ->
FC0D elem.drop elem : ->
FC0E table.copy table table : i32 i32 i32 ->
"""

# The first code, and from there on names with the bytes that they touch.
_ACCESSES = """
28 i32.load 4 | i64.load 8 | f32.load 4 | f64.load 8 | i32.load8_s 1 | i32.load8_u 1
2E i32.load16_s 2 | i32.load16_u 2 | i64.load8_s 1 | i64.load8_u 1 | i64.load16_s 2
33 i64.load16_u 2 | i64.load32_s 4 | i64.load32_u 4
36 i32.store 4 | i64.store 8 | f32.store 4 | f64.store 8 | i32.store8 1 | i32.store16 2
3C i64.store8 1 | i64.store16 2 | i64.store32 4
"""

# The code, and the name in parts; numbers with and without a sign have a code each.
_CONVERSIONS = """
A7 i32 wrap i64 | A8 i32 trunc f32 _s _u | AA i32 trunc f64 _s _u | AC i64 extend i32 _s _u
AE i64 trunc f32 _s _u | B0 i64 trunc f64 _s _u | B2 f32 convert i32 _s _u
B4 f32 convert i64 _s _u | B6 f32 demote f64 | B7 f64 convert i32 _s _u
B9 f64 convert i64 _s _u | BB f64 promote f32 | BC i32 reinterpret f32
BD i64 reinterpret f64 | BE f32 reinterpret i32 | BF f64 reinterpret i64
FC00 i32 trunc_sat f32 _s _u | FC02 i32 trunc_sat f64 _s _u
FC04 i64 trunc_sat f32 _s _u | FC06 i64 trunc_sat f64 _s _u
"""
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "gt": operator.gt,
    "le": operator.le,
    "ge": operator.ge,
}


def _signature(text: str) -> Signature:
    names: dict[str, ValueType] = {name: name for name in BITS}
    parameters, results = (tuple(names[w] for w in side.split()) for side in text.split("->"))
    return Signature(parameters, results)


def _steps() -> Iterator[Opcode]:
    spaces: dict[str, Space] = {space: space for space in get_args(Space)}
    for entry in _STEPS.strip().replace("\n", "|").split("|"):
        head, _, types = entry.partition(":")
        code, name, *following = head.split()
        kinds = [word for word in following if word.isupper()] or ["INDICES"]
        indices = tuple(spaces[word] for word in following if word.islower())
        signature = _signature(types) if types else None
        yield Opcode(name, int(code, 16), Immediates[kinds[0]], indices, signature)


def _accesses() -> Iterator[Opcode]:
    for line in _ACCESSES.strip().splitlines():
        code, entries = line.split(maxsplit=1)
        for place, entry in enumerate(entries.split("|"), int(code, 16)):
            name, width = entry.split()
            signature = _signature(
                f"i32 {name[:3]} ->" if ".store" in name else f"i32 -> {name[:3]}"
            )
            kind, signed = Immediates.ACCESS, name.endswith("_s")
            yield Opcode(name, place, kind, (), signature, None, int(width), signed)


# -- numeric instructions -------------------------------------------------------------------------


def _numeric(code: int, prefix: str, types: str, meanings: Mapping[str, Meaning]) -> list[Opcode]:
    """Rows that have this code and the following ones."""
    return [
        Opcode(prefix + name, number, signature=_signature(types), meaning=meaning)
        for number, (name, meaning) in enumerate(meanings.items(), code)
    ]


def _integer_tests(type_: ValueType, code: int) -> list[Opcode]:
    found: dict[str, Meaning] = {}
    for name, test in _TESTS.items():
        signed: Meaning = partial(numeric.compare_signed, BITS[type_], test)
        unsigned: Meaning = partial(numeric.compare_unsigned, test)
        if name in ("eq", "ne"):
            found[name] = unsigned
        else:
            found |= {f"{name}_s": signed, f"{name}_u": unsigned}
    return [
        *_numeric(code, f"{type_}.", f"{type_} -> i32", {"eqz": lambda a: int(a == 0)}),
        *_numeric(code + 1, f"{type_}.", f"{type_} {type_} -> i32", found),
    ]


def _integer_results(type_: ValueType, code: int, extensions: int) -> list[Opcode]:
    bits = BITS[type_]
    size = 1 << bits
    counts: dict[str, Meaning] = {
        "clz": lambda a: bits - a.bit_length(),
        "ctz": lambda a: (a & -a).bit_length() - 1 if a else bits,
        "popcnt": lambda a: a.bit_count(),
    }
    arithmetic: dict[str, Meaning] = {
        "add": lambda a, b: (a + b) % size,
        "sub": lambda a, b: (a - b) % size,
        "mul": lambda a, b: a * b % size,
        "div_s": partial(numeric.divide_signed, bits),
        "div_u": numeric.divide_unsigned,
        "rem_s": partial(numeric.remainder_signed, bits),
        "rem_u": numeric.remainder_unsigned,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "shl": lambda a, b: (a << b % bits) % size,
        "shr_s": lambda a, b: (to_signed(a, bits) >> b % bits) % size,
        "shr_u": lambda a, b: a >> b % bits,
        "rotl": partial(numeric.rotate_left, bits),
        "rotr": lambda a, b: numeric.rotate_left(bits, a, -b),
    }
    extended: dict[str, Meaning] = {
        f"extend{few}_s": partial(numeric.extend, few, bits, True)
        for few in (8, 16, 32)
        if few < bits
    }
    return [
        *_numeric(code, f"{type_}.", f"{type_} -> {type_}", counts),
        *_numeric(code + 3, f"{type_}.", f"{type_} {type_} -> {type_}", arithmetic),
        *_numeric(extensions, f"{type_}.", f"{type_} -> {type_}", extended),
    ]


def _float_tests(type_: ValueType, code: int) -> list[Opcode]:
    form = FORMATS[type_]
    found = {name: partial(numeric.compare, form, test) for name, test in _TESTS.items()}
    return _numeric(code, f"{type_}.", f"{type_} {type_} -> i32", found)


def _float_results(type_: ValueType, code: int) -> list[Opcode]:
    form = FORMATS[type_]
    magnitude = form.sign - 1

    def computed(compute: Callable[..., float]) -> Meaning:
        return partial(numeric.arithmetic, form, compute)

    of_one: dict[str, Meaning] = {
        "abs": lambda a: a & magnitude,
        "neg": lambda a: a ^ form.sign,
        "ceil": computed(partial(numeric.rounded_by, math.ceil)),
        "floor": computed(partial(numeric.rounded_by, math.floor)),
        "trunc": computed(partial(numeric.rounded_by, math.trunc)),
        "nearest": computed(partial(numeric.rounded_by, round)),
        "sqrt": computed(numeric.square_root),
    }
    of_two: dict[str, Meaning] = {
        "add": computed(operator.add),
        "sub": computed(operator.sub),
        "mul": computed(operator.mul),
        "div": computed(numeric.divide),
        "min": computed(numeric.minimum),
        "max": computed(numeric.maximum),
        "copysign": lambda a, b: a & magnitude | b & form.sign,
    }
    return [
        *_numeric(code, f"{type_}.", f"{type_} -> {type_}", of_one),
        *_numeric(code + 7, f"{type_}.", f"{type_} {type_} -> {type_}", of_two),
    ]


def _conversions() -> Iterator[Opcode]:
    meanings: dict[str, Meaning] = {
        "wrap": numeric.wrap,
        "extend": numeric.extend,
        "trunc": numeric.truncate,
        "trunc_sat": numeric.saturate,
        "convert": numeric.convert,
        "demote": numeric.change_format,
        "promote": numeric.change_format,
        "reinterpret": numeric.reinterpret,
    }
    sizes: dict[str, object] = {name: FORMATS.get(name, bits) for name, bits in BITS.items()}
    for entry in _CONVERSIONS.strip().replace("\n", "|").split("|"):
        code, target, verb, source, *signs = entry.split()
        meaning = partial(meanings[verb], sizes[source], sizes[target])
        signed = {"_s": partial(meaning, True), "_u": partial(meaning, False)}
        name, types = f"{target}.{verb}_{source}", f"{source} -> {target}"
        yield from _numeric(int(code, 16), name, types, signed if signs else {"": meaning})


# -- the table ------------------------------------------------------------------------------------


def _rows() -> Iterator[Opcode]:
    yield from _steps()
    yield from _accesses()
    yield from _integer_tests("i32", 0x45)
    yield from _integer_tests("i64", 0x50)
    yield from _float_tests("f32", 0x5B)
    yield from _float_tests("f64", 0x61)
    yield from _integer_results("i32", 0x67, 0xC0)
    yield from _integer_results("i64", 0x79, 0xC2)
    yield from _float_results("f32", 0x8B)
    yield from _float_results("f64", 0x99)
    yield from _conversions()


OPCODES: dict[str, Opcode] = {row.name: row for row in _rows()}
BY_CODE: dict[int, Opcode] = {row.code: row for row in OPCODES.values()}
NUMERIC: dict[str, Meaning] = {row.name: row.meaning for row in OPCODES.values() if row.meaning}
MEMORY_ACCESSES: dict[str, Opcode] = {name: row for name, row in OPCODES.items() if row.width}
MARKERS = frozenset({"block", "loop", "else", "end", "nop"})
"""Instructions that do nothing when they are reached, and are not counted."""
SEGMENT_USERS: dict[str, str] = {
    name: row.indices[0] for name, row in OPCODES.items() if {"data", "elem"} & {*row.indices}
}
"""Instructions that refer to a segment, and of what kind it is."""


def unsupported_code(code: int) -> str | None:
    """The feature that a code belongs to which is not in the table, if a known one."""
    if code > 0xFF:
        return "reference types" if 0xFC0F <= code <= 0xFC11 else None
    for feature, codes in _UNSUPPORTED_CODES.items():
        if code in codes:
            return feature
    return None


_UNSUPPORTED_CODES: dict[str, tuple[int, ...]] = {
    "reference types": (0x1C, 0x25, 0x26, 0xD0, 0xD1, 0xD2),
    "tail calls": (0x12, 0x13),
    "typed function references": (0x14, 0x15, 0xD4, 0xD5, 0xD6),
    "exceptions": (0x06, 0x07, 0x08, 0x09, 0x0A, 0x18, 0x19, 0x1F),
    "garbage collection": (0xD3, 0xFB),
    "SIMD": (0xFD,),
    "threads": (0xFE,),
}


def unsupported_name(name: str) -> str | None:
    """The feature that an instruction of the text format belongs to, if a known one."""
    for feature, prefixes in _UNSUPPORTED_NAMES.items():
        if name.startswith(prefixes):
            return feature
    return None


_UNSUPPORTED_NAMES: dict[str, tuple[str, ...]] = {
    "typed function references": ("call_ref", "return_call_ref", "br_on_n", "ref.as_non_null"),
    "garbage collection": (
        *("struct.", "array.", "i31.", "ref.i31", "ref.test", "ref.cast", "br_on_cast", "ref.eq"),
        *("any.", "extern."),
    ),
    "reference types": ("table.", "ref."),
    "tail calls": ("return_call",),
    "exceptions": ("throw", "try", "catch", "delegate", "rethrow"),
    "SIMD": ("v128.", "i8x16.", "i16x8.", "i32x4.", "i64x2.", "f32x4.", "f64x2."),
    "threads": ("memory.atomic", "atomic.", "i32.atomic", "i64.atomic"),
    "wide arithmetic": ("i64.add128", "i64.sub128", "i64.mul_wide"),
}
