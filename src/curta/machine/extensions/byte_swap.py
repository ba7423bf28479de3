"""byte_swap: a word with its bytes in reverse order, as network protocols want it.

__attribute__((import_module("curta"), import_name("byte_swap")))
unsigned byte_swap(unsigned);
"""

from __future__ import annotations

from curta.compiler import Node
from curta.machine.parts.operations import Extension, Sources
from curta.machine.parts.words import from_digits


def result(sources: Sources) -> Node:
    """The bytes are sums of two digits each; here they are added up the other way round."""
    return from_digits(sources.a.bytes[::-1], 256)


def meaning(a: int) -> int:
    return int.from_bytes(a.to_bytes(4, "big"), "little")


BYTE_SWAP = Extension("byte_swap", 1, result, meaning)
