"""Core instructions: what the machine's weights execute, and a record of each (CORE).

A register machine. Registers are words of 32 bits in one array; an operand below GLOBALS is counted
from the current frame, others stand for themselves. A register that was never written holds 0.

    value    computes a word from a, b and c and writes it to register d
    divide   the same, if it does not trap
    load     writes to d what the memory holds at a + immediate; peek reads the private memory
    store    writes c to the memory at a + immediate; poke writes to the private memory
    jump     goes to an instruction
    write    says a byte, the lowest of b
    read     asks the host for a word and writes it to d
    end      leaves the program; the next instruction is number 0, in the first frame

Where b is None the immediate is the second operand; of the sources only b can be immediate. An
operation on doubles has a fourth source, e, which stands where a jump has its target.

The private memory is a second address space of 4 GiB, without bounds: tables, passive segments and
what WASI keeps lie there. Register MEMORY_PAGES holds the size of the other memory in pages.

Calls: the callee's frame begins `immediate` registers above the caller's; its first registers are
its arguments, put there by the caller. Register d, counted from the caller's frame, gets the number
of the instruction after the call, and `return` goes where its register a says. The frame moves back
by the immediate of the instruction before the one it returns to. Results are left in the callee's
first registers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from curta.machine.float_words import FLOATS

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
SIGN = WORD // 2

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
Meaning = Callable[..., int]


@dataclass(frozen=True, slots=True)
class CoreOperation:
    """All that is known of a core instruction by itself, but for two things.

    Its graph, as this module imports nothing of the compiler: that of a value stands under its name
    in `parts/arithmetic.results`; each other kind has a module in `parts`. And what the other kinds
    do: `reference.py` goes by the kind.
    """

    name: str
    operands: str
    """Which of a, b, c, e and d it has. Loads and stores may have b besides, an index."""
    meaning: Meaning | None = None
    """The word that a value is: a and b are sources, c the third (the low word of a funnel); e is
    there if `operands` has it.
    """
    kind: Kind = "value"
    swapped: str | None = None
    """What gives the same with a and b exchanged."""
    inverse: str | None = None
    """Of comparisons: what holds when this does not."""
    comparison: str | None = None
    """Of jumps: what has to hold of a and b."""
    size: int = 0
    """Bytes that a load or a store moves."""
    traps: tuple[str, ...] = ()
    """What its operands may lead to."""
    listing: str = "{d} = {name} {sources}"

    @property
    def has_bounds(self) -> bool:
        """Whether it is an access of the program's memory; the private one has no bounds."""
        return self.size > 0 and self.traps != ()


def signed(word: int) -> int:
    return word - WORD if word >= SIGN else word


def _compared(name: str) -> Meaning:
    kind, _, sign = name.partition("_")
    holds = getattr(operator, kind)

    def test(a: int, b: int, _: int) -> int:
        return int(holds(signed(a), signed(b))) if sign == "s" else int(holds(a, b))

    return test


def _rotated(a: int, n: int) -> int:
    return (a << n % 32 | a >> (32 - n % 32)) % WORD


def _extended(a: int, bits: int) -> int:
    low = a % (1 << bits)
    return (low - (1 << bits) if low >> bits - 1 else low) % WORD


_BY_ZERO = "integer divide by zero"
_BOUNDS = ("out of bounds memory access",)
_STACK = ("call stack exhausted",)
_LOADED, _STORED = "{d} = {name} [{address}]", "{name} [{address}] = {c}"
_CALLED = ", frame + {immediate}, back by {d}"
_BRANCH = "{name} {a}, {b}: {target}"
_VALUES = (
    CoreOperation("copy", "bd", lambda a, b, c: b, listing="{d} = {b}"),
    CoreOperation("add", "abd", lambda a, b, c: (a + b) % WORD, swapped="add"),
    CoreOperation("sub", "abd", lambda a, b, c: (a - b) % WORD),
    CoreOperation("mul", "abd", lambda a, b, c: a * b % WORD, swapped="mul"),
    CoreOperation("mul_high", "abd", lambda a, b, c: a * b // WORD, swapped="mul_high"),
    CoreOperation("and", "abd", lambda a, b, c: a & b, swapped="and"),
    CoreOperation("or", "abd", lambda a, b, c: a | b, swapped="or"),
    CoreOperation("xor", "abd", lambda a, b, c: a ^ b, swapped="xor"),
    CoreOperation("shl", "abd", lambda a, b, c: (a << b % 32) % WORD),
    CoreOperation("shr_u", "abd", lambda a, b, c: a >> b % 32),
    CoreOperation("shr_s", "abd", lambda a, b, c: (signed(a) >> b % 32) % WORD),
    CoreOperation("rotl", "abd", lambda a, b, c: _rotated(a, b)),
    CoreOperation("rotr", "abd", lambda a, b, c: _rotated(a, -b)),
    CoreOperation("clz", "ad", lambda a, b, c: 32 - a.bit_length()),
    CoreOperation("ctz", "ad", lambda a, b, c: (a & -a).bit_length() - 1 if a else 32),
    CoreOperation("popcnt", "ad", lambda a, b, c: a.bit_count()),
    CoreOperation("select", "abcd", lambda a, b, c: a if c else b),
    CoreOperation("extend8", "ad", lambda a, b, c: _extended(a, 8)),
    CoreOperation("extend16", "ad", lambda a, b, c: _extended(a, 16)),
    CoreOperation("carry", "abd", lambda a, b, c: (a + b) // WORD, swapped="carry"),
    CoreOperation("add3", "abcd", lambda a, b, c: (a + b + c) % WORD),
    CoreOperation("sub3", "abcd", lambda a, b, c: (a - b - c) % WORD),
    CoreOperation("funnel_shl", "abcd", lambda a, b, c: (a * WORD + c << b % 32) // WORD % WORD),
    CoreOperation("funnel_shr", "abcd", lambda a, b, c: (a * WORD + c >> b % 32) % WORD),
    CoreOperation("eq", "abd", _compared("eq"), swapped="eq", inverse="ne"),
    CoreOperation("ne", "abd", _compared("ne"), swapped="ne", inverse="eq"),
    CoreOperation("lt_u", "abd", _compared("lt_u"), swapped="gt_u", inverse="ge_u"),
    CoreOperation("lt_s", "abd", _compared("lt_s"), swapped="gt_s", inverse="ge_s"),
    CoreOperation("le_u", "abd", _compared("le_u"), swapped="ge_u", inverse="gt_u"),
    CoreOperation("le_s", "abd", _compared("le_s"), swapped="ge_s", inverse="gt_s"),
    CoreOperation("gt_u", "abd", _compared("gt_u"), swapped="lt_u", inverse="le_u"),
    CoreOperation("gt_s", "abd", _compared("gt_s"), swapped="lt_s", inverse="le_s"),
    CoreOperation("ge_u", "abd", _compared("ge_u"), swapped="le_u", inverse="lt_u"),
    CoreOperation("ge_s", "abd", _compared("ge_s"), swapped="le_s", inverse="lt_s"),
)
COMPARISONS = tuple(one.name for one in _VALUES if one.inverse is not None)
_TABLE = (
    *_VALUES,
    *(CoreOperation(name, operands, meaning) for name, (operands, meaning) in FLOATS.items()),
    CoreOperation("div_u", "abd", kind="divide", traps=(_BY_ZERO,)),
    CoreOperation("div_s", "abd", kind="divide", traps=(_BY_ZERO, "integer overflow")),
    CoreOperation("rem_u", "abd", kind="divide", traps=(_BY_ZERO,)),
    CoreOperation("rem_s", "abd", kind="divide", traps=(_BY_ZERO,)),
    CoreOperation("load8_u", "ad", kind="load", size=1, traps=_BOUNDS, listing=_LOADED),
    CoreOperation("load8_s", "ad", kind="load", size=1, traps=_BOUNDS, listing=_LOADED),
    CoreOperation("load16_u", "ad", kind="load", size=2, traps=_BOUNDS, listing=_LOADED),
    CoreOperation("load16_s", "ad", kind="load", size=2, traps=_BOUNDS, listing=_LOADED),
    CoreOperation("load32", "ad", kind="load", size=4, traps=_BOUNDS, listing=_LOADED),
    CoreOperation("peek8", "ad", kind="load", size=1, listing=_LOADED),
    CoreOperation("peek32", "ad", kind="load", size=4, listing=_LOADED),
    CoreOperation("store8", "ac", kind="store", size=1, traps=_BOUNDS, listing=_STORED),
    CoreOperation("store16", "ac", kind="store", size=2, traps=_BOUNDS, listing=_STORED),
    CoreOperation("store32", "ac", kind="store", size=4, traps=_BOUNDS, listing=_STORED),
    CoreOperation("poke8", "ac", kind="store", size=1, listing=_STORED),
    CoreOperation("poke32", "ac", kind="store", size=4, listing=_STORED),
    CoreOperation("jump", "", kind="jump", listing="jump {target}"),
    *(
        CoreOperation(f"jump_{name}", "ab", kind="jump", comparison=name, listing=_BRANCH)
        for name in COMPARISONS
    ),
    CoreOperation("jump_table", "ab", kind="jump", listing="jump_table {a}, {b} others"),
    CoreOperation("call", "d", kind="jump", traps=_STACK, listing="call {target}" + _CALLED),
    CoreOperation("call_to", "ad", kind="jump", traps=_STACK, listing="call_to {a}" + _CALLED),
    CoreOperation("return", "a", kind="jump", listing="return by {a}"),
    CoreOperation("read", "d", kind="read", listing="{d} = read"),
    CoreOperation("await", "d", kind="read", listing="{d} = await"),
    CoreOperation("write_out", "b", kind="write", listing="write_out {b}"),
    CoreOperation("write_err", "b", kind="write", listing="write_err {b}"),
    CoreOperation("exit", "", kind="end", listing="exit"),
    CoreOperation("trap", "b", kind="end", listing="trap {trap}"),
)
CORE = {operation.name: operation for operation in _TABLE}
OPERATIONS = tuple(CORE)
"""Their numbers are their places; 0 is `copy`."""
DIVISIONS = tuple(name for name, one in CORE.items() if one.kind == "divide")
VALUES = {name: one.meaning for name, one in CORE.items() if one.meaning is not None}
_EXTENSION = CoreOperation("extension", "abcd")


def operation_of(name: str) -> CoreOperation:
    """Extensions compute values; which sources each of them has nobody knows here."""
    return CORE.get(name, _EXTENSION)


def has_fourth(name: str) -> bool:
    """Whether an operation has a fourth source."""
    return "e" in operation_of(name).operands


def kind_of(name: str) -> Kind:
    return operation_of(name).kind


@dataclass(frozen=True, slots=True)
class CoreInstruction:
    """One core instruction. `b=None` means that the immediate is the second source."""

    operation: str
    a: int = 0
    b: int | None = None
    c: int = 0
    d: int = 0
    immediate: int = 0
    target: int = 0

    @property
    def e(self) -> int:
        """The fourth source of operations that have one."""
        return self.target
