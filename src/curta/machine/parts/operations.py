"""The operations that a machine knows: those of every machine, and those of its extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from curta.compiler import Graph, Node
from curta.machine.instructions import KINDS, Kind
from curta.machine.parts.words import Word
from curta.machine.vocabulary import operation_tokens


@dataclass(frozen=True)
class Sources:
    """The words that an instruction reads."""

    a: Word
    b: Word
    c: Word


@dataclass(frozen=True)
class Extension:
    """A further operation: a module of its own.

    `result` builds what it computes from the sources a and b; `meaning` is the same in Python.
    """

    name: str
    result: Callable[[Sources], Node]
    meaning: Callable[[int, int, int], int]


class Operations:
    """Names and numbers of operations."""

    def __init__(self, extensions: Sequence[Extension] = ()) -> None:
        self.extensions = tuple(extensions)
        self.kinds: Mapping[str, Kind] = {**KINDS, **{e.name: "value" for e in extensions}}
        self.names = tuple(self.kinds)
        self.tokens = operation_tokens(self.names)

    def number(self, name: str) -> int:
        return self.names.index(name)

    def of_kind(self, *kinds: Kind) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def feature(self, graph: Graph) -> Node:
        numbers = {token: i % len(self.names) for i, token in enumerate(self.tokens)}
        return graph.feature("operation", numbers)

    def immediate_mode(self, graph: Graph) -> Node:
        return graph.is_token(*self.tokens[len(self.names) :])
