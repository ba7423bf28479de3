"""The interface that all levels share.

An Engine is a model ready to run. A Session is one sequence in progress: it reads tokens, one or
many, and answers with the tokens that the model would say next. Everything else (prompts, limits,
stop tokens) is written here once, so that levels differ in nothing but how they compute.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from curta.dyadic import integer, short
from curta.errors import ProgramError, RegionError, TokenError

if TYPE_CHECKING:
    from curta.compiler.model import Model

Ids = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Residuals = npt.NDArray[np.float64]
OnProgress = Callable[[float], object]
"""Told which share of the work is done."""
NOT_ASKED = -1
"""Stands for what is said where nobody asks: in sequences that are known already."""


@dataclass
class Answers:
    """What is given behind each `asks`, a token each time, by the one who says it: a level may do
    so. How many of them were is `used`.
    """

    asks: int
    tokens: Ids
    used: int = 0

    @property
    def left(self) -> Ids:
        return self.tokens[self.used :]


class Session(ABC):
    """One sequence in progress."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.length = 0
        self.stopped: ProgramError | None = None

    def feed(self, token: int) -> int:
        """Take the next token of the sequence; return what the model says after it."""
        tokens = np.array([self.engine.check_token(token)], dtype=np.int32)
        *_, said = self.read(tokens, np.array([True]))
        return int(said[0])

    def check_room(self, count: int) -> None:
        """The sequence can take so many tokens more."""
        self.check()
        if self.length + count > self.engine.max_tokens:
            raise self.engine.too_long()

    def take(self, tokens: Ids) -> int:
        """Take several checked tokens; what the model says after the last of them."""
        asked = np.arange(len(tokens)) == len(tokens) - 1
        blocks = [np.array([NOT_ASKED]), *self.read(tokens, asked)]
        return int(blocks[-1][-1])

    def read(self, tokens: Ids, asked: Mask) -> Generator[Ids, None, None]:
        """Take several checked tokens: what the model says after each of them, where it is asked,
        some at a time. One that breaks a promise is an error, after what was said before it, and
        stops the sequence for good: the certificate would not cover what follows either.
        """
        self.check_room(len(tokens))
        try:
            for said in self._read(tokens, asked):
                self.length += len(said)
                yield said
        except ProgramError as error:
            self.stopped = error
            raise

    @abstractmethod
    def _read(self, tokens: Ids, asked: Mask) -> Iterator[Ids]:
        """The same for tokens that there is room for; `length` follows what is said."""

    def generate(self, first: int, count: int, answers: Answers | None = None) -> Ids:
        """`first`, and what the model says after it: `count` tokens, fewer after a stop token that
        is not answered; of a whole chunk perhaps some fewer.
        """
        said = [first][:count]
        while len(said) < count and said[-1] not in self.engine.stops:
            said.append(self.feed(said[-1]))
        return np.array(said, dtype=np.int32)

    def check(self) -> None:
        """Raise what stopped the sequence, if `generate` did not."""
        if self.stopped is not None:
            raise self.stopped

    def fresh(self) -> Session:
        """Another one, of the same run: an empty sequence."""
        return self.engine.session()

    def close(self) -> None:  # noqa: B027 (most have nothing to give back)
        """Nothing more is said: its memory is not needed any more."""

    @property
    def bytes(self) -> int:
        """Memory that the sequence occupies, if that is known."""
        return 0

    @property
    def placed(self) -> int:
        """How many tokens were said by code that knows the program."""
        return 0


class Engine(ABC):
    """A model that is ready to run at one level."""

    level: ClassVar[str]
    chunk: ClassVar[int] = 1
    """Tokens that are generated before anybody sees them, at most, as long as a run is short."""
    longest_chunk: ClassVar[int] = 1
    """The same for a long one."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.vocabulary = model.vocabulary
        self.stops = frozenset(model.plan["stops"])
        self._ids = {token: number for number, token in enumerate(self.vocabulary)}

    # -- what a level has to provide ----------------------------------------------------------

    @abstractmethod
    def session(self) -> Session:
        """A new, empty sequence."""

    def reader(self) -> Session:
        """A new sequence that is only read."""
        return self.session()

    @property
    def max_tokens(self) -> int:
        """The longest sequence that the certificate covers at this level."""
        return self.model.certificate.max_tokens

    @cached_property
    def identity(self) -> str:
        """What the weights compute: the same for all compilations of a graph, at all levels."""
        return self.model.identity

    @cached_property
    def digest(self) -> str:
        """Which weights a trace is of."""
        from curta.compiler.model import model_digest

        return model_digest(self.model)

    # -- what users call ----------------------------------------------------------------------

    def generate(self, prompt: Iterable[str], max_new_tokens: int | None = None) -> Iterator[str]:
        """Stream the tokens that follow the prompt, up to a stop token or the limit."""
        ids = self.encode(prompt)
        return (self.vocabulary[token] for token in self.generate_ids(ids, max_new_tokens))

    def generate_ids(
        self, prompt: Sequence[int], max_new_tokens: int | None = None
    ) -> Iterator[int]:
        """The same on token ids."""
        chunks = self.chunks(prompt, max_new_tokens)
        return (token for chunk in chunks for token in chunk.tolist())

    def run(self, prompt: Sequence[int], max_new_tokens: int | None = None) -> Ids:
        """The ids that follow the prompt, all at once."""
        return np.concatenate([np.zeros(0, np.int32), *self.chunks(prompt, max_new_tokens)])

    def chunks(self, prompt: Sequence[int], max_new_tokens: int | None = None) -> Iterator[Ids]:
        """The ids that follow the prompt, as many at a time as the level says at once."""
        ids, end = self.check_prompt(prompt), self.max_tokens + 1
        if max_new_tokens is not None:
            count = integer(max_new_tokens, "max_new_tokens", TokenError)
            if count < 0:
                raise TokenError(f"max_new_tokens={count}: expected 0 or more")
            end = len(ids) + count
        return self._chunks(ids, end)

    def replay(
        self, ids: Ids, asked: Mask | None = None, on_progress: OnProgress | None = None
    ) -> Generator[Ids, None, None]:
        """Read a sequence that is known: what is said after every position, as many at a time as
        the level reads at once; NOT_ASKED after those that are not `asked`.

        A position that breaks a promise is an error, after what was said before it.
        """
        ids, done = self.check_ids(ids), 0
        if len(ids) > self.max_tokens:
            raise self.too_long()
        for said in self.reader().read(
            ids, np.ones(len(ids), np.bool_) if asked is None else asked
        ):
            done += len(said)
            if on_progress is not None:
                on_progress(done / len(ids))
            yield said

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Token names as ids."""
        if isinstance(tokens, str) or not isinstance(tokens, Iterable):
            kind = "one string" if isinstance(tokens, str) else f"a {type(tokens).__name__}"
            raise TokenError(
                f"{short(tokens)} is {kind}; a prompt is a list of tokens, as in "
                f"{self.vocabulary[:1]}"
            )
        names = list(tokens)
        unknown = [name for name in names if not isinstance(name, str) or name not in self._ids]
        if unknown:
            known = " ".join(self.vocabulary[:16]) + (" ..." if len(self.vocabulary) > 16 else "")
            raise TokenError(f"unknown token {short(unknown[0])}; this model knows: {known}")
        return [self._ids[token] for token in names]

    # -- shared by all levels -----------------------------------------------------------------

    def chunk_at(self, length: int) -> int:
        """How many tokens are generated at once behind so many: nobody waits longer for them than
        all before took.
        """
        return min(max(self.chunk, length), self.longest_chunk)

    def check_prompt(self, prompt: Sequence[int]) -> Ids:
        """The prompt as an array, if it is one that the model can take."""
        ids = self.check_ids(prompt)
        if len(ids) == 0:
            raise TokenError("the prompt is empty; give at least one token")
        if len(ids) > self.max_tokens:
            raise TokenError(
                f"the prompt has {len(ids):,} tokens, the certificate covers {self.max_tokens:,}"
                f"{self.remedy}"
            )
        return ids

    def check_ids(self, tokens: Sequence[int] | Ids) -> Ids:
        """Token ids as an array."""
        try:
            # For lists, array() is faster than NumPy, and takes nothing but integers.
            ids = np.asarray(array("q", tokens) if isinstance(tokens, list | tuple) else tokens)
        except (ValueError, TypeError, OverflowError):
            ids = np.asarray(None)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise TokenError(
                f"{short(tokens)} is no list of token ids (integers from 0 to "
                f"{len(self.vocabulary) - 1}); names become ids with encode, or use generate"
            )
        wrong = ids[(ids < 0) | (ids >= len(self.vocabulary))]
        if len(wrong):
            raise self.unknown_id(int(wrong[0]))
        return ids.astype(np.int32, copy=False)

    def check_token(self, token: int) -> int:
        """One token id."""
        number = integer(token, "token id", TokenError)
        if not 0 <= number < len(self.vocabulary):
            raise self.unknown_id(number)
        return number

    def unknown_id(self, number: int) -> TokenError:
        count = len(self.vocabulary)
        return TokenError(f"token id {short(number)}: this model has {count} tokens, from 0 on")

    def _chunks(self, prompt: Ids, end: int) -> Iterator[Ids]:
        session = self.session()
        following = session.take(prompt)
        length, last = len(prompt), min(end, self.max_tokens)
        while length < last:
            said = session.generate(following, min(self.chunk_at(length), last - length))
            length += len(said)
            yield said
            if int(said[-1]) in self.stops:
                return
            session.check()
            if length < last:
                following = session.feed(int(said[-1]))
        if end > last:
            raise self.too_long()

    def too_long(self) -> RegionError:
        return RegionError(
            f"the sequence reached the {self.max_tokens:,} tokens that the certificate covers"
            f"{self.remedy}"
        )

    @property
    def remedy(self) -> str:
        """What to do if a sequence is longer than that."""
        if self.max_tokens < self.model.certificate.max_tokens:
            return (
                f" at level {self.level!r}, where softmax rounds running sums; use level 'hull' or "
                "'native', or promise smaller values with assume"
            )
        return "; compile the graph with a larger max_tokens"


def broken_promise(
    name: str, position: int, value: object, low: object, high: object
) -> RegionError:
    """The error of a run that leaves what the certificate was proved for."""
    return RegionError(
        f"position {position}: {name} is {value}, promised in [{low}, {high}]; the certificate "
        "does not cover this run"
    )
