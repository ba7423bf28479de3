"""The tokens of the machine.

L0 ... L4095       the last digit of a word: the step is over
M0 ... M4095       a digit with more to come, most significant first, in base 4096
Q0 ... Q255        a digit of a quotient with more to come, in base 256; R0 ... the last one
J-2048 ... J2047   a jump, by so many instructions
    H-256 ... H255     before it: by 4096 times so many
stored             memory was written
out0 ... out255    a byte is said
read               a word of input is wanted; the host appends it, as digits
exit, trap         the end
add, add#, ...     the program: an operation, with two registers or a register and an immediate
P0 ... P255        the program: a byte of its operands
start              the program is complete
"""

from __future__ import annotations

from curta.machine.instructions import OPERATIONS

DIGIT = 4096
LAST = [f"L{d}" for d in range(DIGIT)]
MORE = [f"M{d}" for d in range(DIGIT)]
JUMPS = [f"J{d}" for d in range(-2048, 2048)]
FAR_JUMPS = [f"H{d}" for d in range(-256, 256)]
OUTPUT = [f"out{b}" for b in range(256)]
BYTES = [f"P{b}" for b in range(256)]
OPERATION_TOKENS = [*OPERATIONS, *(f"{name}#" for name in OPERATIONS)]
ENDS = ["exit.", "trap."]
TOKENS = [
    *LAST,
    *MORE,
    *JUMPS,
    *FAR_JUMPS,
    *OUTPUT,
    "read.",
    *ENDS,
    *OPERATION_TOKENS,
    *BYTES,
    "start",
]
FIELDS = {"a": 2, "b": 2, "c": 2, "d": 2, "immediate": 4, "target": 3}
"""Bytes of an instruction's operands, in their order after its operation."""
RECORD = 1 + sum(FIELDS.values())
