"""The tokens of the machine.

L0 ... L4095       the last digit of a word: the step is over
M0 ... M4095       a digit with more to come, most significant first, in base 4096
J-2048 ... J2047   a jump, by so many instructions
    H-256 ... H255     before it: by 4096 times so many
stored             memory was written
out0 ... out255    a byte is written to the standard output
err0 ... err255    ... to the standard error
read.              a word of input is wanted; the host appends it, as digits M and L
await.             the same for a word of an invocation
exit.              the program has ended, with the word before it as exit code
trap0 ...          it was stopped (instructions.TRAPS)
add, add#, ...     the program: an operation, with two registers or a register and an immediate
P0 ... P255        the program: a byte of its operands
at                 memory: five bytes P follow, an address, and then any number of
D0 ... D255        bytes that lie there
start              the program is complete
registers          the state of a run: five bytes P follow, a number, and then the words of the
                   registers from that one on, as digits M and L; a jump back by so many words
frame              behind `start`: five bytes P follow, by how much the frame moves on
"""

from __future__ import annotations

from collections.abc import Sequence

from curta.machine.instructions import OPERATIONS, TRAPS

DIGIT = 4096
WORD_DIGITS = 3
LAST = [f"L{d}" for d in range(DIGIT)]
MORE = [f"M{d}" for d in range(DIGIT)]
NEAR, FAR = 2048, 256
JUMPS = [f"J{d}" for d in range(-NEAR, NEAR)]
FAR_JUMPS = [f"H{d}" for d in range(-FAR, FAR)]
STORED = "stored"
OUTPUT = [f"out{b}" for b in range(256)]
ERRORS = [f"err{b}" for b in range(256)]
READ, AWAIT, EXIT = "read.", "await.", "exit."
TRAP_TOKENS = [f"trap{n}" for n in range(len(TRAPS))]
BYTES = [f"P{b}" for b in range(256)]
AT = "at"
DATA = [f"D{b}" for b in range(256)]
START = "start"
REGISTERS, FRAME = "registers", "frame"
FIXED = [
    *LAST,
    *MORE,
    *JUMPS,
    *FAR_JUMPS,
    STORED,
    *OUTPUT,
    *ERRORS,
    READ,
    AWAIT,
    EXIT,
    *TRAP_TOKENS,
    *BYTES,
    AT,
    *DATA,
    START,
    REGISTERS,
    FRAME,
]
FIELDS = {"a": 2, "b": 2, "c": 2, "d": 2, "immediate": 4, "target": 3}
"""Bytes of an instruction's operands, in their order after its operation."""
RECORD = 1 + sum(FIELDS.values())
ADDRESS_BYTES = 5
"""Of the numbers behind `at`, `registers` and `frame`."""
MOST_REGISTERS = 1 << 19
"""Behind one `registers`: their words move the program counter."""


def operation_tokens(operations: Sequence[str]) -> list[str]:
    """Each operation with a register as its second source, then each with an immediate."""
    return [*operations, *(f"{name}#" for name in operations)]


def vocabulary(operations: Sequence[str] = OPERATIONS) -> list[str]:
    """All tokens of a machine; operations come last, so that further ones move no others."""
    return [*FIXED, *operation_tokens(operations)]


TOKENS = vocabulary()
