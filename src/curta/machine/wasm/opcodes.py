"""The table of opcodes: one row says all about an instruction.

Everything that handles instructions reads this table: decoder, encoder, validator, lowering and
proof. Instructions whose operand types depend on more than the opcode have no signature here; the
validator has a rule for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal, get_args

from curta.machine.wasm import BITS, ValueType

VALUE_TYPES: dict[int, ValueType] = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64"}
VALUE_TYPE_CODES = {name: code for code, name in VALUE_TYPES.items()}
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

# The first code, the type that names begin with, the rest of each name, and what all of them pop
# and push.
_NUMERIC = """
45 i32 eqz : i32 -> i32
46 i32 eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u : i32 i32 -> i32
50 i64 eqz : i64 -> i32
51 i64 eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u : i64 i64 -> i32
5B f32 eq ne lt gt le ge : f32 f32 -> i32
61 f64 eq ne lt gt le ge : f64 f64 -> i32
67 i32 clz ctz popcnt : i32 -> i32
6A i32 add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr : i32 i32 -> i32
C0 i32 extend8_s extend16_s : i32 -> i32
79 i64 clz ctz popcnt : i64 -> i64
7C i64 add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr : i64 i64 -> i64
C2 i64 extend8_s extend16_s extend32_s : i64 -> i64
8B f32 abs neg ceil floor trunc nearest sqrt : f32 -> f32
92 f32 add sub mul div min max copysign : f32 f32 -> f32
99 f64 abs neg ceil floor trunc nearest sqrt : f64 -> f64
A0 f64 add sub mul div min max copysign : f64 f64 -> f64
A7 i32 wrap_i64 : i64 -> i32
A8 i32 trunc_f32_s trunc_f32_u : f32 -> i32
AA i32 trunc_f64_s trunc_f64_u : f64 -> i32
AC i64 extend_i32_s extend_i32_u : i32 -> i64
AE i64 trunc_f32_s trunc_f32_u : f32 -> i64
B0 i64 trunc_f64_s trunc_f64_u : f64 -> i64
B2 f32 convert_i32_s convert_i32_u : i32 -> f32
B4 f32 convert_i64_s convert_i64_u : i64 -> f32
B6 f32 demote_f64 : f64 -> f32
B7 f64 convert_i32_s convert_i32_u : i32 -> f64
B9 f64 convert_i64_s convert_i64_u : i64 -> f64
BB f64 promote_f32 : f32 -> f64
BC i32 reinterpret_f32 : f32 -> i32
BD i64 reinterpret_f64 : f64 -> i64
BE f32 reinterpret_i32 : i32 -> f32
BF f64 reinterpret_i64 : i64 -> f64
FC00 i32 trunc_sat_f32_s trunc_sat_f32_u : f32 -> i32
FC02 i32 trunc_sat_f64_s trunc_sat_f64_u : f64 -> i32
FC04 i64 trunc_sat_f32_s trunc_sat_f32_u : f32 -> i64
FC06 i64 trunc_sat_f64_s trunc_sat_f64_u : f64 -> i64
"""


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
            yield Opcode(name, place, kind, (), signature, int(width), signed)


def _numeric() -> Iterator[Opcode]:
    for line in _NUMERIC.strip().splitlines():
        head, _, types = line.partition(" : ")
        code, type_, *names = head.split()
        for number, name in enumerate(names, int(code, 16)):
            yield Opcode(f"{type_}.{name}", number, signature=_signature(types))


# -- the table ------------------------------------------------------------------------------------


OPCODES: dict[str, Opcode] = {row.name: row for row in (*_steps(), *_accesses(), *_numeric())}
BY_CODE: dict[int, Opcode] = {row.code: row for row in OPCODES.values()}
NUMERIC = {row.name: row for row in _numeric()}
"""Instructions that only compute."""
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
