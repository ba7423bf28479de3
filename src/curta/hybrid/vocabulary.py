"""One vocabulary: the language model's tokens, those of compiled weights, and what hands over.

    0 ... V      the language model's
    V ...        for each module, in the order in which they were added: the tokens of its weights,
                 unless another module brought them, and one token that hands over to it

So adding a module leaves all that was there as it is. In a stream, a token that hands over begins a
*context*; the tokens of compiled weights behind it are that context. All others are the language
model's, which never sees a context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from curta.errors import TokenError

JointIds = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """Compiled weights, where their tokens begin, and what hands over to a module of them."""

    weights: str
    first: int
    size: int
    hands: int


@dataclass(frozen=True, slots=True)
class Context:
    """A module's tokens in a stream, behind the one that hands over to it.

    ids: as its weights count them
    """

    module: str
    begin: int
    end: int
    ids: npt.NDArray[np.int32]


@dataclass(frozen=True)
class JointVocabulary:
    """
    language: how many tokens the language model has
    blocks:   by the names of modules, their tokens
    size:     how many tokens there are
    """

    language: int
    blocks: Mapping[str, Block]
    size: int

    @classmethod
    def of(cls, language: int, modules: Sequence[tuple[str, str, int]]) -> JointVocabulary:
        """Of modules' names, the names of their weights, and how many tokens these have."""
        end, firsts, blocks = language, dict[str, int](), dict[str, Block]()
        for name, weights, size in modules:
            if weights not in firsts:
                firsts[weights] = end
                end += size
            blocks[name] = Block(weights, firsts[weights], size, end)
            end += 1
        return cls(language, blocks, end)

    def place(self, token: int) -> tuple[str, int, bool]:
        """Whose token it is ("" is the language model), its number there, whether it hands over."""
        if 0 <= token < self.language:
            return "", token, False
        for name, block in self.blocks.items():
            if token == block.hands:
                return name, 0, True
            if block.first <= token < block.first + block.size:
                return block.weights, token - block.first, False
        raise TokenError(f"{token} is no token: there are {self.size:,}")

    def context(self, module: str, ids: npt.NDArray[np.int32]) -> JointIds:
        """Tokens of a module's weights, behind the one that hands over."""
        block = self.blocks[module]
        return np.concatenate([[block.hands], ids.astype(np.int64) + block.first])

    def contexts(self, ids: JointIds) -> Iterator[Context]:
        """All of a stream; a `TokenError` if a token stands where it cannot."""
        names = {block.hands: name for name, block in self.blocks.items()}
        hands = np.isin(ids, list(names))
        breaks = np.flatnonzero(hands | (ids < self.language))
        for before, end in pairwise([-1, *breaks.tolist(), len(ids)]):
            begin = before + 1
            if before >= 0 and hands[before]:
                name = names[int(ids[before])]
                block = self.blocks[name]
                own = ids[begin:end] - block.first
                if np.any((own < 0) | (own >= block.size)):
                    raise TokenError(f"behind what hands over to {name} are others' tokens")
                yield Context(name, begin, end, own.astype(np.int32))
            elif begin < end:
                raise TokenError(f"token {int(ids[begin])} belongs to no module's context")
