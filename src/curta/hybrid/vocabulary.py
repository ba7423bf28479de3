"""One vocabulary: the language model's tokens, those of compiled weights, and what hands over.

    0 ... V      the language model's
    V ...        for each module, in the order in which they were added: the tokens of its weights,
                 unless another module brought them, and one token that hands over to it

So adding a module leaves all that was there as it is. In a stream, a token that hands over begins a
*context*; the tokens of compiled weights behind it are that context. All others are the language
model's, which never sees a context.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from curta.errors import TokenError

JointIds = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """Compiled weights, and where their tokens begin."""

    weights: str
    first: int
    size: int


@dataclass(frozen=True, slots=True)
class Context:
    """Where a module's tokens are in a stream, behind the one that hands over to it."""

    module: str
    begin: int
    end: int


@dataclass(frozen=True)
class JointVocabulary:
    """
    language: how many tokens the language model has
    modules:  by name, the tokens that hand over
    blocks:   by the names of modules, their weights
    """

    language: int
    modules: Mapping[str, int]
    blocks: Mapping[str, Block]

    @classmethod
    def of(cls, language: int, modules: Sequence[tuple[str, str, int]]) -> JointVocabulary:
        """Of modules' names, the names of their weights, and how many tokens these have."""
        end, hands, blocks = language, dict[str, int](), dict[str, Block]()
        known: dict[str, Block] = {}
        for name, weights, size in modules:
            if weights not in known:
                known[weights] = Block(weights, end, size)
                end += size
            hands[name], blocks[name] = end, known[weights]
            end += 1
        return cls(language, hands, blocks)

    def __len__(self) -> int:
        return (
            self.language + sum(each.size for each in set(self.blocks.values())) + len(self.modules)
        )

    @cached_property
    def starts(self) -> list[tuple[int, str, bool]]:
        """Where each range of tokens begins: whose they are, and whether they hand over."""
        blocks = {(block.first, block.weights, False) for block in self.blocks.values()}
        return sorted([(0, "", False), *blocks, *((n, m, True) for m, n in self.modules.items())])

    def place(self, token: int) -> tuple[str, int, bool]:
        """Whose token it is ("" is the language model), its number there, whether it hands over."""
        if not 0 <= token < len(self):
            raise TokenError(f"{token} is no token: there are {len(self):,}")
        first, whose, hands = self.starts[bisect_right(self.starts, (token, "~", True)) - 1]
        return whose, token - first, hands

    def context(self, module: str, ids: npt.NDArray[np.int32]) -> JointIds:
        """Tokens of a module's weights, behind the one that hands over."""
        first = self.blocks[module].first
        return np.concatenate([[self.modules[module]], ids.astype(np.int64) + first])

    def contexts(self, ids: JointIds) -> Iterator[Context]:
        """All of a stream; a `TokenError` if a token stands where it cannot."""
        names = {token: name for name, token in self.modules.items()}
        hands = np.isin(ids, list(names))
        breaks = np.flatnonzero(hands | (ids < self.language))
        inside = np.zeros(len(ids), dtype=np.bool_)
        for begin, end in pairwise([*breaks.tolist(), len(ids)]):
            if not hands[begin]:
                continue
            name = names[int(ids[begin])]
            block = self.blocks[name]
            own = ids[begin + 1 : end] - block.first
            if np.any((own < 0) | (own >= block.size)):
                raise TokenError(f"behind the token that hands over to {name} are others' tokens")
            inside[begin:end] = True
            yield Context(name, begin + 1, end)
        strangers = np.flatnonzero(~inside & (ids >= self.language))
        if len(strangers):
            raise TokenError(f"token {int(ids[strangers[0]])} belongs to no module's context")

    def own(self, context: Context, ids: JointIds) -> npt.NDArray[np.int32]:
        """The tokens of a context as its weights count them."""
        first = self.blocks[context.module].first
        return (ids[context.begin : context.end] - first).astype(np.int32)

    def is_language(self, ids: JointIds) -> npt.NDArray[np.bool_]:
        """Which tokens are the language model's."""
        return ids < self.language
