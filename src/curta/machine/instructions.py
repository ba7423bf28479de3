"""Core instructions: what the machine's weights execute.

A register machine. Registers are words of 32 bits in one array; an operand below GLOBALS is counted
from the current frame, others stand for themselves. The last source operand may be an immediate.

    value    computes a word from the sources and writes it to register d
    jump     goes to an instruction
    write    says a byte
    read     asks for a word of input
    end      says how the run ended
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["value", "read", "jump", "write", "end"]

GLOBALS = 1 << 15
"""Registers from here on are the same in every frame."""
FIRST_FRAME = 1 << 16
WORD = 1 << 32

_VALUES = (
    "copy add sub mul mul_high and or xor shl shr_u shr_s rotl clz ctz popcnt "
    "eq ne lt_u lt_s le_u le_s select extend8 extend16"
)
_JUMPS = "jump jump_eq jump_ne jump_lt_u jump_lt_s jump_le_u jump_le_s jump_to call call_to return"
KINDS: dict[str, Kind] = {
    **dict.fromkeys(_VALUES.split(), "value"),
    **dict.fromkeys(_JUMPS.split(), "jump"),
    "read": "read",
    "write": "write",
    "exit": "end",
    "trap": "end",
}
OPERATIONS = tuple(KINDS)
"""Their numbers are their places; 0 is `copy`."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One core instruction. `b=None` means that the immediate is the second source."""

    operation: str
    a: int = 0
    b: int | None = None
    c: int = 0
    d: int = 0
    immediate: int = 0
    target: int = 0
