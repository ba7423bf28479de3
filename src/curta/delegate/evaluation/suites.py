"""Questions with right answers: templates that were never trained, trained ones with new numbers,
GSM8K, SVAMP.

A question without anything to compute belongs to the suite `negatives`, wherever it comes from:
there a call is a false one. One whose right answer is that there is none (`undefined`) belongs to
the suite `mistakes`: there a call may fail.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from curta.delegate.checked import Checked, Count, Natural
from curta.delegate.data import data_set
from curta.delegate.data.annotated import Row, plain, read_lines
from curta.delegate.data.example import Example
from curta.delegate.data.templates import Template, example, templates
from curta.errors import DataError

TEMPLATES, TRAINED, GSM8K, SVAMP = "templates", "trained", "gsm8k", "svamp"
SUITES = (TEMPLATES, TRAINED, GSM8K, SVAMP)
"""What can be asked for.

Templates are kinds of question that training does not have; `trained` are those that it has, with
numbers and words drawn anew.
"""

NEGATIVES, MISTAKES = "negatives", "mistakes"
"""What comes with templates; mistakes are not drawn anew, but may be in a folder."""

DRAWN = 200
"""Questions that are drawn anew if their number is not given."""

DIGITS = (1, 4)
"""Of the longest number in them, if nothing is said."""

TRIES = 500
"""Draws from a template for a question of one length until it is said to have no more."""

WRITTEN_NUMBER = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Question:
    """One question of a suite.

    name:     what it is called in the records; no two questions have the same
    value:    the right answer; nothing where there is none to compute
    category: what kind of question it is within its suite
    group:    what it has in common with others that do well or badly with it, if anything
    """

    name: str
    suite: str
    text: str
    value: str | None
    category: str
    group: str = ""

    @property
    def digits(self) -> int | None:
        """The digits of the longest number in the question: of 1,250.50 they are six."""
        found = WRITTEN_NUMBER.findall(self.text)
        return max((sum(map(str.isdigit, number)) for number in found), default=None)


@dataclass(frozen=True)
class Sources(Checked):
    """Where questions come from.

    data:      a folder made by `curta delegate data`: its test questions, or, if digits are given,
               questions drawn anew; none of its training questions is asked
    gsm8k:     test.jsonl of GSM8K
    svamp:     SVAMP.json
    digits:    of the longest number in questions that are drawn anew (1..4)
    count:     questions of a suite, at most (all of files, 200 drawn anew)
    negatives: questions with nothing to compute (a quarter as many as of templates)
    seed:      the same seed asks the same questions
    """

    data: Path | None = None
    gsm8k: Path | None = None
    svamp: Path | None = None
    digits: data_set.Digits | None = None
    count: Count | None = None
    negatives: Natural | None = None
    seed: int = 0


def questions(suites: Sequence[str], sources: Sources) -> list[Question]:
    """The questions of the suites that are asked for; those of templates with negatives."""
    drawn_by = {TEMPLATES: of_templates, TRAINED: of_trained_kinds}
    found: list[Question] = []
    for suite in dict.fromkeys(suites):
        if suite in drawn_by:
            found += drawn_by[suite](sources)
        elif suite in PUBLISHED:
            found += some(published(suite, sources), sources.count, sources.seed)
        else:
            raise DataError(f"--suite {suite}: there are {', '.join(SUITES)}")
    return found


def of_templates(sources: Sources) -> list[Question]:
    """From a folder or drawn anew from the templates for tests, with negatives."""
    count, negatives, seed = sources.count, sources.negatives, sources.seed
    anew = sources.data is None or sources.digits is not None
    if negatives is None and (count is not None or anew):
        negatives = (count or DRAWN) // 4
    if sources.data is None or anew:
        seen: set[str] = set()
        computing = list(drawn(spread(sources), seed, seen))
        return of_examples([*computing, *drawn([None] * (negatives or 0), seed, seen)])
    file = sources.data / "test.jsonl"
    if not file.is_file():
        raise DataError(
            f"--data {sources.data}: there is no test.jsonl in it; make it with curta delegate "
            f"data --out {sources.data}, or leave --data out to draw fresh questions"
        )
    every = of_examples(data_set.read(file))
    most = {TEMPLATES: count, MISTAKES: count, NEGATIVES: negatives}
    return [
        one
        for suite in most
        for one in some([one for one in every if one.suite == suite], most[suite], seed)
    ]


def of_examples(examples: Iterable[Example], kinds: str = TEMPLATES) -> list[Question]:
    """Examples of templates as questions, those without a result or with mistakes apart."""
    found: list[Question] = []
    for at, one in enumerate(examples):
        computing = MISTAKES if one.category == data_set.MISTAKE else kinds
        suite = NEGATIVES if one.value is None else computing
        found.append(Question(f"{suite}/{at}", suite, one.question, one.value, one.category))
    return found


def of_trained_kinds(sources: Sources) -> list[Question]:
    """Drawn anew from the templates of training."""
    asked: set[str] = set()
    if sources.data is not None:
        trained = data_set.read(sources.data / "train.jsonl")
        asked = {data_set.normal(one.question) for one in trained}
    return of_examples(drawn(spread(sources), sources.seed, asked, test=False), TRAINED)


def spread(sources: Sources) -> list[int]:
    """The lengths of numbers to draw, each as often as the others, the shortest first."""
    low, high = sources.digits or DIGITS
    return sorted(low + number % (high - low + 1) for number in range(sources.count or DRAWN))


def drawn(
    lengths: Iterable[int | None], seed: int, seen: set[str], *, test: bool = True
) -> Iterator[Example]:
    """A new question for each length: its longest number has so many digits; without a length, one
    with nothing to compute.

    The template is drawn first, and then its numbers until they fit, so that questions of all
    lengths are of the same kinds; but for templates that have none of a length.
    """
    chosen = random.Random(f"evaluation {seed}")
    numbers = itertools.count(1)
    among = [template for template in templates() if template.test == test]
    for length, alike in itertools.groupby(lengths):
        able = [one for one in among if (one.category == data_set.NEGATIVE) == (length is None)]
        for _ in alike:
            while able:
                template = chosen.choice(able)
                if one := of_length(template, length, seed, numbers, seen):
                    yield one
                    break
                able.remove(template)
            else:
                raise DataError(
                    "there are not so many different questions: lower --count or --negatives"
                    + (f", or leave {length} out of --digits" if length else "")
                )


def of_length(
    template: Template, length: int | None, seed: int, numbers: Iterator[int], seen: set[str]
) -> Example | None:
    """A new question of a template whose longest number has so many digits, if it has one."""
    for number in itertools.islice(numbers, TRIES):
        one = example(template, f"evaluation {seed}", number, (length or 1, length or 4))
        digits = Question("", "", one.question, one.value, "").digits
        if length in (None, digits) and data_set.new(one, seen):
            return one
    return None


def published(suite: str, sources: Sources) -> list[Question]:
    """The questions of a file."""
    file: Path | None = getattr(sources, suite)
    where, read = PUBLISHED[suite]
    if file is None:
        raise DataError(f"--suite {suite}: give its file with --{suite}; {where}")
    if not file.is_file():
        raise DataError(f"--{suite} {file}: there is no such file; {where}")
    found = []
    for at, row in enumerate(read_lines(file)):
        try:
            text, value, category = read(row)
        except (LookupError, TypeError, ValueError):
            reason = f"row {at + 1} is none of {suite.upper()}"
            raise DataError(f"--{suite} {file}: {reason}") from None
        found.append(Question(f"{suite}/{at}", suite, text, value, category))
    return found


def from_gsm8k(row: Row) -> tuple[str, str, str]:
    """Question, answer and category of a row: the number of its annotated calculations."""
    reasoning, value = str(row["answer"]).rsplit("####", 1)
    steps = reasoning.count("<<")
    category = f"{steps} calculation{'s' if steps != 1 else ''}"
    return str(row["question"]).strip(), plain(value), category


def from_svamp(row: Row) -> tuple[str, str, str]:
    """The same; the category is the kind of calculation that it names."""
    value, category = float(row["Answer"]), str(row["Type"])
    text = joined(str(row["Body"]).strip(), str(row["Question"]).strip())
    written = f"{value:.0f}" if value.is_integer() else repr(value)
    return text, written, category.removeprefix("Common-").replace("Divison", "Division").lower()


PUBLISHED = {
    GSM8K: (
        "the file test.jsonl of GSM8K is at https://github.com/openai/grade-school-math",
        from_gsm8k,
    ),
    SVAMP: ("the file SVAMP.json is at https://github.com/arkilpatel/SVAMP", from_svamp),
}
"""Where their files are, and what their rows say."""


def joined(body: str, question: str) -> str:
    """Both parts in one text; many bodies lack the mark at their end."""
    if body and body[-1] not in ".,?!":
        body += "," if re.search(r"(?:^|[.] )If [^.]*$", body) else "."
    return f"{body} {question}".strip()


def some(questions: Sequence[Question], count: int | None, seed: int) -> list[Question]:
    """At most so many, drawn by the seed, in their order."""
    if count is None or count >= len(questions):
        return list(questions)
    numbers = random.Random(f"questions {seed}").sample(range(len(questions)), count)
    return [questions[number] for number in sorted(numbers)]
