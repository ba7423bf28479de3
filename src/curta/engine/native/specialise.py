"""The steps of a run by cases: by the token's class, then by what the tables say.

For each class of tokens, the events of a step are followed with the class's facts, up to the first
that depends on the *selector*: the value, fetched or out of a table of the weights, on which most
gates and steps ask a question, such as the operation of an instruction. From there on classes with
the same facts share the code, which is divided by the selector's values, and then by whatever
decides which rule speaks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

from curta.compiler.numbers import Number, power_of_two, simplify
from curta.engine.native.case import Case, Facts
from curta.engine.native.choice import chosen, possible
from curta.engine.native.classes import (
    Quiet,
    TokenClass,
    class_facts,
    quiet_stretch,
    token_classes,
)
from curta.engine.native.following import Follower, Intake, intake, without_repetitions
from curta.engine.native.routine import (
    Acts,
    Block,
    Check,
    Compare,
    Divide,
    Event,
    Filing,
    GiveUp,
    Growth,
    Insist,
    Proceed,
    Routine,
    Rule,
    Say,
    read_by,
)
from curta.engine.native.values import (
    ONE,
    ZERO,
    Column,
    FetchedValue,
    Parameter,
    Pool,
    PositionValue,
    Product,
    Steps,
    Sum,
    Total,
    ValueId,
    direction,
)

MOST_CHOICES = 256
"""Values of a selector."""
FEWEST_QUESTIONS = 12
"""Gates and steps that have to ask about a value before it is made the selector."""
FEWEST_FOR_SELECTOR = 8
"""Steps of a value that is computed, to be a selector."""
MOST_FOR_SWITCH = 1000
"""Values that are left to compute where a gate divides the code: both halves are written."""
MOST_LEAVES = 2000
"""Cases in which a token is chosen."""


class NotWorthItError(Exception):
    """The cases of a program are not worth being told apart, or there are too many of them."""


@dataclass(frozen=True)
class Plan:
    """All cases of a step in a quiet stretch."""

    routine: Routine
    quiet: Quiet
    classes: list[TokenClass]
    entries: list[Block]
    """What to do first with a token, by class."""
    groups: list[Block]
    intake: Intake | None
    """The cases of a prompt's tokens."""


@dataclass(frozen=True)
class Work:
    """What a step still has to do."""

    events: list[Event]
    rules: list[Rule]

    def sums(self) -> list[Sum]:
        found = [total for event in self.events for total in read_by(event)]
        return found + [part for rule in self.rules for part in rule.parts]


@dataclass(frozen=True)
class Group:
    """Classes of tokens after which the rest of the step is the same."""

    classes: frozenset[int]
    case: Case
    work: Work
    lasting: bool
    """Whether the selector is probably what it was at the token before."""


Signature = tuple[tuple[ValueId, Sum], ...]


@dataclass(frozen=True)
class TakenIn:
    """Tokens taken in up to the border, by class."""

    cases: list[Case]
    before: list[Acts]
    signatures: list[Signature]


class Specialiser:
    """The cases of a step, if there is a selector: then most of the general code is idle."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.routine = routine = follower.routine
        self.pool = routine.pool
        self.classes = token_classes(routine)
        self.tokens = sorted({token for one in self.classes for token in one.tokens})
        self.quiet = quiet_stretch(routine, self.tokens)
        self.selector = selector(routine)
        if self.selector is None and FEWEST_QUESTIONS > 0:
            raise NotWorthItError
        self.leaves = 0
        self.border = self.first_that_reads(self.selector)

    def first_that_reads(self, value: ValueId | None) -> int:
        if value is None:
            return len(self.routine.events)
        for number, event in enumerate(self.routine.events):
            if value in self.pool.reachable(read_by(event)):
                return number
        return len(self.routine.events)

    def plan(self) -> Plan:
        prompts = intake(self.follower, set(self.tokens))
        taken = self.taken_in()
        signatures = list(taken.signatures)
        numbers = {signature: n for n, signature in enumerate(dict.fromkeys(signatures))}
        entries = [
            Block((*acts, (case, Proceed(numbers[signature]))))
            for case, acts, signature in zip(taken.cases, taken.before, signatures, strict=True)
        ]
        return Plan(
            self.routine,
            self.quiet,
            self.classes,
            entries,
            self.divided(self.groups(taken)),
            prompts,
        )

    def taken_in(self) -> TakenIn:
        """What is done with a token up to the border, by class."""
        facts = [class_facts(self.routine, one.tokens, self.quiet.facts) for one in self.classes]
        cases = [Case(self.pool, one) for one in facts]
        before = []
        for number, case in enumerate(cases):
            acts, cases[number] = self.follower.followed(case, self.routine.events[: self.border])
            before.append(acts)
        before = without_repetitions(self.pool, before)
        return TakenIn(cases, before, [self.signature(case) for case in cases])

    def groups(self, taken: TakenIn) -> list[Group]:
        """The classes after which the rest of the step is the same."""
        found = []
        for signature in dict.fromkeys(taken.signatures):
            members = [n for n, own in enumerate(taken.signatures) if own == signature]
            rest = Case(self.pool, common([taken.cases[n] for n in members], signature))
            lasting = all(self.selects_the_same(taken.cases[n], taken.before[n]) for n in members)
            events = list(self.routine.events[self.border :])
            work = left_of(rest, Work(events, list(self.routine.rules)))
            found.append(Group(frozenset(members), rest, work, lasting))
        return found

    # -- classes ------------------------------------------------------------------------------

    def signature(self, case: Case) -> Signature:
        """What the rest of the step reads of the token."""
        read = self.pool.reachable(self.routine.sums(self.border))
        found = []
        for value in sorted(read):
            if isinstance(self.pool.definition(value), Column):
                found.append((value, case.value(value)))
        return tuple(found)

    # -- from the border on -------------------------------------------------------------------

    def divided(self, groups: list[Group]) -> list[Block]:
        """The rest of the step, divided by the selector.

        Where the selector lasts, only those values are looked at under which a token of the group
        is said: it is the token before. Should it come otherwise, the general code takes over.
        """
        if self.selector is None:
            return [self.by_switches(group.case, group.work) for group in groups]
        found = [
            {value: self.of_value(group, value) for value in self.values(group)}
            if not group.lasting
            else {}
            for group in groups
        ]
        said: dict[Number, set[int]] = {}
        for blocks in found:
            for value, block in blocks.items():
                said.setdefault(value, set()).update(self.says(block))
        while missing := [
            (group, blocks, value)
            for group, blocks in zip(groups, found, strict=True)
            for value in self.values(group)
            if value not in blocks and said.get(value, set()) & group.classes
        ]:
            for group, blocks, value in missing:
                blocks[value] = self.of_value(group, value)
                said[value] |= self.says(blocks[value])
        return [self.block(group, blocks) for group, blocks in zip(groups, found, strict=True)]

    def values(self, group: Group) -> list[Number]:
        """What the selector can be."""
        assert self.selector is not None
        case = self.insisting(group.case)
        on = case.value(self.selector)
        low, high = case.range(on)
        steps = [self.pool.entries[value].definition for value, _ in on.without_constant.terms]
        if len(steps) == 1 and isinstance(steps[0], Steps):
            scale = on.without_constant.terms[0][1]
            levels = accumulate((height for _, height in steps[0].jumps), initial=0)
            found = {simplify(level * scale + on.added) for level in levels}
            return sorted(value for value in found if low <= value <= high)
        unit = Fraction(power_of_two(self.pool.step(on)))
        return [simplify(low + unit * n) for n in range(int((high - low) / unit) + 1)]

    def of_value(self, group: Group, value: Number) -> Block:
        assert self.selector is not None
        case = self.insisting(group.case)
        on = case.value(self.selector)
        if on.constant is None:
            case = case.refined(on, value, value)
        return self.by_switches(case, group.work)

    @property
    def selecting(self) -> int | None:
        """The look-up that finds the selector; it may be computed instead."""
        assert self.selector is not None
        definition = self.pool.entries[self.selector].definition
        return definition.look_up if isinstance(definition, FetchedValue) else None

    def insisting(self, case: Case) -> Case:
        """The case in which a selector is found."""
        if self.selecting is None:
            return case
        return case.under(case.facts.with_hit(self.selecting))

    def block(self, group: Group, blocks: dict[Number, Block]) -> Block:
        assert self.selector is not None
        case = self.insisting(group.case)
        insists: Acts = []
        if self.selecting is not None:
            insists = [(group.case, Insist(self.selecting))]
        on = case.value(self.selector)
        give_up = Block(((case, GiveUp()),))
        if on.constant is not None:
            return Block((*insists, *blocks.get(on.constant, give_up).acts))
        branches = [((n, n), blocks.get(n, give_up)) for n in self.values(group)]
        return Block((*insists, (case, Divide(on, tuple(branches)))))

    def says(self, block: Block) -> set[int]:
        """The classes of the tokens that a block may say."""
        found: set[int] = set()
        for _, act in block.acts:
            match act:
                case Say(rule):
                    found.add(self.class_of[rule.number])
                case Compare(rules):
                    found |= {self.class_of[rule.number] for rule in rules}
                case Divide(_, branches):
                    found = found.union(*(self.says(inner) for _, inner in branches))
        return found

    @cached_property
    def class_of(self) -> list[int]:
        """The class of each rule's tokens."""
        return [
            next(n for n, one in enumerate(self.classes) if rule.tokens[0] in one.tokens)
            for rule in self.routine.rules
        ]

    def selects_the_same(self, case: Case, acts: Acts) -> bool:
        """Whether the selector is looked up where it would be if there were no such token.

        That is so if what it adds to totals, and what it says itself, cancel each other.
        """
        if self.selector is None:
            return False
        asked = [total for total in self.pool.reads(self.selector) if total.constant is None]
        if len(asked) != 1:
            return False
        added = {act.total: act.addend for _, act in acts if isinstance(act, Growth)}
        moved = Sum()
        for value, coefficient in asked[0].without_constant.terms:
            match self.pool.definition(value):
                case Total():
                    moved = moved.plus(added.get(value, ZERO), coefficient)
                case Column() | PositionValue():
                    moved = moved.plus(case.value(value), coefficient)
        return moved == ZERO

    def by_switches(self, case: Case, work: Work) -> Block:
        """Divided by a fetched value that is 0 or 1 and gates others."""
        work = left_of(case, work)
        on = self.switch(case, work)
        if on is None:
            return self.finished(case, work)
        halves = [((n, n), self.finished(case.refined(on, n, n), work)) for n in (0, 1)]
        return Block(((case, Divide(on, tuple(halves))),))

    def switch(self, case: Case, work: Work) -> Sum | None:
        reachable = self.pool.reachable(work.sums())
        if len(reachable) > MOST_FOR_SWITCH:
            return None
        for value in sorted(reachable):
            definition = self.pool.entries[value].definition
            if not isinstance(definition, Product) or definition.factor.constant is not None:
                continue
            terms = definition.gate.without_constant.terms
            if len(terms) != 1:
                continue
            gate = self.pool.entries[terms[0][0]]
            on = Sum(((terms[0][0], 1),))
            if is_found(self.pool, terms[0][0]) and case.range(on) == (0, 1):
                return on if gate.step >= 0 else None
        return None

    def finished(self, case: Case, work: Work) -> Block:
        self.leaves += 1
        if self.leaves > MOST_LEAVES:
            raise NotWorthItError
        acts, case = self.follower.followed(case, work.events)
        return Block((*acts, *chosen(case, work.rules)))


def left_of(case: Case, work: Work) -> Work:
    """What is left of events and rules in a case."""
    return Work([left_of_event(case, event) for event in work.events], possible(case, work.rules))


def left_of_event(case: Case, event: Event) -> Event:
    match event:
        case Growth(total, addend):
            return Growth(total, case.sum(addend))
        case Filing(_, _, key, members):
            left = tuple((name, case.sum(total)) for name, total in members)
            return replace(event, key=case.sum(key), members=left)
        case Check():
            return replace(event, total=case.sum(event.total))


def selector(routine: Routine) -> ValueId | None:
    """The value out of a table, of few possible ones, that most gates and steps ask about."""
    pool = routine.pool
    questions: dict[ValueId, int] = {}
    for value in pool.reachable(routine.sums()):
        match pool.entries[value].definition:
            case Product(gate, _):
                asked = gate.without_constant
            case Steps(argument, _, _):
                asked = argument
            case _:
                continue
        terms = direction(asked)[1].terms
        if len(terms) == 1 and is_found(pool, terms[0][0]):
            questions[terms[0][0]] = questions.get(terms[0][0], 0) + 1
    case = Case(pool, Facts())
    few = [value for value in questions if is_choice(case, value)]
    best = max(few, key=lambda value: (questions[value], -value), default=None)
    return best if best is not None and questions[best] >= FEWEST_QUESTIONS else None


def is_found(pool: Pool, value: ValueId) -> bool:
    """Whether a value comes out of a table, be it one that was filed or one of the weights."""
    definition = pool.entries[value].definition
    if isinstance(definition, FetchedValue | Parameter):
        return True
    return (
        isinstance(definition, Steps)
        and definition.factor == ONE
        and len(definition.jumps) >= FEWEST_FOR_SELECTOR
    )


def is_choice(case: Case, value: ValueId) -> bool:
    """Whether a value is one of a few."""
    low, high = case.intervals.of_value(value)
    return (high - low) / Fraction(power_of_two(case.pool.entries[value].step)) < MOST_CHOICES


def common(cases: list[Case], signature: Signature) -> Facts:
    """What holds in all of these cases."""
    first = cases[0].facts
    equal = {v: total for v, total in signature if total.constant is not None}
    equal |= {
        v: total
        for v, total in first.equal.items()
        if all(case.facts.equal.get(v) == total for case in cases)
    }
    bounds = {}
    for total, (low, high) in first.bounds.items():
        ranges = [case.facts.bounds.get(total) for case in cases]
        if all(ends is not None for ends in ranges):
            known = [ends for ends in ranges if ends is not None]
            bounds[total] = min(low for low, _ in known), max(high for _, high in known)
    return Facts(equal, bounds, first.hits)
