"""Templates by category. Every module here defines TRAIN and TEST: functions of a `Draw`.

A template is one kind of problem: it draws numbers, computes the answer step by step by calls, and
words the question in several ways. Which templates are for tests is written beside them, so that
no test asks a kind of question that was trained.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from curta.delegate.data.draw import Draw, HalfError, Written
from curta.delegate.data.example import Example

Write = Callable[[Draw], Written]


@dataclass(frozen=True)
class Template:
    """One kind of question.

    test: whether it is for tests; templates for tests are never trained
    """

    write: Write
    category: str
    test: bool

    @property
    def name(self) -> str:
        """What its examples call it."""
        return f"{self.category}/{self.write.__name__}"

    def example(self, draw: Draw) -> Example:
        """One of its questions."""
        written = self.write(draw)
        return Example(written.question, written.answer, written.value, self.category, self.name)


def templates() -> Iterator[Template]:
    """All of them, in a fixed order; questions with nothing to compute are the last."""
    from curta.delegate.data import negatives

    found = sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in found]
    for module in (*modules, negatives):
        for write in module.TRAIN:
            yield Template(write, module.CATEGORY, test=False)
        for write in module.TEST:
            yield Template(write, module.CATEGORY, test=True)


def example(template: Template, seed: int | str, number: int, digits: tuple[int, int]) -> Example:
    """The example of a template that belongs to a seed and a number."""
    drawn = random.Random(f"{template.name} {seed} {number}")
    while True:
        try:
            return template.example(Draw(drawn, digits))
        except HalfError:
            continue
