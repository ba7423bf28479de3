"""The engine of templates: it reads their files, and makes examples of them.

A file begins with a comment, its category, and lists of words. Then come its templates, each behind
a line with its name and the part of a data set that it is for. Every other line of a template is
done in order; its first word says what it is:

    [train] tip
    who, bill = name(), price(9, 180)         Python: what is drawn (`draw` and `wording` say how)
    tip := {bill} * 15 / 100 | 2              a calculation, rounded to so many places if it says so
    ? The bill is ${bill}. What is the tip?   the wordings of the question; one is chosen
    ! The tip is {tip} dollars.               those of the answer: a calculation stands in it as a
                                              call with its result, everywhere else as the result
    = tip                                     the result, if it is not the last calculation
    x {bill} * (15 / 100                      a call that fails (see `mistakes`)
    ~ A parenthesis is missing.               what may be said of that

What is between braces is Python: these files are parts of the program, written in few words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from types import CodeType
from typing import Any

from curta.delegate.data import mistakes, wording
from curta.delegate.data.draw import Call, Draw
from curta.delegate.data.example import Example

Names = dict[str, Any]
Step = Callable[[Draw, Names], None]
FINAL = "="
"""The name of the result so far; no template can have one like it."""

HEAD = re.compile(r"\[(train|test)\] (\w+)\n")
CALCULATION = re.compile(r"(\w+) := (.*?)(?: \| ([0-9]+))?")


@dataclass(frozen=True)
class Template:
    """One kind of question.

    steps: what is done in order, with the names that there are
    test:  whether it is for tests; templates for tests are never trained
    """

    name: str
    category: str
    test: bool
    words: Names
    steps: tuple[Step, ...]

    def example(self, draw: Draw) -> Example:
        """One of its questions."""
        names = wording.tools(draw) | self.words
        for step in self.steps:
            step(draw, names)
        answer: str
        value: Call | str | None
        if "failing" in names:
            answer, value = mistakes.answer(draw, names["failing"], names["why"], names.get(FINAL))
        else:
            answer, value = names["answer"], names.get(FINAL)
        text = value.text if isinstance(value, Call) else value
        closing = "" if text is None else f"\nThe answer is {text}."
        return Example(names["question"], answer + closing, text, self.category, self.name)


@cache
def read(name: str) -> tuple[Template, ...]:
    """The templates of a file of curta's, those for training first."""
    return templates_of((files(__package__) / f"{name}.txt").read_text(encoding="utf-8"), name)


def templates_of(text: str, name: str) -> tuple[Template, ...]:
    """The templates in the text of a file."""
    begin, *parts = HEAD.split(text)
    words = wording.words()
    exec(compile(begin, f"{name}.txt", "exec"), words)
    category = words["CATEGORY"]
    return tuple(
        Template(f"{category}/{title}", category, part == "test", words, compiled(body, name))
        for part, title, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    )


def compiled(body: str, file: str) -> tuple[Step, ...]:
    """The steps of a template; lines of one kind in a row are choices."""
    steps: list[Step] = []
    for mark, group in groupby(filter(None, body.splitlines()), kind):
        lines = list(group)
        if mark in CHOICES:
            steps.append(CHOICES[mark]([formatted(line[2:]) for line in lines]))
        elif mark == ":=":
            steps += map(calculation, lines)
        elif mark == "=":
            steps.append(assigned(FINAL, compile(lines[0][2:], file, "eval")))
        else:
            steps.append(done(compile("\n".join(lines), file, "exec")))
    return tuple(steps)


def kind(line: str) -> str:
    """What a line is, by its mark."""
    if CALCULATION.fullmatch(line):
        return ":="
    mark = line.partition(" ")[0]
    return mark if mark == "=" or mark in CHOICES else "python"


def formatted(text: str) -> CodeType:
    """A text with what is between its braces put in."""
    quotes = "'''" if not text.endswith("'") else '"""'
    return compile(f"f{quotes}{text}{quotes}", "wording", "eval")


def chosen(target: str, codes: list[CodeType]) -> Step:
    """One of several texts, all of which are made: what they draw does not depend on the choice."""

    def step(draw: Draw, names: Names) -> None:
        known = names if target == "question" else shown(names)
        texts = [eval(code, known) for code in codes]
        names[target] = (texts[0] if len(texts) == 1 else draw.choose(*texts)).strip()

    return step


def shown(names: Names) -> Names:
    """The same names; calculations as an answer shows them."""
    return {n: value.said if isinstance(value, Call) else value for n, value in names.items()}


def calculation(line: str) -> Step:
    """A calculation; so far it is the last one."""
    match = CALCULATION.fullmatch(line)
    assert match is not None
    name, expression, places = match.groups()
    code = formatted(expression)

    def step(draw: Draw, names: Names) -> None:
        said = eval(code, names)
        names[name] = names[FINAL] = draw.rounded(said, int(places)) if places else draw.calc(said)

    return step


def done(code: CodeType) -> Step:
    return lambda draw, names: exec(code, names)


def assigned(target: str, *codes: CodeType, each: bool = False) -> Step:
    """A value; or a list of all of them."""

    def step(draw: Draw, names: Names) -> None:
        values = [eval(code, names) for code in codes]
        names[target] = values if each else values[0]

    return step


CHOICES: dict[str, Callable[[list[CodeType]], Step]] = {
    "?": lambda codes: chosen("question", codes),
    "!": lambda codes: chosen("answer", codes),
    "~": lambda codes: assigned("why", *codes, each=True),
    "x": lambda codes: assigned("failing", *codes),
}
