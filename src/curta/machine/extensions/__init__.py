"""Operations that a machine can be built with, each a module of its own.

An extension says what its operation computes, as a graph and in Python. A program uses it by
importing a function of its name from the module `curta`:

    __attribute__((import_module("curta"), import_name("byte_swap")))
    unsigned byte_swap(unsigned);

    Machine(extensions=[BYTE_SWAP]).run("prog.c")
"""

from curta.machine.extensions.byte_swap import BYTE_SWAP
from curta.machine.parts.operations import Extension, Sources

__all__ = ["BYTE_SWAP", "Extension", "Sources"]
