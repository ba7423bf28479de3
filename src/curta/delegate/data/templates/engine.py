"""The engine of templates: it reads their files, and makes examples of them.

A file begins with a comment, its category, and lists of words. Then come its templates, each behind
a line with its name and the part of a data set that it is for. Every other line of a template is
done in order; its first word says what it is:

    [train] tip
    who, bill = name(), price(9, 180)         Python: what is drawn (`draw` says how)
    tip := {bill} * 15 / 100 | 2              a calculation, rounded to so many places if it says so
    ? The bill is ${bill}. What is the tip?   the wordings of the question; one is chosen
    ! The tip is {tip} dollars.               those of the answer: a calculation stands in it as a
                                              call with its result, everywhere else as the result
    = tip                                     the result, if it is not the last calculation
    x {bill} * (15 / 100                      a call that fails
    ~ A parenthesis is missing.               what may be said of that

A call that fails ends a line of its own with what was wrong about it; the next line goes on. In
training such a call is read and not learned: a model should learn to recover, not to err. What
stands behind it is what the calculator says.

What is between braces is Python: these files are parts of the program, written in few words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from types import CodeType
from typing import Any

from curta.delegate.data.draw import DRAWING, WORDS, Call, Draw, facts
from curta.delegate.data.example import CALCULATOR, PROTOCOL, Example
from curta.errors import CalculatorError, DataError

Names = dict[str, Any]
Step = tuple[str, list[CodeType]]
"""What lines are, and what is done: Python, or texts among which one is chosen."""

FINAL = "_final"
"""The name of the result so far."""

PYTHON = "python"
TEXTS = {"?": "question", "!": "answer", "~": "why", "x": "failing"}
"""Lines that are texts, by their marks, and the names that these have."""

HEAD = re.compile(r"\[(train|test)\] (\w+)\n")
CALCULATION = re.compile(r"(\w+) := (.*?)(?: \| ([0-9]+))?")


@dataclass(frozen=True)
class Template:
    """One kind of question.

    test:  whether it is for tests; templates for tests are never trained
    words: names that it has besides what it draws with
    steps: what is done in order, with the names that there are
    """

    name: str
    category: str
    test: bool
    words: Names = field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    def example(self, draw: Draw) -> Example:
        """One of its questions."""
        names = {name: getattr(draw, name) for name in DRAWING} | self.words
        for mark, codes in self.steps:
            do(mark, codes, draw, names)
        value: Call | str | None = names.get(FINAL)
        if "failing" in names:
            answer, value = mended(draw, names["failing"][0], names["why"], names.get(FINAL))
        else:
            answer = names["answer"]
        if value is not None:
            answer += f"\nThe answer is {value}."
        text = None if value is None else str(value)
        return Example(names["question"], answer, text, self.category, self.name)


def mended(
    draw: Draw, expression: str, reasons: list[str], right: Call | None
) -> tuple[str, Call | str]:
    """An answer and its result: the first call fails, and the next one is written rightly.

    Where there is none, the question has no answer, which is said at once or behind that call.
    """
    error = fails(expression)
    failed = f"{PROTOCOL.open} {expression}{PROTOCOL.close}{PROTOCOL.failed(error)}"
    if right is None:
        reason = draw.choose(*reasons)
        text = f"{failed}\n{reason}" if draw.chance() < 0.5 else reason
        return text, error.brief
    before = draw.choose("", "", "Let me compute that: ", "I work it out: ")
    again = draw.choose("Again: ", "Once more: ", "Written rightly it is ", "")
    return f"{before}{failed}. {draw.choose(*reasons)}\n{again}{right.said}", right


def fails(expression: str) -> CalculatorError:
    """Why the calculator refuses a call; an error if it does not."""
    try:
        result = CALCULATOR.evaluate(expression)
    except CalculatorError as error:
        return error
    raise DataError(f"{expression}: this has the value {result.text}, it does not fail")


def do(mark: str, codes: list[CodeType], draw: Draw, names: Names) -> None:
    """One step. Of questions and answers one is chosen, but all are made: what they draw does not
    depend on the choice.
    """
    if mark == PYTHON:
        exec(codes[0], names)
        return
    texts = [eval(code, shown(names) if mark == "!" else names) for code in codes]
    chosen = texts
    if mark in "?!":
        chosen = (texts[0] if len(texts) == 1 else draw.choose(*texts)).strip()
    names[TEXTS[mark]] = chosen


def shown(names: Names) -> Names:
    """The same names; calculations as an answer shows them."""
    return {n: value.said if isinstance(value, Call) else value for n, value in names.items()}


@cache
def read(name: str) -> tuple[Template, ...]:
    """The templates of a file of curta's, those for training first."""
    return templates_of((files(__package__) / f"{name}.txt").read_text(encoding="utf-8"), name)


def templates_of(text: str, name: str) -> tuple[Template, ...]:
    """The templates in the text of a file."""
    begin, *parts = HEAD.split(text)
    words: Names = WORDS | {"facts": facts()}
    exec(compile(begin, f"{name}.txt", "exec"), words)
    category = str(words["CATEGORY"])
    return tuple(
        Template(f"{category}/{title}", category, part == "test", words, tuple(steps(body, name)))
        for part, title, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    )


def steps(body: str, file: str) -> Iterator[Step]:
    """Those of a template; lines of one kind in a row are choices, or Python."""
    lines = map(translated, filter(None, body.splitlines()))
    for mark, group in groupby(lines, itemgetter(0)):
        sources = [source for _, source in group]
        if mark == PYTHON:
            yield mark, [compile("\n".join(sources), file, "exec")]
        else:
            yield mark, [compile(source, file, "eval") for source in sources]


def translated(line: str) -> tuple[str, str]:
    """What a line is, and what it is in Python."""
    if match := CALCULATION.fullmatch(line):
        name, expression, places = match.groups()
        said = formatted(expression)
        call = f"rounded({said}, {places})" if places else f"calc({said})"
        return PYTHON, f"{name} = {FINAL} = {call}"
    mark, _, rest = line.partition(" ")
    if mark == "=":
        return PYTHON, f"{FINAL} = {rest}"
    return (mark, formatted(rest)) if mark in TEXTS else (PYTHON, line)


def formatted(text: str) -> str:
    """A text with what is between its braces put in."""
    quotes = "'''" if not text.endswith("'") else '"""'
    return f"f{quotes}{text}{quotes}"
