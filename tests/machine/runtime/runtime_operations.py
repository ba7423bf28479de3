"""The instructions that the library stands for: names, operand types, result type."""

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
        return f"({self.name} {' '.join(operands)})"


_I64_BINARY = "add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr"
_I64_COMPARE = "eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u"
_FLOAT_BINARY = "min max"
_FLOAT_UNARY = "ceil floor trunc nearest"


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
        *_family(kind, _FLOAT_UNARY, (kind,), kind),
    ]


def _conversions() -> list[Operation]:
    return [
        Operation(f"{integer}.trunc{mode}_{kind}_{sign}", (kind,), integer)
        for integer in ("i32", "i64")
        for kind in ("f32", "f64")
        for sign in ("s", "u")
        for mode in ("", "_sat")
    ]


OPERATIONS = (
    *_integer_operations(),
    *_float_operations("f32"),
    *_float_operations("f64"),
    *_conversions(),
)
