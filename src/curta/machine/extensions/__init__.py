"""Operations that a machine can be built with, each a module of its own.

An extension says what its operation computes, as a graph and in Python:
`curta.machine.computer.build([BYTE_SWAP])` is a machine that has it. Programs of core instructions
can use it; the lowering does not know extensions yet.
"""

from curta.machine.extensions.byte_swap import BYTE_SWAP
from curta.machine.parts.operations import Extension, Sources

__all__ = ["BYTE_SWAP", "Extension", "Sources"]
