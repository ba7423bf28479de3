"""The table of opcodes: name, encoding, what follows it, what it pops and pushes.

Everything that handles instructions reads this table: decoder, encoder, validator, text format.
Instructions whose operand types depend on more than the opcode have no signature here; the
validator has a rule for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

ValueType = Literal["i32", "i64", "f32", "f64"]
VALUE_TYPES: dict[int, ValueType] = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64"}
VALUE_TYPE_CODES = {name: code for code, name in VALUE_TYPES.items()}


class Immediates(Enum):
    """What follows an opcode in the code, which becomes the operands of the Instruction."""

    NONE = auto()
    BLOCK = auto()  # (block type, index of the instruction where the construct goes on)
    ELSE = auto()  # (index of the matching end,)
    END = auto()
    LABEL = auto()  # (depth,)
    LABELS = auto()  # (depths, default depth)
    FUNCTION = auto()  # (function index,)
    INDIRECT = auto()  # (type index, table index)
    LOCAL = auto()  # (local index,)
    GLOBAL = auto()  # (global index,)
    ACCESS = auto()  # (log2 of the alignment, offset)
    MEMORY_BYTE = auto()  # (), a zero byte
    MEMORY = auto()  # (), the index of the only memory
    MEMORIES = auto()  # (), twice the index of the only memory
    DATA_MEMORY = auto()  # (data index,)
    DATA = auto()  # (data index,)
    ELEMENT_TABLE = auto()  # (element index, table index)
    ELEMENT = auto()  # (element index,)
    TABLES = auto()  # (destination table, source table)
    I32 = auto()  # (value,), as an unsigned bit pattern
    I64 = auto()
    F32 = auto()
    F64 = auto()


@dataclass(frozen=True, slots=True)
class Signature:
    """What an instruction pops (the last one first) and pushes."""

    parameters: tuple[ValueType, ...]
    results: tuple[ValueType, ...]


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row. Two-byte opcodes have the code 0xFC00 + second number.

    `width` is the number of bytes that a load or a store touches, otherwise 0.
    """

    name: str
    code: int
    immediates: Immediates
    signature: Signature | None = None
    width: int = 0


_SPECIAL = """
00 NONE unreachable | 01 NONE nop | 02 BLOCK block | 03 BLOCK loop | 04 BLOCK if | 05 ELSE else
0B END end | 0C LABEL br | 0D LABEL br_if | 0E LABELS br_table | 0F NONE return
10 FUNCTION call | 11 INDIRECT call_indirect | 1A NONE drop | 1B NONE select
20 LOCAL local.get | 21 LOCAL local.set | 22 LOCAL local.tee
23 GLOBAL global.get | 24 GLOBAL global.set
"""

_WITH_IMMEDIATES = """
3F MEMORY_BYTE memory.size : -> i32
40 MEMORY_BYTE memory.grow : i32 -> i32
41 I32 i32.const : -> i32
42 I64 i64.const : -> i64
43 F32 f32.const : -> f32
44 F64 f64.const : -> f64
FC08 DATA_MEMORY memory.init : i32 i32 i32 ->
FC09 DATA data.drop : ->
FC0A MEMORIES memory.copy : i32 i32 i32 ->
FC0B MEMORY memory.fill : i32 i32 i32 ->
FC0C ELEMENT_TABLE table.init : i32 i32 i32 ->
FC0D ELEMENT elem.drop : ->
FC0E TABLES table.copy : i32 i32 i32 ->
"""

_ACCESSES = """
28 i32.load 4 | i64.load 8 | f32.load 4 | f64.load 8 | i32.load8_s 1 | i32.load8_u 1
2E i32.load16_s 2 | i32.load16_u 2 | i64.load8_s 1 | i64.load8_u 1 | i64.load16_s 2
33 i64.load16_u 2 | i64.load32_s 4 | i64.load32_u 4
36 i32.store 4 | i64.store 8 | f32.store 4 | f64.store 8 | i32.store8 1 | i32.store16 2
3C i64.store8 1 | i64.store16 2 | i64.store32 4
"""

# First code, signature, and the names of that and the following codes.
_PLAIN = """
45 i32 -> i32 : i32.eqz
46 i32 i32 -> i32 : i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u
4E i32 i32 -> i32 : i32.ge_s i32.ge_u
50 i64 -> i32 : i64.eqz
51 i64 i64 -> i32 : i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u
59 i64 i64 -> i32 : i64.ge_s i64.ge_u
5B f32 f32 -> i32 : f32.eq f32.ne f32.lt f32.gt f32.le f32.ge
61 f64 f64 -> i32 : f64.eq f64.ne f64.lt f64.gt f64.le f64.ge
67 i32 -> i32 : i32.clz i32.ctz i32.popcnt
6A i32 i32 -> i32 : i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u i32.and
72 i32 i32 -> i32 : i32.or i32.xor i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr
79 i64 -> i64 : i64.clz i64.ctz i64.popcnt
7C i64 i64 -> i64 : i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u i64.and
84 i64 i64 -> i64 : i64.or i64.xor i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr
8B f32 -> f32 : f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt
92 f32 f32 -> f32 : f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign
99 f64 -> f64 : f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt
A0 f64 f64 -> f64 : f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign
A7 i64 -> i32 : i32.wrap_i64
A8 f32 -> i32 : i32.trunc_f32_s i32.trunc_f32_u
AA f64 -> i32 : i32.trunc_f64_s i32.trunc_f64_u
AC i32 -> i64 : i64.extend_i32_s i64.extend_i32_u
AE f32 -> i64 : i64.trunc_f32_s i64.trunc_f32_u
B0 f64 -> i64 : i64.trunc_f64_s i64.trunc_f64_u
B2 i32 -> f32 : f32.convert_i32_s f32.convert_i32_u
B4 i64 -> f32 : f32.convert_i64_s f32.convert_i64_u
B6 f64 -> f32 : f32.demote_f64
B7 i32 -> f64 : f64.convert_i32_s f64.convert_i32_u
B9 i64 -> f64 : f64.convert_i64_s f64.convert_i64_u
BB f32 -> f64 : f64.promote_f32
BC f32 -> i32 : i32.reinterpret_f32
BD f64 -> i64 : i64.reinterpret_f64
BE i32 -> f32 : f32.reinterpret_i32
BF i64 -> f64 : f64.reinterpret_i64
C0 i32 -> i32 : i32.extend8_s i32.extend16_s
C2 i64 -> i64 : i64.extend8_s i64.extend16_s i64.extend32_s
FC00 f32 -> i32 : i32.trunc_sat_f32_s i32.trunc_sat_f32_u
FC02 f64 -> i32 : i32.trunc_sat_f64_s i32.trunc_sat_f64_u
FC04 f32 -> i64 : i64.trunc_sat_f32_s i64.trunc_sat_f32_u
FC06 f64 -> i64 : i64.trunc_sat_f64_s i64.trunc_sat_f64_u
"""


def _value_types(words: str) -> tuple[ValueType, ...]:
    names: dict[str, ValueType] = {name: name for name in VALUE_TYPES.values()}
    return tuple(names[word] for word in words.split())


def _signature(text: str) -> Signature:
    parameters, results = text.split("->")
    return Signature(_value_types(parameters), _value_types(results))


def _access(name: str, code: int, width: int) -> Opcode:
    value = _value_types(name[:3])
    signature = Signature(("i32",), value)
    if ".store" in name:
        signature = Signature(("i32", *value), ())
    return Opcode(name, code, Immediates.ACCESS, signature, width)


def _rows() -> list[Opcode]:
    rows = []
    for entry in _SPECIAL.replace("\n", "|").split("|"):
        if entry.strip():
            code, kind, name = entry.split()
            rows.append(Opcode(name, int(code, 16), Immediates[kind]))
    for line in _WITH_IMMEDIATES.strip().splitlines():
        head, types = line.split(":")
        code, kind, name = head.split()
        rows.append(Opcode(name, int(code, 16), Immediates[kind], _signature(types)))
    for line in _ACCESSES.strip().splitlines():
        code, entries = line.split(maxsplit=1)
        for place, entry in enumerate(entries.split("|")):
            name, width = entry.split()
            rows.append(_access(name, int(code, 16) + place, int(width)))
    for line in _PLAIN.strip().splitlines():
        head, names = line.split(":")
        code, types = head.split(maxsplit=1)
        for place, name in enumerate(names.split()):
            number = int(code, 16) + place
            rows.append(Opcode(name, number, Immediates.NONE, _signature(types)))
    return rows


OPCODES: dict[str, Opcode] = {row.name: row for row in _rows()}
BY_CODE: dict[int, Opcode] = {row.code: row for row in OPCODES.values()}

MEMORY_INSTRUCTIONS = frozenset(
    row.name for row in OPCODES.values() if row.width or row.name.startswith("memory.")
)


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
