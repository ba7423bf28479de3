"""The instructions that the library stands for: names, operand types, result type.

`f64.square` is none of WebAssembly, but f64.mul of a number by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """One instruction. Types are WebAssembly's: i32, i64, f32, f64."""

    name: str
    operands: tuple[str, ...]
    result: str

    @property
    def may_trap(self) -> bool:
        """Whether the specification lets it trap."""
        short = self.name.split(".")[1]
        return short.startswith(("div_", "rem_", "trunc_f"))

    def expression(self, operands: Sequence[str]) -> str:
        """The instruction itself, in WebAssembly's text format."""
        if self == SQUARE:
            return f"(f64.mul {operands[0]} {operands[0]})"
        return f"({self.name} {' '.join(operands)})"


SQUARE = Operation("f64.square", ("f64",), "f64")


_I64_BINARY = "add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr"
_I64_COMPARE = "eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u"
_FLOAT_BINARY = "add sub mul div min max copysign"
_FLOAT_UNARY = "abs neg sqrt ceil floor trunc nearest"
_FLOAT_COMPARE = "eq ne lt gt le ge"


def _family(prefix: str, names: str, operands: tuple[str, ...], result: str) -> list[Operation]:
    return [Operation(f"{prefix}.{name}", operands, result) for name in names.split()]


def _integer_operations() -> list[Operation]:
    return [
        *_family("i64", _I64_BINARY, ("i64", "i64"), "i64"),
        *_family("i64", _I64_COMPARE, ("i64", "i64"), "i32"),
        *_family("i64", "clz ctz popcnt extend8_s extend16_s extend32_s", ("i64",), "i64"),
        *_family("i64", "eqz", ("i64",), "i32"),
        *_family("i64", "extend_i32_s extend_i32_u", ("i32",), "i64"),
        *_family("i32", "wrap_i64", ("i64",), "i32"),
    ]


def _float_operations(kind: str) -> list[Operation]:
    return [
        *_family(kind, _FLOAT_BINARY, (kind, kind), kind),
        *_family(kind, _FLOAT_COMPARE, (kind, kind), "i32"),
        *_family(kind, _FLOAT_UNARY, (kind,), kind),
    ]


def _conversions() -> list[Operation]:
    operations = [
        Operation("f32.demote_f64", ("f64",), "f32"),
        Operation("f64.promote_f32", ("f32",), "f64"),
        Operation("i32.reinterpret_f32", ("f32",), "i32"),
        Operation("i64.reinterpret_f64", ("f64",), "i64"),
        Operation("f32.reinterpret_i32", ("i32",), "f32"),
        Operation("f64.reinterpret_i64", ("i64",), "f64"),
    ]
    for integer in ("i32", "i64"):
        for kind in ("f32", "f64"):
            for sign in ("s", "u"):
                operations += [
                    Operation(f"{kind}.convert_{integer}_{sign}", (integer,), kind),
                    Operation(f"{integer}.trunc_{kind}_{sign}", (kind,), integer),
                    Operation(f"{integer}.trunc_sat_{kind}_{sign}", (kind,), integer),
                ]
    return operations


OPERATIONS = (
    *_integer_operations(),
    *_float_operations("f32"),
    *_float_operations("f64"),
    SQUARE,
    *_conversions(),
)
