"""The operations that a machine knows: those of every machine, and those of its extensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curta.errors import UserError
from curta.machine.instructions import OPERATIONS, Kind, has_fourth, kind_of
from curta.machine.vocabulary import TOKENS, operation_tokens

if TYPE_CHECKING:
    from curta.compiler import Graph, Node
    from curta.machine.parts.words import Word


@dataclass(frozen=True)
class Sources:
    """The words that an instruction reads."""

    a: Word
    b: Word
    c: Word
    e: Word


@dataclass(frozen=True)
class Extension:
    """A further operation on words: a module of its own.

    Programs import it as a function of one, two or three words (`parameters`) that gives a word.
    `result` builds that word from the sources a, b and c; `meaning` is the same in Python.
    """

    name: str
    parameters: int
    result: Callable[[Sources], Node]
    meaning: Callable[..., int]

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name in TOKENS:
            taken = "is a token of every machine" if self.name in TOKENS else "is no identifier"
            raise UserError(f"an extension named {self.name!r}: that {taken}; choose another name")
        if self.parameters not in (1, 2, 3):
            raise UserError(
                f"extension {self.name} of {self.parameters} parameters: an instruction has one, "
                "two or three sources"
            )

    def value(self, a: int, b: int, c: int) -> int:
        """The meaning, of all three sources of an instruction."""
        return self.meaning(*(a, b, c)[: self.parameters])


class Operations:
    """Names and numbers of operations."""

    def __init__(self, extensions: Sequence[Extension] = ()) -> None:
        self.extensions = tuple(extensions)
        for number, one in enumerate(self.extensions):
            if one.name in (other.name for other in self.extensions[:number]):
                raise UserError(f"two extensions are named {one.name}; a machine can have one")
        self.names = (*OPERATIONS, *(one.name for one in extensions))
        self.tokens = operation_tokens(self.names)

    def number(self, name: str) -> int:
        return self.names.index(name)

    def of_kind(self, *kinds: Kind) -> list[str]:
        return [name for name in self.names if kind_of(name) in kinds]

    def with_fourth(self) -> list[str]:
        return [name for name in self.names if has_fourth(name)]

    def feature(self, graph: Graph) -> Node:
        numbers = {token: i % len(self.names) for i, token in enumerate(self.tokens)}
        return graph.feature("operation", numbers)

    def immediate_mode(self, graph: Graph) -> Node:
        return graph.is_token(*self.tokens[len(self.names) :])
