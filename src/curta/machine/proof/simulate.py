"""One function: whatever the program does from its start on, WebAssembly does.

Where paths meet, the lowering claims what both sides hold there: which register is the same word as
which local or operand, or how it is made of others. From each such *meeting* both sides are
executed on terms, along every path to the next ones or to the end of the function. There both have
to agree, and the claim of the meeting that was reached has to be true: then all claims are, by
induction over the length of a run. Nothing but this rests on claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace

from curta.machine.core_program import Callee, Claim, WasmLocation
from curta.machine.proof.explain import difference, shown
from curta.machine.proof.modules import Refused, SourceFunction, Sources
from curta.machine.proof.source import Frame, SourceRun, State, Undecided, start_frame
from curta.machine.proof.target import ExecutionPath, PathEnd, Registers, Target, TargetRun
from curta.machine.proof.terms import ONE, Term, Terms
from curta.machine.values import word_count
from curta.machine.wasm.module import FunctionType

_MOST_FORKS = 200
_MOST_STEPS, _MORE_STEPS = 100, 20_000
"""Of a proof: so often every instruction is executed at an average, at most, and so much more."""


@dataclass
class FunctionProof:
    """Proves one function. `place_of` says what of WebAssembly an instruction is for: a hint."""

    terms: Terms
    sources: Sources
    target: Target
    callee: Callee
    start: int
    place_of: Callable[[int], WasmLocation]
    claims: Mapping[int, Claim]
    inlined: Mapping[WasmLocation, Callee]
    divided: Set[WasmLocation]
    lemmas: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.function: SourceFunction = self.sources.function(self.callee)
        self.source = SourceRun(self.terms, self.sources, self.inlined, self.divided, self.lemmas)
        self.returns_by = self.terms.node("return address")
        results = word_count(self.function.type.results)
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
        """Raises Refused where it cannot."""
        after = self.target.reached(self.start)
        self.meetings = self._find_meetings(after)
        length = len(self.function.body) + len(after)
        self.source.left = self.run.left = _MOST_STEPS * length + _MORE_STEPS
        self.waiting = [self._beginning()]
        self.seen: set[int] = set()
        while self.waiting:
            path = self.waiting.pop()
            for level in range(3):  # with all facts in mind it takes longer
                self.source.is_thorough, self.terms.is_replacing = level > 0, level > 1
                try:
                    self._explore(path)
                    break
                except Refused:
                    if level == 2:
                        raise

    # -- the shape of the program -----------------------------------------------------------------

    def _find_meetings(self, after: Mapping[int, tuple[int, ...]]) -> frozenset[int]:
        """Where paths meet, as far as something is claimed there."""
        count = {self.start: 1}
        for paths in after.values():
            for following in paths:
                count[following] = count.get(following, 0) + 1
        return frozenset(at for at in after if count[at] > 1 and at in self.claims)

    def _beginning(self) -> ExecutionPath:
        node = self.terms.node
        type_ = self.function.type
        takes = word_count(type_.parameters)
        words = tuple(node("parameter", n) for n in range(takes))
        shared = {register: node("shared at start", register) for register in self.target.shared}
        registers: Registers = {**dict(enumerate(words)), **shared}
        registers[max(takes, word_count(type_.results))] = self.returns_by
        world = node("world")
        state = State(start_frame(self.function, words), shared, world)
        return ExecutionPath(self.start, registers, world, state=state, origin=-1)

    # -- from meeting to meeting ------------------------------------------------------------------

    def _explore(self, path: ExecutionPath) -> None:
        """Follow all paths from the beginning or a meeting."""
        origin = path.origin
        for ending in self.run.follow(path.fork_to(path.at), self.meetings):
            try:
                self._compare(ending)
            except Refused as refused:
                why = str(refused)
                if self.source.other_world is not None:
                    why = difference(self.terms, ending.path.world, self.source.other_world)
                raise Refused(f"from {origin} to {ending.path.at}: {why}") from None

    def _catch_up(self, path: ExecutionPath) -> list[ExecutionPath]:
        """Bring WebAssembly to where a path forks, so that both sides know as much; or leave it. If
        one is thorough, paths fork where WebAssembly does.
        """
        place = self.place_of(path.at)
        caught_up: list[ExecutionPath] = []
        waiting = [path]
        while waiting:
            next_path = waiting.pop()
            self.terms.facts = next_path.facts
            state = next_path.state.copy()
            try:
                if not state.frame.is_at(place) or state.world != next_path.world:
                    next_path.state = self.source.run(state, place, next_path.world)
            except Undecided as undecided:
                if self.source.is_thorough and len(caught_up) + len(waiting) < _MOST_FORKS:
                    for known in self._cases(undecided.truth):
                        waiting.append(replace(next_path.fork_to(next_path.at), facts=known))
                    continue
            except Refused:
                pass
            caught_up.append(next_path)
        return caught_up

    def _compare(self, ending: PathEnd) -> None:
        """Bring the source to where a path of the program has come, and compare."""
        path = ending.path
        facts = [path.facts]
        for _ in range(_MOST_FORKS):
            if not facts:
                break
            known = self._in_other_words(facts.pop())
            if known is None:
                continue
            self.terms.facts = known
            reached = path.state.copy()
            reached.moved |= path.at > path.origin  # what goes back has to make progress
            try:
                if ending.how[0] == "meet":
                    self._meet(path, reached)
                else:
                    self._check_end(path, ending.how, self.source.run(reached, None, path.world))
            except Undecided as undecided:
                facts += self._cases(undecided.truth)
            except Refused:
                if self._in_other_words(self.terms.facts) is not None:
                    raise
        else:
            raise Refused(f"WebAssembly forks too often on the way to {path.at}")
        self.terms.facts = path.facts

    def _cases(self, truth: Term) -> list[dict[Term, bool]]:
        """What a path of the source may bring: what is undecided, unless that follows from the
        facts in other words.
        """
        terms, known = self.terms, self.terms.facts
        fact, _ = terms.fact(truth)
        if self.source.is_thorough:
            again = terms.as_known([fact])[fact]
            if again < 0:
                return [{**known, fact: again == ONE}]
        return [{**known, fact: True}, {**known, fact: False}]

    def _in_other_words(self, known: dict[Term, bool]) -> dict[Term, bool] | None:
        """The facts, and if one is thorough, what each is in the knowledge of the others; None if
        they contradict each other, so that nothing can come this way.
        """
        if not self.source.is_thorough:
            return known
        terms, more = self.terms, known.copy()
        for atom, holds in known.items():
            terms.facts = {other: value for other, value in known.items() if other != atom}
            again = terms.as_known([atom])[atom]
            terms.facts = known
            if again < 0 and (again == ONE) != holds:
                return None
            if again >= 0:
                other, positive = terms.fact(again)
                if more.setdefault(other, holds == positive) != (holds == positive):
                    return None
        return more

    # -- meetings ---------------------------------------------------------------------------------

    def _meet(self, path: ExecutionPath, state: State) -> None:
        """The claim is true on this path; what follows it is looked at once."""
        claim = self.claims[path.at]
        place = self.sources.behind_markers(claim.place)

        def differs(reached: State) -> str | None:
            return self._differs(claim, reached, path.registers)

        reached = self.source.run(state, place, path.world, differs)
        if path.at not in self.seen:
            self.seen.add(path.at)
            self.waiting.append(self._claimed(claim, path.at, reached))

    def _differs(self, claim: Claim, state: State, registers: Registers) -> str | None:
        """Why the claim is not true of these words and registers, if it is not."""
        words = _words_of(state.frame)
        if len(words) != len(claim.words):
            return f"WebAssembly has {len(words)} words instead of {len(claim.words)}"
        pairs = [*zip(claim.words, words, strict=True)]
        for register, number in claim.registers.items():
            held = registers.get(register)
            if held is None:
                return f"register {register} is claimed to hold a word"
            if number is None and held != self.returns_by:
                return f"register {register} does not hold where to return to"
            if number is not None:
                pairs.append((number, held))
        meant: dict[int, Term] = {}
        for number, term in pairs:
            if number >= 0 and number not in claim.made:
                meant.setdefault(number, term)
        facts, self.terms.facts = self.terms.facts, {}
        self._make(claim, meant)
        self.terms.facts = facts
        for number, term in pairs:
            if not self.source.is_same(term, meant[number] if number >= 0 else number):
                return f"{shown(self.terms, term)} is not what is claimed of it"
        for register in self.target.shared:
            if not self.source.is_same(registers[register], state.shared[register]):
                return f"shared register {register} holds another word"
        return None

    def _make(self, claim: Claim, meant: dict[int, Term]) -> None:
        """What is made of other words."""
        for number, (name, sources) in claim.made.items():
            parts = [source if source < 0 else meant.get(source) for source in sources]
            if None in parts:
                raise Refused(f"a claim of {claim.place} is made of nothing")
            meant[number] = self.terms.value(name, *parts)  # type: ignore[arg-type]

    def _claimed(self, claim: Claim, at: int, reached: State) -> ExecutionPath:
        """Any state in which the claim is true."""
        node = self.terms.node
        self.terms.facts = {}
        numbers = [*claim.words, *claim.registers.values()]
        meant = {
            number: node("symbol", at, number)
            for number in numbers
            if number is not None and number >= 0 and number not in claim.made
        }
        self._make(claim, meant)

        def term(number: int) -> Term:
            return number if number < 0 else meant[number]

        state = reached.copy()
        _set_words(state.frame, tuple(map(term, claim.words)))
        registers = {
            register: self.returns_by if number is None else term(number)
            for register, number in claim.registers.items()
        }
        for register in self.target.shared:
            held = registers.setdefault(register, node("symbol", at, "shared", register))
            state.shared[register] = held
        state.world = node("symbol", at, "world")
        state.ended, state.moved = None, False
        return ExecutionPath(at, registers, state.world, state=state, origin=at)

    # -- ends -------------------------------------------------------------------------------------

    def _check_end(self, path: ExecutionPath, how: tuple[object, ...], state: State) -> None:
        shared = [path.registers[register] for register in state.shared]
        ours = [path.world, *_numbers(how), *shared]
        ended = state.ended or ()
        theirs = [state.world, *_numbers(ended), *state.shared.values()]
        if how[0] != ended[0] or len(ours) != len(theirs):
            raise Refused(f"the program ends by {how[0]}, WebAssembly by {ended[0]}")
        for one, other in zip(ours, theirs, strict=True):
            if not self.source.is_same(one, other):
                if one == path.world:
                    raise Refused(difference(self.terms, path.world, state.world))
                raise Refused(
                    f"at the end ({how[0]}) the program has {shown(self.terms, one)}, "
                    f"WebAssembly {shown(self.terms, other)}"
                )

    def _type(self, at: int) -> FunctionType:
        place = self.place_of(at)
        function = self.sources.function(place.callee)
        instruction = function.body[place.instruction]
        if instruction.opcode != "call_indirect":
            raise Refused(f"instruction {at} calls indirectly, WebAssembly does not")
        number: int = instruction.operands[0]
        return function.module.module.types[number]


def _numbers(how: tuple[object, ...]) -> list[Term]:
    """What a path ends with, as terms."""
    found: list[Term] = []
    for part in how[1:]:
        found += part if isinstance(part, tuple) else [part]  # type: ignore[list-item]
    return found if how[0] != "trap" else [~found[0]]


def _words_of(frame: Frame | None) -> tuple[Term, ...]:
    """All words of a frame and of those that it is in line in, always in the same order."""
    words: list[Term] = []
    while frame is not None:
        for operand in (*frame.locals, *frame.stack):
            words += operand
        frame = frame.parent
    return tuple(words)


def _set_words(frame: Frame | None, words: tuple[Term, ...]) -> None:
    """Let a frame, and those that it is in line in, hold other words."""
    left = iter(words)
    while frame is not None:
        for operands in (frame.locals, frame.stack):
            for number, operand in enumerate(operands):
                operands[number] = tuple(next(left) for _ in operand)
        frame = frame.parent
