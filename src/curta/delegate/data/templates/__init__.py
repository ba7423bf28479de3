"""Templates by category: files of text that one engine draws, words and computes (`engine`).

A template is one kind of problem: it draws numbers, computes the answer step by step by calls, and
words the question in several ways. Which templates are for tests is written beside them, so that
no test asks a kind of question that was trained. Problems whose structure is drawn as well are made
by `composed`, and all of them are for training.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from curta.delegate.data.draw import Draw, OtherwiseError
from curta.delegate.data.example import Example
from curta.delegate.data.templates import composed
from curta.delegate.data.templates.engine import Template, read

FILES = (
    "arithmetic", "dates_and_times", "finance", "science", "strings", "units", "word_problems",
    "stories", "everyday", "technical", "numbers_untouched", "negatives",
)  # fmt: skip
"""The order of categories; questions with nothing to compute are the last of those in files."""


def templates() -> Iterator[Template]:
    """All of them, in a fixed order; without mistakes."""
    for name in FILES:
        yield from read(name)
    yield from composed.templates()


def mistakes() -> Iterator[Template]:
    """Those whose calls fail, or whose questions have no answer."""
    return iter(read("mistakes"))


def example(template: Template, seed: int | str, number: int, digits: tuple[int, int]) -> Example:
    """The example of a template that belongs to a seed and a number."""
    drawn = random.Random(f"{template.name} {seed} {number}")
    while True:
        try:
            return template.example(Draw(drawn, digits))
        except OtherwiseError:
            continue


__all__ = ["FILES", "Template", "example", "mistakes", "templates"]
