"""A call of a module, token by token: what is heard of it, or said again as it was before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from curta.engine.base import Ids
from curta.errors import VerifyError
from curta.hybrid.vocabulary import JointIds, JointVocabulary
from curta.machine.conversation import ConversationLimits
from curta.machine.core_program import Segment
from curta.machine.host import Host
from curta.machine.ids import STOP_IDS
from curta.machine.instance import Instance
from curta.machine.instructions import MOST_TOKENS
from curta.machine.loaded import LoadedProgram
from curta.machine.machine import Machine
from curta.machine.run import DEFAULT_LIMITS
from curta.machine.talkers import NOTHING, Talker

STOPS = np.array(sorted(STOP_IDS))


@dataclass(frozen=True, slots=True)
class ModuleSaid:
    """Tokens of a module, by their numbers in its own vocabulary; they are no text.

    opens: a context begins with these, which the host says
    """

    module: str
    ids: Ids
    opens: bool
    text: str = ""


class Recorded:
    """Contexts that were said before, one after the other.

    failure: why a run that says them again came to another end
    """

    def __init__(self, contexts: Iterable[Ids]) -> None:
        self.contexts = iter(contexts)
        self.failure: VerifyError | None = None

    def context(self, given: Ids) -> Ids:
        """What was said in the next one, behind what it is given."""
        return self.behind(next(self.contexts, NOTHING), given)

    def behind(self, ids: Ids, given: Ids) -> Ids:
        """What is left of tokens behind what has to be the first ones."""
        if not np.array_equal(ids[: len(given)], given):
            raise self.failed("the host says something else here than the transcript has")
        return ids[len(given) :]

    def failed(self, why: str) -> VerifyError:
        self.failure = VerifyError(why)
        return self.failure


@dataclass
class Hearing:
    """One call of a module.

    tell:     is told of its tokens as they come
    recorded: what it says, instead of what weights say
    contexts: what opens each, and what is said behind that
    """

    module: str
    tell: Callable[[Any], object] = lambda said: None
    recorded: Recorded | None = None
    contexts: list[tuple[Ids, list[Ids]]] = field(default_factory=list)

    def opened(self, ids: Ids) -> None:
        """A context begins with these: a program, its state, or a prompt."""
        self.contexts.append((ids := ids.copy(), []))
        self.tell(ModuleSaid(self.module, ids, opens=True))

    def said(self, ids: Ids) -> None:
        """What is said behind that, the words that the host puts in included."""
        self.contexts[-1][1].append(ids := ids.copy())
        self.tell(ModuleSaid(self.module, ids, opens=False))

    def joint(self, vocabulary: JointVocabulary) -> list[JointIds]:
        """Contexts as the stream has them."""
        return [
            vocabulary.context(self.module, np.concatenate([opening, *said]))
            for opening, said in self.contexts
        ]


class HeardMachine(Machine):
    """The machine in one call."""

    def __init__(self, machine: Machine, hearing: Hearing) -> None:
        super().__init__(machine.level, extensions=machine.extensions)
        self.engine = machine.engine
        self._programs = machine._programs
        self.hearing = hearing

    def talker(self) -> Talker:
        recorded = self.hearing.recorded
        return super().talker() if recorded is None else RecordedTalker(recorded)

    def start(
        self,
        program: LoadedProgram,
        host: Host | None = None,
        limits: ConversationLimits = DEFAULT_LIMITS,
        segments: Sequence[Segment] = (),
    ) -> Instance:
        heard = replace(host or Host(), on_opening=self.hearing.opened, on_tokens=self.hearing.said)
        return super().start(program, heard, limits, segments)


class RecordedTalker:
    """Says what was said before instead of what weights say."""

    max_tokens = MOST_TOKENS
    memory_bytes = placed = 0
    engine = None

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.ids: Ids | None = None
        """What is left of the context."""

    def fresh(self) -> RecordedTalker:
        return RecordedTalker(self.recorded)

    def close(self) -> None:
        """There is nothing to be given back."""

    def talk(self, given: Ids, most: int) -> Iterator[Ids]:
        recorded = self.recorded
        if self.ids is None:
            self.ids = recorded.context(given)
        else:
            self.ids = recorded.behind(self.ids, given)
        stops = np.flatnonzero(np.isin(self.ids[:most], STOPS))
        end = int(stops[0]) + 1 if len(stops) else min(most, len(self.ids))
        said, self.ids = self.ids[:end], self.ids[end:]
        yield said
        if not len(stops) and end < most:
            raise recorded.failed("the tokens end before the program does")
