"""Who does the talking: given tokens, a talker says what comes next, up to a token that hands over.

    SessionTalker    any level of the engine, as many tokens at a time as it says at once
    ReferenceTalker  the plain Python machine, which reads the same prompt

They say the same tokens; `Conversation` does not know which one it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from curta.engine.base import Answers, Engine, Session
from curta.machine.core_program import CoreProgram, Segment
from curta.machine.ids import ID_OF, START_ID, STOP_IDS, Ids, last_words
from curta.machine.instructions import MOST_TOKENS
from curta.machine.opening import split_opening
from curta.machine.parts.operations import Extension, Operations
from curta.machine.prompt import decode_prompt
from curta.machine.reference import CoreMachine

NOTHING: Ids = np.zeros(0, dtype=np.int32)
REFERENCE_STEPS = 4096
"""Core instructions that the reference machine does between two looks at the host."""


class Talker(Protocol):
    """One conversation in progress."""

    @property
    def engine(self) -> Engine | None:
        """Whose weights do the talking; the machine in plain Python has none."""

    @property
    def max_tokens(self) -> int:
        """How long the conversation may become."""

    @property
    def memory_bytes(self) -> int:
        """What the state of the conversation occupies, if that is known."""

    @property
    def placed(self) -> int:
        """How many tokens were said by code that knows the program."""

    def fresh(self) -> Talker:
        """The same machine, to which nothing was said."""

    def close(self) -> None:
        """Nothing more is said: its memory is not needed any more."""

    def talk(self, given: Ids, most: int, answers: Answers | None = None) -> Iterator[Ids]:
        """Take tokens, and say the following: at most so many, the last one a stop token if there
        are fewer. No token can be given twice, none left out; nothing given means: go on. Who says
        an answer by himself has it among what he says.
        """


class SessionTalker:
    """A sequence of tokens that weights say."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.pending = NOTHING
        """What was said and not fed back: the last token."""

    @property
    def engine(self) -> Engine:
        return self.session.engine

    @property
    def max_tokens(self) -> int:
        return self.engine.max_tokens

    @property
    def memory_bytes(self) -> int:
        return self.session.bytes

    @property
    def placed(self) -> int:
        return self.session.placed

    def fresh(self) -> SessionTalker:
        return SessionTalker(self.session.fresh())

    def close(self) -> None:
        self.session.close()

    def talk(self, given: Ids, most: int, answers: Answers | None = None) -> Iterator[Ids]:
        session = self.session
        fed = np.concatenate([self.pending, given]) if len(self.pending) else given
        following, known = session.take(fed) if most > 0 else 0, 0
        while most > 0:
            count = min(session.engine.chunk_at(session.length), most)
            said = session.generate(following, known + count, answers)[known:]
            if len(said):
                self.pending = said[-1:].copy()
                most -= len(said)
                yield said
            following, known = int(self.pending[0]), 1  # it was said, and is not fed back yet
            if following in STOP_IDS:
                return
            session.check()


class ReferenceTalker:
    """The machine in plain Python. The first tokens that it is given hold the program, unless it
    knows one.

    It does whole instructions, and so may say a few tokens more than it should.
    """

    engine = None
    max_tokens = MOST_TOKENS
    memory_bytes = placed = 0

    def __init__(
        self, extensions: Sequence[Extension] = (), program: CoreProgram | None = None
    ) -> None:
        self.extensions = tuple(extensions)
        self.program = program
        self.machine: CoreMachine | None = None

    def fresh(self) -> ReferenceTalker:
        return ReferenceTalker(self.extensions, self.program)

    def close(self) -> None:
        self.machine = None

    def talk(self, given: Ids, most: int, answers: Answers | None = None) -> Iterator[Ids]:
        machine = self._take(given)
        while most > 0:
            stopped = None
            for _ in range(min(REFERENCE_STEPS, most)):
                stopped = machine.step()
                if stopped is not None:
                    break
            said = np.array([ID_OF[token] for token in machine.tokens], dtype=np.int32)
            machine.tokens.clear()
            most -= len(said)
            yield said
            if stopped is not None:
                return

    def _take(self, given: Ids) -> CoreMachine:
        if self.machine is None:
            records, opening = split_opening(given)
            names = Operations(self.extensions).names
            known = self.program or decode_prompt(np.append(records, START_ID), names)
            self.machine = CoreMachine(replace(known, segments=()), self.extensions)
            for first, content in opening.memory:
                self.machine.give_memory(Segment(first, content.tobytes()))
            for first, words in opening.registers:
                self.machine.registers.update(enumerate(words.tolist(), first))
            self.machine.frame, self.machine.counter = opening.frame, opening.counter
        elif len(given):
            (word,) = last_words(given, 1)
            self.machine.give(word)
            self.machine.tokens.clear()
        return self.machine
