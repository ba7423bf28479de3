"""The numbers of a report, from questions and answers: shares with intervals, and whether systems
that were asked the same questions differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median_high
from typing import Any

import numpy as np

from curta.delegate.data.answers import STATED
from curta.delegate.evaluation.running import Answer, source_of
from curta.delegate.evaluation.suites import MISTAKES, NEGATIVES, Question
from curta.delegate.evaluation.systems import System
from curta.delegate.evaluation.taxonomy import Kind, Verdict, malformed, verdict
from curta.intervals import wilson


@dataclass(frozen=True)
class Share:
    """So many of so many, with a 95% interval.

    groups: of questions that do well or badly together, how many of how many
    """

    right: int
    count: int
    groups: tuple[tuple[int, int], ...] = ()

    @property
    def value(self) -> float:
        return self.right / self.count if self.count else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """From low to high: Wilson's, or, where there are groups, that of groups drawn again. If
        all of these are right, or none, drawing shows nothing: then Wilson's, of as many questions.
        """
        many = len(self.groups)
        if not many:
            return wilson(self.right, self.count)
        if self.right in (0, self.count):
            return wilson(many if self.right else 0, many)
        return drawn_again(self.groups)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.1%} [{low:.1%}, {high:.1%}]"


def drawn_again(groups: Sequence[tuple[int, int]], draws: int = 2_000) -> tuple[float, float]:
    """The 95% interval of a share, by bootstrap over groups."""
    rows = np.random.default_rng(0).integers(len(groups), size=(draws, len(groups)))
    right, count = np.array(groups)[rows].sum(1).T
    return middle(right / count)


def middle(drawn: np.ndarray) -> tuple[float, float]:
    """Between which two 95% of what was drawn lie."""
    ordered, count = np.sort(drawn), len(drawn)
    return float(ordered[int(0.025 * count)]), float(ordered[int(0.975 * count) - 1])


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """The probability of a difference like this if both were equally good; exact, two-sided.

    Only questions count that one of them answers rightly and the other does not: n of them, k for
    the first, drawn from a binomial distribution with one half.
    """
    from scipy.stats import binomtest

    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} answers: the questions are not the same")
    differing = [a for a, b in zip(first, second, strict=True) if a != b]
    return float(binomtest(sum(differing), len(differing)).pvalue) if differing else 1.0


def bootstrap_difference(
    first: Sequence[bool], second: Sequence[bool], *, draws: int = 2_000, seed: int = 0
) -> tuple[float, float]:
    """The 95% interval of first - second, questions drawn again with replacement.

    A question counts 1, 0 or -1, so what is drawn is how often each of the three comes. Each is
    taken to have come half a time more, or three questions of one kind would make it certain.
    """
    pairs = [a - b for a, b in zip(first, second, strict=True)]
    shares = [(pairs.count(value) + 0.5) / (len(pairs) + 1.5) for value in (1, 0, -1)]
    drawn = np.random.default_rng(seed).multinomial(len(pairs), shares, size=draws)
    return middle((drawn[:, 0] - drawn[:, 2]) / len(pairs))


@dataclass(frozen=True)
class Comparison:
    """Two systems on the questions of a suite.

    difference: first - second, of accuracies, and its 95% interval by bootstrap
    p:          McNemar's, exact
    """

    suite: str
    first: str
    second: str
    difference: float
    interval: tuple[float, float]
    p: float


@dataclass(frozen=True)
class Agreement:
    """A backend beside the one whose answers were generated first.

    calls:   different expressions to which both say the same, of all in the first one's answers
    answers: answers that could be taken over, of all
    differs: an expression with another result, and both results
    """

    system: str
    source: str
    calls: Share
    answers: Share
    differs: str


class Figures:
    """All of them; what is judged is judged once.

    judged:    the answers of each system, in the order of the questions
    computing: the suites whose questions have right answers
    """

    def __init__(
        self,
        systems: Sequence[System],
        questions: Sequence[Question],
        answers: Mapping[tuple[str, str], Answer],
    ) -> None:
        self.systems = systems
        self.questions = questions
        self.suites = tuple(dict.fromkeys(one.suite for one in questions))
        self.computing = tuple(suite for suite in self.suites if suite != NEGATIVES)
        self.judged = {
            system.name: [
                verdict(one, given)
                for one in questions
                if (given := answers.get((system.name, one.name))) is not None
            ]
            for system in systems
        }

    def of(self, system: str, suite: str) -> list[Verdict]:
        """The answers of a system to the questions of a suite."""
        return [one for one in self.judged[system] if one.question.suite == suite]

    def accuracy(self, system: str, suite: str) -> Share:
        """Right answers."""
        return right_of(self.of(system, suite))

    def by(self, system: str, suite: str, group: Callable[[Question], Any]) -> dict[Any, Share]:
        """Right answers in groups of questions; those that belong to none are left out."""
        found: dict[Any, list[Verdict]] = {}
        for one in self.of(system, suite):
            found.setdefault(group(one.question), []).append(one)
        found.pop(None, None)
        return {name: right_of(found[name]) for name in sorted(found)}

    def kinds_differ(self, suite: str) -> bool:
        """Whether questions of some number of digits lack a kind that others have."""
        kinds: dict[int, set[str]] = {}
        for one in self.questions:
            if one.suite == suite and one.digits is not None:
                kinds.setdefault(one.digits, set()).add(one.category)
        return len(set(map(frozenset, kinds.values()))) > 1

    def kinds(self, system: str, suite: str) -> Counter[Kind]:
        """What the answers are."""
        return Counter(one.kind for one in self.of(system, suite))

    def shares(self, system: str) -> dict[str, Share]:
        """What is counted of every system beside its right answers.

        format:      answers that ended, said at last what the answer is, and left no call without
                     result
        calling:     answers with a call, where there is something to compute that has a result
        valid_calls: calls with a result, or with the error that is the right answer, of all begun
        false_calls: answers with a call, where there is nothing to compute; with digits: although
                     there are numbers, since it takes little not to call where there are none
        """
        every, idle = self.judged[system], self.of(system, NEGATIVES)
        computing = [one for one in every if one.question.value is not None]
        return {
            "format": share(
                one.answer.ended
                and bool(STATED.search(one.answer.text))
                and not malformed(one.question, one.answer)
                for one in computing
            ),
            "calling": share(
                bool(one.answer.calls) for one in computing if one.question.suite != MISTAKES
            ),
            "valid_calls": share(
                not call.failed(one.question.value) for one in every for call in one.answer.calls
            ),
            "false_calls": share(bool(one.answer.calls) for one in idle),
            "false_calls_with_digits": share(
                bool(one.answer.calls) for one in idle if one.question.digits is not None
            ),
        }

    def generated(self, system: str) -> list[Answer]:
        """The answers that were not taken over from another system."""
        return [one.answer for one in self.judged[system] if one.answer.source is None]

    def microseconds(self, system: str) -> float | None:
        """What a call takes to be evaluated, the median."""
        calls = [call for one in self.generated(system) for call in one.calls if call.closed]
        return median_high(call.microseconds for call in calls) if calls else None

    def speed(self, system: str) -> float | None:
        """Tokens a second, of the answers that were generated."""
        generated = self.generated(system)
        seconds = sum(one.seconds for one in generated)
        return sum(one.tokens for one in generated) / seconds if seconds else None

    def comparisons(self) -> list[Comparison]:
        """All pairs of systems that differ in more than the backend, the later one first: which
        questions of a suite each of them answers rightly.
        """
        found = []
        for suite in self.computing:
            for earlier, later in combinations(self.systems, 2):
                if source_of(later, [earlier]) is None:
                    names = later.name, earlier.name
                    a, b = ([one.is_right for one in self.of(name, suite)] for name in names)
                    interval, p = bootstrap_difference(a, b), mcnemar(a, b)
                    difference = (sum(a) - sum(b)) / len(a)
                    found.append(Comparison(suite, *names, difference, interval, p))
        return found

    def agreements(self) -> list[Agreement]:
        """Backends beside the first one of the same weights."""
        found = []
        for number, system in enumerate(self.systems):
            if (source := source_of(system, self.systems[:number])) is None:
                continue
            calls = [call for one in self.judged[source.name] for call in one.answer.calls]
            said = [
                (each, system.injected(each), source.injected(each))
                for each in dict.fromkeys(call.expression for call in calls if call.closed)
            ]
            other = next((one for one in said if one[1] != one[2]), None)
            found.append(
                Agreement(
                    system.name,
                    source.name,
                    share(a == b for _, a, b in said),
                    share(one.answer.source is not None for one in self.judged[system.name]),
                    f"{other[0]}{other[1]}, not{other[2].removeprefix(' =')}" if other else "",
                )
            )
        return found

    def as_json(self) -> dict[str, Any]:
        """The main ones, for other programs."""
        return {
            system.name: {
                "accuracy": {
                    suite: row(self.accuracy(system.name, suite)) for suite in self.computing
                },
                **{name: row(counted) for name, counted in self.shares(system.name).items()},
                "tokens_per_second": self.speed(system.name),
                "kinds": {suite: dict(self.kinds(system.name, suite)) for suite in self.suites},
            }
            for system in self.systems
        }


def right_of(judged: Sequence[Verdict]) -> Share:
    """Right answers, by the groups of their questions where they have some."""
    found, groups = share(one.is_right for one in judged), dict[str, list[bool]]()
    if not any(one.question.group for one in judged):
        return found
    for one in judged:
        groups.setdefault(one.question.group or one.question.name, []).append(one.is_right)
    return replace(found, groups=tuple((sum(each), len(each)) for each in groups.values()))


def share(given: Iterable[bool]) -> Share:
    """How many of them are true."""
    values = list(given)
    return Share(sum(values), len(values))


def row(one: Share) -> dict[str, Any] | None:
    """A share with its interval; nothing of nothing."""
    if not one.count:
        return None
    return {"right": one.right, "count": one.count, "interval": list(one.interval)}
