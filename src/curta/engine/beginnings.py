"""Sequences that begin with the same tokens begin as copies of one that has taken them.

A program that is run again and again is read once: what all its prompts begin with is found by
comparing those that came before. A copy takes some ten microseconds (`native/beginning.c`; on
Linux).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from curta.engine.base import Ids
    from curta.engine.native_level import Library

SHORT = 256
"""Tokens that are read as quickly as a state is copied."""
LONG = 1 << 20
"""Tokens that leave too much behind to be copied; nor are so many remembered."""
MOST = 4
"""Beginnings that are kept, and prompts that are remembered."""


class Beginning:
    """What there is after these tokens."""

    def __init__(self, library: Library, tokens: Ids) -> None:
        self.library, self.tokens = library, tokens.copy()
        self.tokens.flags.writeable = False
        self.pointer: int | None = library.beginning(self.tokens.ctypes.data, len(tokens))
        """Null where there is no room for it, which is not tried again."""

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.library.forget(self.pointer)

    def begins(self, tokens: Ids) -> bool:
        """These, with something behind it."""
        length = len(self.tokens)
        return length < len(tokens) and np.array_equal(self.tokens, tokens[:length])


class Beginnings:
    """Those of one engine."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.kept: tuple[Beginning, ...] = ()
        self.seen: tuple[Ids, ...] = ()

    def of(self, tokens: Ids) -> Beginning | None:
        """The longest that these tokens have, or have now as others began so before."""
        if not hasattr(self.library, "beginning"):
            return None
        fitting = [one for one in self.kept if one.begins(tokens)]
        least = SHORT + max((len(one.tokens) for one in fitting), default=0)
        if least < len(tokens) <= LONG:
            common = max((alike(tokens, one) for one in self.seen), default=0)
            self.seen = (*self.seen, tokens)[-MOST:]
            if common > least:
                fitting.append(Beginning(self.library, tokens[:common]))
        if not fitting:
            return None
        usable = [one for one in fitting if one.pointer]
        found = max(usable or fitting, key=lambda one: len(one.tokens))
        others = [one for one in (*self.kept, *fitting[-1:]) if one is not found]
        self.kept = (*dict.fromkeys(others), found)[-MOST:]
        return found if usable else None


def alike(tokens: Ids, others: Ids) -> int:
    """How many tokens are the same, up to the last but one."""
    length = min(len(tokens) - 1, len(others))
    differ = tokens[:length] != others[:length]
    return int(differ.argmax()) if differ.any() else length
