"""Programs, memory and words as tokens."""

from __future__ import annotations

from collections.abc import Iterable

from curta.machine.core_program import CoreProgram, Segment
from curta.machine.instructions import CoreInstruction
from curta.machine.vocabulary import (
    ADDRESS_BYTES,
    AT,
    DATA,
    DIGIT,
    FIELDS,
    JUMPS,
    LAST,
    MORE,
    NEAR,
    START,
)


def encode(program: CoreProgram) -> list[str]:
    """The prompt that holds a program: a record for each instruction, the memory, and `start`."""
    tokens = encode_instructions(program.instructions)
    for segment in program.segments:
        tokens += encode_segment(segment)
    return [*tokens, START]


def encode_instructions(instructions: Iterable[CoreInstruction]) -> list[str]:
    return [token for instruction in instructions for token in record(instruction)]


def record(instruction: CoreInstruction) -> list[str]:
    """The operation, and the bytes of its operands, the most significant first."""
    mode = "#" if instruction.b is None else ""
    tokens = [instruction.operation + mode]
    for name, size in FIELDS.items():
        value = getattr(instruction, name) or 0
        tokens += [f"P{byte}" for byte in value.to_bytes(size, "big")]
    return tokens


def encode_segment(segment: Segment) -> list[str]:
    """Where it lies, and its bytes."""
    address = [f"P{byte}" for byte in segment.address.to_bytes(ADDRESS_BYTES, "big")]
    return [AT, *address, *(DATA[byte] for byte in segment.content)]


def encode_word(word: int) -> list[str]:
    """A word as the digits that the machine itself would say."""
    digits = [LAST[word % DIGIT]]
    while word >= DIGIT:
        word //= DIGIT
        digits.insert(0, MORE[word % DIGIT])
    return digits


def encode_jump(distance: int) -> list[str]:
    """A jump: one token if it is near, else its far part before the rest."""
    if -NEAR <= distance < NEAR:
        return [JUMPS[distance + NEAR]]
    far = (distance + NEAR) // (2 * NEAR)
    return [f"H{far}", JUMPS[distance - 2 * NEAR * far + NEAR]]
