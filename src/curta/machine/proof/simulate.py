"""One function: whatever the program does from its start on, WebAssembly does.

Both sides are executed on terms from each *meeting* (an instruction of the program that several
ways lead to) along every way to the next ones, or to the end of the function; there both have to
agree. At a meeting it is known where WebAssembly is (a hint of the lowering), and what registers,
locals, operands and the world are. A word that is the same term on all ways keeps it; all others
get new symbols, the same one for words that agree on every way. In a loop that is at first assumed
of all words, and taken back where the way round the loop shows otherwise, until nothing changes:
then what is assumed at every meeting follows from what is assumed at those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from curta.machine.program import Callee, Place
from curta.machine.proof.join import Joining
from curta.machine.proof.modules import SourceFunction, Sources
from curta.machine.proof.order import Component, visiting_order
from curta.machine.proof.source import (
    Frame,
    Refused,
    SourceRun,
    State,
    Undecided,
    start_frame,
    word_count,
)
from curta.machine.proof.target import Ending, Registers, Target, TargetRun, Way
from curta.machine.proof.terms import ZERO, Term, Terms
from curta.machine.wasm.module import FunctionType

_MOST_ROUNDS = 60
_MOST_FORKS = 50
_MOST_FACTS = 16
"""That are kept at a meeting, the newest."""
_ENDS = ("trap", "return", "exit")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A way that has come to a meeting: words of the source, registers of the program."""

    words: tuple[Term, ...]
    registers: Registers
    facts: dict[Term, bool]


@dataclass(slots=True)
class Meeting:
    """`state` is one of the source's that came here; its words are those of `words`."""

    at: int
    state: State | None = None
    words: tuple[Term, ...] = ()
    registers: Registers = field(default_factory=dict)
    facts: dict[Term, bool] = field(default_factory=dict)
    """What is known on all ways that lead here."""
    arrivals: dict[int, list[Arrival]] = field(default_factory=dict)
    """By the meeting that they come from."""
    own: set[Term] = field(default_factory=set)
    """The symbols that were made here."""
    settled: bool = False


@dataclass
class FunctionProof:
    """Proves one function. `place_of` says where WebAssembly is at an instruction: a hint."""

    terms: Terms
    sources: Sources
    target: Target
    callee: Callee
    start: int
    place_of: Callable[[int, bool], Place]
    inlined: Mapping[Place, Callee]
    lemmas: set[str] = field(default_factory=set)
    is_thorough: bool = False

    def __post_init__(self) -> None:
        self.function: SourceFunction = self.sources.function(self.callee)
        self.source = SourceRun(self.terms, self.sources, self.inlined, self.lemmas)
        type_ = self.function.type
        self.returns_by = self.terms.node("return address")
        results = word_count(type_.results)
        self.run = TargetRun(
            self.terms,
            self.sources,
            self.target,
            self.start,
            self.returns_by,
            results,
            self._catch_up,
            self._type,
        )

    def prove(self) -> None:
        """Raises Refused where it cannot. What one side learns later than the other is compared
        with all facts in mind only if it has to be: it takes time.
        """
        try:
            self._prove()
        except Refused:
            self.is_thorough = True
            self._prove()

    def _prove(self) -> None:
        self.successors = self._find_meetings()
        self.meetings = {at: Meeting(at) for at in self.successors}
        self.places = frozenset(self.successors)
        self._begin()
        self._visit(visiting_order(self.successors, self.start))
        for meeting in self.meetings.values():
            if any(meeting.arrivals.values()) and not meeting.settled:
                raise Refused(f"ways to {meeting.at} were not followed")

    # -- the shape of the program -----------------------------------------------------------------

    def _find_meetings(self) -> dict[int, list[int]]:
        """Where ways meet, and which meetings follow each."""
        start, target = self.start, self.target
        count = {start: 2}
        after: dict[int, tuple[int, ...]] = {}
        waiting = [start]
        while waiting:
            at = waiting.pop()
            if at in after:
                continue
            if not 0 <= at < len(target.instructions):
                raise Refused(f"it goes on behind the last instruction, at {at}")
            after[at] = tuple(target.successors(at, start))
            for following in after[at]:
                count[following] = count.get(following, 0) + 1
                waiting.append(following)
        self.visited = after.keys()
        self.called = self._find_calls(after)
        meetings = {at for at, ways in count.items() if ways > 1 and self._is_meeting(at)} | {start}
        return {at: _following(at, after, meetings) for at in sorted(meetings)}

    def _is_meeting(self, at: int) -> bool:
        """Ends are reached on every way by itself, and so is what jumps lead to, if not to jumps
        round and round.
        """
        instructions, seen = self.target.instructions, set()
        while instructions[at].operation == "jump" and at not in seen:
            seen.add(at)
            at = instructions[at].target
        return at in seen if seen else instructions[at].operation not in _ENDS

    def _find_calls(self, visited: Iterable[int]) -> set[int]:
        """Where the functions begin that this one calls or ends with."""
        found = set()
        for at in visited:
            instruction = self.target.instructions[at]
            leaves = instruction.operation == "jump" and self.target.leaves(instruction, self.start)
            if instruction.operation == "call" or leaves:
                found.add(instruction.target)
        return found

    def _begin(self) -> None:
        node = self.terms.node
        type_ = self.function.type
        takes = word_count(type_.parameters)
        words = tuple(node("parameter", n) for n in range(takes))
        shared = {register: node("shared at start", register) for register in self.target.shared}
        registers: Registers = {**dict(enumerate(words)), **shared}
        registers[max(takes, word_count(type_.results))] = self.returns_by
        state = State(start_frame(self.function, words), shared, node("world"))
        self._arrive(-1, self.meetings[self.start], state, registers, {})

    # -- visiting ---------------------------------------------------------------------------------

    def _visit(self, order: tuple[int | Component, ...]) -> None:
        for item in order:
            meeting = self.meetings[item if isinstance(item, int) else item.head]
            if isinstance(item, Component):
                for member in item.members():
                    meeting.arrivals.pop(member, None)
            if not any(meeting.arrivals.values()):  # no way leads here, as values say
                if isinstance(item, Component):
                    self._visit_from_within(item)
                continue
            if isinstance(item, Component):
                self._visit_loop(item, meeting)
            else:
                self._settle(meeting)
                self._explore(meeting)

    def _visit_from_within(self, loop: Component) -> None:
        """A loop whose head no way leads to may be entered at another of its members."""
        members = set(loop.members())
        entered = [
            member
            for member in members
            for origin, arrived in self.meetings[member].arrivals.items()
            if arrived and origin not in members
        ]
        if len(set(entered)) > 1:
            raise Refused(f"the loop at {loop.head} is entered at several places, not at its head")
        if entered:
            inside = {one: [s for s in self.successors[one] if s in members] for one in members}
            self._visit(visiting_order(inside, entered[0]))

    def _visit_loop(self, loop: Component, head: Meeting) -> None:
        for _ in range(_MOST_ROUNDS):
            if not self._settle(head):
                return
            self._explore(head)
            self._visit(loop.body)
        raise Refused(f"what holds in the loop at {head.at} was not found")

    def _settle(self, meeting: Meeting) -> bool:
        """What all arrivals agree on; whether that is new."""
        arrivals = [one for ways in meeting.arrivals.values() for one in ways]
        self.terms.facts = {}
        before = meeting.words, meeting.registers, meeting.facts
        common = [
            register
            for register in (meeting.registers if meeting.settled else arrivals[0].registers)
            if all(register in arrival.registers for arrival in arrivals)
        ]
        columns = [*zip(*(arrival.words for arrival in arrivals), strict=True)]
        columns += [tuple(one.registers[register] for one in arrivals) for register in common]
        old: list[Term] = [ZERO] * len(columns)
        if meeting.settled:
            old = [*meeting.words, *(meeting.registers[register] for register in common)]
        joining = Joining(self.terms, meeting.at, meeting.own)
        words = joining.words(columns, old)
        count = len(arrivals[0].words)
        meeting.words = tuple(words[:count])
        meeting.registers = dict(zip(common, words[count:], strict=True))
        facts = joining.facts([arrival.facts for arrival in arrivals])
        meeting.facts = dict(list(facts.items())[-_MOST_FACTS:])
        changed = not meeting.settled or before != (
            *(meeting.words, meeting.registers, meeting.facts),
        )
        meeting.settled = True
        return changed

    def _explore(self, meeting: Meeting) -> None:
        """Follow all ways from a meeting."""
        for following in self.successors[meeting.at]:
            self.meetings[following].arrivals.pop(meeting.at, None)
        assert meeting.state is not None
        if self.is_thorough:
            self.source.leaves = {*meeting.words, *meeting.registers.values()}
        state = _with_words(meeting.state, meeting.words)
        facts = meeting.facts.copy()
        way = Way(meeting.at, meeting.registers.copy(), meeting.words[-1], facts)
        way.state, way.facts_then = state, len(facts)
        for ending in self.run.follow(way, self.places):
            try:
                self._compare(meeting, ending)
            except Refused as refused:
                why = str(refused)
                if self.source.other_world is not None:
                    why = self._difference(ending.way.world, self.source.other_world)
                raise Refused(f"from {meeting.at} to {ending.way.at}: {why}") from None

    def _catch_up(self, way: Way) -> None:
        """Bring WebAssembly to where a way forks, so that both sides know as much; or leave it."""
        assert way.state is not None
        state = way.state.copy()
        place = self.place_of(way.at, False)
        try:
            if not state.frame.is_at(place) or state.world != way.world:
                state = self.source.run(state, place, way.world, way.new_facts, exactly=True)
        except (Refused, Undecided):
            return
        way.state, way.facts_then = state, len(way.facts)

    # -- comparing --------------------------------------------------------------------------------

    def _compare(self, origin: Meeting, ending: Ending) -> None:
        """Bring the source to where a way of the program has come, and compare."""
        way = ending.way
        facts = [way.facts]
        for _ in range(_MOST_FORKS):
            if not facts:
                break
            self.terms.facts = facts.pop()
            assert way.state is not None
            reached = way.state.copy()
            reached.moved = reached.moved or way.at != origin.at
            try:
                if ending.how[0] == "meet":
                    place = self.place_of(way.at, True)
                    reached = self.source.run(reached, place, way.world, way.new_facts)
                    meeting = self.meetings[way.at]
                    self._arrive(origin.at, meeting, reached, way.registers, self.terms.facts)
                else:
                    self._check_end(way, ending.how, self.source.run(reached))
            except Undecided as undecided:
                facts += self._cases(undecided.truth)
        else:
            raise Refused(f"WebAssembly forks too often on the way to {way.at}")
        self.terms.facts = way.facts

    def _cases(self, truth: Term) -> list[dict[Term, bool]]:
        """What a way of the source may bring: the facts in other words, or what is undecided."""
        known = self.terms.facts
        more = known.copy()
        leaves = self.source.leaves
        for atom, holds in known.items() if leaves is not None else ():
            self.terms.facts = {fact: value for fact, value in known.items() if fact != atom}
            again = self.terms.as_known([atom], leaves or set())[atom]
            if again >= 0:
                fact, positive = self.terms.fact(again)
                more.setdefault(fact, holds == positive)
        self.terms.facts = known
        if len(more) > len(known):
            return [more]
        fact, _ = self.terms.fact(truth)
        return [{**known, fact: True}, {**known, fact: False}]

    def _arrive(
        self,
        origin: int,
        meeting: Meeting,
        state: State,
        registers: Registers,
        facts: dict[Term, bool],
    ) -> None:
        words, registers = _words_of(state), registers.copy()
        if self.source.leaves is not None:
            known = self.terms.as_known((*words, *registers.values()), self.source.leaves)
            words = tuple(known[word] for word in words)
            registers = {register: known[term] for register, term in registers.items()}
        if meeting.state is not None and len(_words_of(meeting.state)) != len(words):
            raise Refused(f"WebAssembly comes to {meeting.at} with other operands")
        meeting.state = state
        meeting.arrivals.setdefault(origin, []).append(Arrival(words, registers, facts))

    def _check_end(self, way: Way, how: tuple[object, ...], state: State) -> None:
        shared = [way.registers[register] for register in state.shared]
        ours = [way.world, *_numbers(how), *(shared if how[0] != "exit" else ())]
        ended = state.ended or ()
        theirs = [state.world, *_numbers(ended), *(state.shared.values() if shared else ())]
        theirs = theirs[: len(ours)] if how[0] == "exit" else theirs
        if how[0] != ended[0] or len(ours) != len(theirs):
            raise Refused(f"the program ends by {how[0]}, WebAssembly by {ended[0]}")
        for one, other in zip(ours, theirs, strict=True):
            if not self.source.is_same(one, other):
                if one == way.world:
                    raise Refused(self._difference(way.world, state.world))
                raise Refused(
                    f"at the end ({how[0]}) the program has {self._show(one)}, "
                    f"WebAssembly {self._show(other)}"
                )

    def _type(self, at: int) -> FunctionType:
        place = self.place_of(at, False)
        function = self.sources.function(place.callee)
        instruction = function.body[place.instruction]
        if instruction.opcode != "call_indirect":
            raise Refused(f"instruction {at} calls indirectly, WebAssembly does not")
        return function.module.module.types[instruction.operands[0]]

    # -- what is said of a difference -------------------------------------------------------------

    def _difference(self, world: Term, other: Term) -> str:
        """The first event that differs."""
        ours, theirs = self._events(world), self._events(other)
        for one, another in zip(ours, theirs, strict=False):
            if one != another:
                return f"the program does {self._show(one)}, WebAssembly {self._show(another)}"
        more = ours[len(theirs) :] or theirs[len(ours) :]
        who = "the program" if len(ours) > len(theirs) else "WebAssembly"
        return f"{who} does more: {self._show(more[0]) if more else 'nothing'}"

    def _events(self, world: Term) -> list[tuple[object, ...]]:
        events: list[tuple[object, ...]] = []
        while world >= 0:
            node = self.terms.nodes[world]
            if len(node) < 2 or node[0] == "symbol":
                events.append(node)
                break
            events.append((node[0], *node[2:-1]))
            world = node[1]  # type: ignore[assignment]
        return events[::-1]

    def _show(self, term: object, depth: int = 4) -> str:
        if isinstance(term, tuple):
            return f"({' '.join(self._show(part, depth) for part in term)})"
        if not isinstance(term, int) or term >= len(self.terms.nodes):
            return str(term)
        if term < 0:
            return f"{~term:#x}"
        if depth == 0:
            return f"t{term}"
        node = self.terms.nodes[term]
        if node[0] in ("symbol", "parameter", "world", "junk", "result"):
            return f"{node[0]}{node[1:]}"
        return f"({node[0]} {' '.join(self._show(part, depth - 1) for part in node[1:])})"


def _numbers(how: tuple[object, ...]) -> list[Term]:
    """What a way ends with, as terms."""
    found: list[Term] = []
    for part in how[1:]:
        found += part if isinstance(part, tuple) else [part]  # type: ignore[list-item]
    return found if how[0] != "trap" else [~found[0]]


def _following(at: int, after: Mapping[int, tuple[int, ...]], meetings: set[int]) -> list[int]:
    """The meetings that ways from `at` lead to."""
    found: dict[int, None] = {}
    waiting = list(after[at][::-1])
    while waiting:
        place = waiting.pop()
        if place in meetings:
            found[place] = None
        else:
            waiting += after[place][::-1]
    return list(found)


def _words_of(state: State) -> tuple[Term, ...]:
    """All words of a state, always in the same order; the world is the last."""
    words: list[Term] = []
    frame: Frame | None = state.frame
    while frame is not None:
        for operand in (*frame.locals, *frame.stack):
            words += operand
        frame = frame.parent
    return (*words, *state.shared.values(), state.world)


def _with_words(state: State, words: tuple[Term, ...]) -> State:
    """A state like this one with other words."""
    new = state.copy()
    left = iter(words)
    frame: Frame | None = new.frame
    while frame is not None:
        for operands in (frame.locals, frame.stack):
            for number, operand in enumerate(operands):
                operands[number] = tuple(next(left) for _ in operand)
        frame = frame.parent
    for register in new.shared:
        new.shared[register] = next(left)
    new.world = next(left)
    new.ended, new.moved = None, False
    return new
