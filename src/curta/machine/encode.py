"""Core instructions as tokens of a prompt."""

from __future__ import annotations

from collections.abc import Iterable

from curta.machine.instructions import Instruction
from curta.machine.vocabulary import FIELDS


def encode(program: Iterable[Instruction]) -> list[str]:
    """The prompt that holds a program: a record of tokens for each instruction, then `start`."""
    return [token for instruction in program for token in record(instruction)] + ["start"]


def record(instruction: Instruction) -> list[str]:
    """The operation, and the bytes of its operands, the most significant first."""
    mode = "#" if instruction.b is None else ""
    tokens = [instruction.operation + mode]
    for name, size in FIELDS.items():
        value = getattr(instruction, name) or 0
        tokens += [f"P{byte}" for byte in value.to_bytes(size, "big")]
    return tokens
