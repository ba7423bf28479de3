"""The plain level, drafted: generated C says what comes next, softmax over the prefix accepts it.

As in speculative decoding with a draft model, the large model makes one pass for many tokens and
not one for each. A draft here is never wrong, if all is as it should be: where softmax would have
said another token, the sequence stops with an error that names both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from curta.compiler.model import Model
from curta.engine.base import Answers, Engine, Ids, Mask, Session
from curta.engine.native_level import Native
from curta.engine.plain import Plain
from curta.errors import ProgramError, VerifyError


class Speculative(Engine):
    """`drafts` is the native level of the same model, if somebody has it already."""

    level: ClassVar[str] = "speculative"
    chunk = Plain.block

    def __init__(self, model: Model, drafts: Native | None = None, device: str = "cpu") -> None:
        super().__init__(model)
        self.drafts = drafts or Native(model)
        self.softmax = Plain(model, device)

    @property
    def max_tokens(self) -> int:
        return self.softmax.max_tokens

    def session(self) -> SpeculativeSession:
        return SpeculativeSession(self)

    def reader(self) -> Session:
        return self.softmax.session()


class SpeculativeSession(Session):
    """One sequence, which both levels are told."""

    engine: Speculative

    def __init__(self, engine: Speculative, draft: Session | None = None) -> None:
        super().__init__(engine)
        self.draft = draft or engine.drafts.session()
        self.softmax = engine.softmax.session()

    def fresh(self) -> SpeculativeSession:
        return SpeculativeSession(self.engine, self.draft.fresh())

    def close(self) -> None:
        self.draft.close()
        self.softmax.close()

    def _read(self, tokens: Ids, asked: Mask) -> Iterator[Ids]:
        """Both levels read: what softmax says, up to where something else was drafted."""
        start = 0
        for said in self.softmax.read(tokens, asked):
            part = slice(start, start + len(said))
            drafted = np.concatenate([said[:0], *self.draft.read(tokens[part], asked[part])])
            wrong = np.flatnonzero(asked[part] & (drafted != said))
            if len(wrong):
                yield said[: wrong[0]]
                self.compare(int(drafted[wrong[0]]), int(said[wrong[0]]), self.length)
            yield said
            start = part.stop

    def take(self, tokens: Ids) -> int:
        """Each level at once: the drafting one knows a program by all of its prompt."""
        self.check_room(len(tokens))
        try:
            said = self.softmax.take(tokens)
            self.compare(self.draft.take(tokens), said, self.softmax.length - 1)
        except ProgramError as error:
            self.stopped = error
            raise
        finally:
            self.length = self.softmax.length
        return said

    def generate(self, first: int, count: int, answers: Answers | None = None) -> Ids:
        """What was drafted, as far as softmax says the same; `check` has the error if that ends."""
        start, drafted = self.length, self.draft.generate(first, count)
        accepted = drafted[:1]
        try:
            given = drafted[:-1]
            for said in self.softmax.read(given, np.ones_like(given, dtype=np.bool_)):
                following = drafted[len(accepted) :][: len(said)]
                agreed = int((said == following).cumprod().sum())
                accepted = drafted[: len(accepted) + agreed]
                if agreed < len(said):
                    place = start + len(accepted) - 1
                    self.compare(int(following[agreed]), int(said[agreed]), place)
        except ProgramError as error:
            self.stopped = error
        self.length = start + max(len(accepted) - 1, 0)
        return accepted

    def check(self) -> None:
        super().check()
        self.draft.check()

    def compare(self, drafted: int, said: int, position: int) -> None:
        """Raise if softmax does not say what was drafted."""
        if drafted != said:
            names = self.engine.vocabulary
            raise VerifyError(
                f"position {position:,}: softmax says {names[said]} next, the native level had "
                f"drafted {names[drafted]}; one of them is wrong"
            )
