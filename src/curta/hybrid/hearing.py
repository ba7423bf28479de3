"""A call of a module, token by token: what is heard of it, or said again as it was before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from curta.engine.base import Answers, Ids
from curta.errors import VerifyError
from curta.machine.host import Host
from curta.machine.ids import STOP_IDS
from curta.machine.instance import Instance
from curta.machine.instructions import MOST_TOKENS
from curta.machine.loaded import LoadedProgram
from curta.machine.machine import Machine
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


class RecordedTalker:
    """Says contexts that were said before, one after the other, instead of what weights say.

    failure: why a run that says them again came to another end
    """

    max_tokens = MOST_TOKENS
    memory_bytes = placed = 0
    engine = None

    def __init__(self, contexts: Iterable[Ids]) -> None:
        self.contexts = iter(contexts)
        self.failure: VerifyError | None = None
        self.ids: Ids | None = None
        """What is left of a context that has begun."""

    def fresh(self) -> RecordedTalker:
        """The next context."""
        self.ids = None
        return self

    def close(self) -> None:
        """There is nothing to be given back."""

    def talk(self, given: Ids, most: int, answers: Answers | None = None) -> Iterator[Ids]:
        ids = self.behind(given)
        stops = np.flatnonzero(np.isin(ids[:most], STOPS))
        end = int(stops[0]) + 1 if len(stops) else min(most, len(ids))
        self.ids = ids[end:]
        yield ids[:end]
        if not len(stops) and end < most:
            raise self.failed("the tokens end before the program does")

    def behind(self, given: Ids) -> Ids:
        """What is left of a context behind what it is given, which has to be there."""
        ids = next(self.contexts, NOTHING) if self.ids is None else self.ids
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
    recorded: RecordedTalker | None = None
    contexts: list[tuple[Ids, list[Ids]]] = field(default_factory=list)

    def opened(self, ids: Ids) -> None:
        """A context begins with these: a program, its state, or a prompt."""
        self.contexts.append((ids := ids.copy(), []))
        self.tell(ModuleSaid(self.module, ids, opens=True))

    def said(self, ids: Ids) -> None:
        """What is said behind that, the words that the host puts in included."""
        self.contexts[-1][1].append(ids := ids.copy())
        self.tell(ModuleSaid(self.module, ids, opens=False))


class HeardMachine(Machine):
    """The machine in one call."""

    def __init__(self, machine: Machine, hearing: Hearing) -> None:
        super().__init__(machine.level, extensions=machine.extensions)
        self.engine = machine.engine
        self._programs = machine._programs
        self.hearing = hearing

    def talker(self) -> Talker:
        recorded = self.hearing.recorded
        return super().talker() if recorded is None else recorded.fresh()

    def start(
        self, program: LoadedProgram, host: Host | None = None, *others: Any, **options: Any
    ) -> Instance:
        heard = replace(host or Host(), on_opening=self.hearing.opened, on_tokens=self.hearing.said)
        return super().start(program, heard, *others, **options)
