"""Core instructions: what the machine's weights execute. `reference.py` says what each does.

A register machine. Registers are words of 32 bits in one array; an operand below GLOBALS is counted
from the current frame, others stand for themselves. A register that was never written holds 0.

    value    computes a word from a, b and c and writes it to register d
    divide   the same, in digits of a quotient
    load     writes to d what the memory holds at a + immediate; peek reads the private memory
    store    writes c to the memory at a + immediate; poke writes to the private memory
    jump     goes to an instruction
    write    says a byte, the lowest of b
    read     asks the host for a word and writes it to d
    end      leaves the program; the next instruction is number 0, in the first frame

Where b is None the immediate is the second operand; of the three sources only b can be immediate.

The private memory is a second address space of 4 GiB, without bounds: tables, passive segments and
what WASI keeps lie there. Register MEMORY_PAGES holds the size of the other memory in pages.

Calls: the callee's frame begins `immediate` registers above the caller's; its first registers are
its arguments, put there by the caller. Register d, counted from the caller's frame, gets the number
of the instruction after the call, and `return` goes where its register a says. The frame moves back
by the immediate of the instruction before the one it returns to. Results are left in the callee's
first registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["value", "divide", "load", "store", "jump", "write", "read", "end"]

GLOBALS = 1 << 15
"""Registers from here on are the same in every frame."""
ZERO = GLOBALS
"""A register that nobody writes."""
MEMORY_PAGES = GLOBALS + 1
FIRST_GLOBAL = GLOBALS + 2
"""From here on, registers are free for the lowering to use."""
FRAME_REGISTERS = 1 << 22
"""All frames together."""
LARGEST_FRAME = GLOBALS
MOST_TOKENS = 1 << 26
"""Of a conversation: as far as the machine is certified."""
MOST_INSTRUCTIONS = (1 << 20) - (1 << 12)
"""So that every jump is at most 256 times 4096 instructions."""
PAGE = 1 << 16
WORD = 1 << 32

COMPARISONS = ("eq", "ne", "lt_u", "lt_s", "le_u", "le_s", "gt_u", "gt_s", "ge_u", "ge_s")
DIVISIONS = ("div_u", "div_s", "rem_u", "rem_s")
ACCESSES = {
    "load8_u": 1,
    "load8_s": 1,
    "load16_u": 2,
    "load16_s": 2,
    "load32": 4,
    "peek8": 1,
    "peek32": 4,
    "store8": 1,
    "store16": 2,
    "store32": 4,
    "poke8": 1,
    "poke32": 4,
}
"""Bytes that loads and stores move."""
_VALUES = (
    "copy add sub mul mul_high and or xor shl shr_u shr_s rotl rotr clz ctz popcnt select "
    "extend8 extend16 carry add3 sub3 funnel_shl funnel_shr"
)
_JUMPS = ("jump", *(f"jump_{name}" for name in COMPARISONS), "jump_table")
KINDS: dict[str, Kind] = {
    **dict.fromkeys(_VALUES.split(), "value"),
    **dict.fromkeys(COMPARISONS, "value"),
    **dict.fromkeys(DIVISIONS, "divide"),
    **{name: "store" if name[0] == "s" or "po" in name else "load" for name in ACCESSES},
    **dict.fromkeys((*_JUMPS, "call", "call_to", "return"), "jump"),
    **dict.fromkeys(("read", "await"), "read"),
    **dict.fromkeys(("write_out", "write_err"), "write"),
    **dict.fromkeys(("exit", "trap"), "end"),
}


def kind_of(operation: str) -> Kind:
    """What an operation is; what a machine is extended by computes values."""
    return KINDS.get(operation, "value")


OPERATIONS = tuple(KINDS)
"""Their numbers are their places; 0 is `copy`."""

TRAPS = (
    "unreachable",
    "integer divide by zero",
    "integer overflow",
    "invalid conversion to integer",
    "out of bounds memory access",
    "out of bounds table access",
    "undefined element",
    "uninitialized element",
    "indirect call type mismatch",
    "call stack exhausted",
)
"""Messages of the specification; the immediate of `trap` is a place here."""


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
