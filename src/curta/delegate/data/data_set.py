"""A data set from templates and annotated sets: training, validation and test parts.

Test questions come from templates of their own. Whatever the sources, no question stands in two
parts, nor twice in one. The same seed makes the same set.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from curta.delegate.checked import Checked, Count, Rule, within
from curta.delegate.data.annotated import read_lines
from curta.delegate.data.example import Example
from curta.delegate.data.templates import Template, composed, example, mistakes, templates
from curta.errors import DataError
from curta.store import whole_folder

NEGATIVE, MISTAKE = "negative", "mistake"
"""Categories of questions with nothing to compute, and of those with calls that fail."""

Digits = Annotated[
    tuple[int, int], Rule("from 1 to 15, upwards", lambda ends: 1 <= ends[0] <= ends[1] <= 15)
]
"""The fewest and the most."""

TRIES = 20
"""Draws for an example until a template is said to be exhausted."""


@dataclass(frozen=True)
class Mix(Checked):
    """What a data set consists of.

    train:      examples from templates for training
    valid:      for validation
    test:       of the test templates
    negatives:  the share of questions without anything to compute
    arithmetic: the share of bare calculations
    mistakes:   the share of calls that fail and are written again, and of questions that have no
                answer; 0.04 is a good one
    composed:   of all other questions, the share of those whose structure is drawn as well
    digits:     how long numbers are that may be of any length, fewest and most
    seed:       the same seed makes the same set
    """

    train: Count = 8_000
    valid: Count = 400
    test: Count = 1_000
    negatives: float = 0.25
    arithmetic: float = 0.15
    mistakes: float = 0.0
    composed: Annotated[float, within(0, 1)] = 0.375
    digits: Digits = (1, 4)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        shares = (self.negatives, self.arithmetic, self.mistakes, self.stories)
        if not all(0 <= share <= 1 for share in shares):
            raise DataError(
                f"negatives = {self.negatives}, arithmetic = {self.arithmetic} and mistakes = "
                f"{self.mistakes}: shares of at least 0 that add up to no more than 1"
            )

    @property
    def stories(self) -> float:
        """The share of all other templates."""
        return 1 - self.negatives - self.arithmetic - self.mistakes


@dataclass
class Dataset:
    """The parts, and what was left out on the way."""

    mix: Mix
    train: list[Example] = field(default_factory=list)
    valid: list[Example] = field(default_factory=list)
    test: list[Example] = field(default_factory=list)
    annotated: Counter[str] = field(default_factory=Counter)
    """Examples for training that are not from templates, by where they come from."""
    dropped: Counter[str] = field(default_factory=Counter)
    asked: set[str] = field(default_factory=set)
    """The questions of all parts, see `normal`."""

    def takes(self, part: str, one: Example) -> bool:
        """Whether an example is one more of a part; not so if its question was asked before."""
        if is_new := new(one, self.asked):
            self.parts[part].append(one)
        else:
            self.dropped["a question that is there already"] += 1
        return is_new

    @property
    def parts(self) -> dict[str, list[Example]]:
        return {"train": self.train, "valid": self.valid, "test": self.test}


def build(mix: Mix, annotated: Sequence[Example] = ()) -> Dataset:
    """Draw all parts; annotated examples are for training, behind those of templates."""
    made = Dataset(mix)
    every = [*templates(), *mistakes()]
    # Test first, so that what a test asks is never decided by what is trained.
    for name in ("test", "valid", "train"):
        fill(made, name, [template for template in every if template.test == (name == "test")])
    for one in annotated:
        if made.takes("train", one):
            made.annotated[one.category] += 1
    random.Random(f"order {mix.seed}").shuffle(made.train)
    return made


def fill(made: Dataset, part: str, among: Sequence[Template]) -> None:
    """Different examples for a part, the shares of kinds as the mix has them."""
    mix, count = made.mix, getattr(made.mix, part)
    chosen = random.Random(f"{part} {mix.seed}")
    kinds = shares(mix, among)
    number = 0
    for _ in range(count):
        (kind,) = chosen.choices(list(kinds), weights=[share for share, _ in kinds.values()])
        for _ in range(TRIES):
            number += 1
            template = chosen.choice(kinds[kind][1])
            if made.takes(part, example(template, mix.seed, number, mix.digits)):
                break
        else:
            raise DataError(
                f"{part} = {count}: there are not enough different questions of the kind "
                f"{kind}; ask for fewer, or for longer numbers"
            )


def shares(mix: Mix, among: Sequence[Template]) -> dict[str, tuple[float, list[Template]]]:
    """Five kinds of templates: negatives, bare arithmetic, mistakes, composed ones, all others."""
    kinds: dict[str, tuple[float, list[Template]]] = {
        NEGATIVE: (mix.negatives, []),
        "arithmetic": (mix.arithmetic, []),
        MISTAKE: (mix.mistakes, []),
        composed.CATEGORY: (mix.stories * mix.composed, []),
        "stories": (mix.stories * (1 - mix.composed), []),
    }
    for template in among:
        kind = template.category if template.category in kinds else "stories"
        kinds[kind][1].append(template)
    return {kind: (share, found) for kind, (share, found) in kinds.items() if share and found}


def new(one: Example, seen: set[str]) -> bool:
    """Whether a question has not been asked before; it has, from now on."""
    asked = normal(one.question)
    if asked in seen:
        return False
    seen.add(asked)
    return True


def normal(question: str) -> str:
    """A question without capitals, spaces and marks."""
    return re.sub(r"[^0-9a-z+*/.=%^()-]", "", question.lower())


def leaks(dataset: Dataset) -> list[str]:
    """What stands in two parts: questions, or templates of the test."""
    found = []
    asked = {name: {normal(one.question) for one in part} for name, part in dataset.parts.items()}
    for first, second in (("train", "valid"), ("train", "test"), ("valid", "test")):
        found += [f"{first} and {second}: {q}" for q in sorted(asked[first] & asked[second])]
    trained = {one.template for one in (*dataset.train, *dataset.valid)}
    shared = trained & {one.template for one in dataset.test}
    return found + [f"template {name}" for name in sorted(shared)]


def write(dataset: Dataset, folder: Path) -> None:
    """A file of JSON lines for each part, as chat messages; a new folder with all or nothing."""
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"{folder} is there already: choose another folder")
    with whole_folder(folder) as partial:
        for name, part in dataset.parts.items():
            lines = (json.dumps(row(one), ensure_ascii=False) for one in part)
            (partial / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def row(one: Example) -> dict[str, Any]:
    """One example as it is kept."""
    return {
        "messages": [
            {"role": "user", "content": one.question},
            {"role": "assistant", "content": one.answer},
        ],
        "value": one.value,
        "category": one.category,
        "template": one.template,
    }


def read(file: Path) -> list[Example]:
    """What `write` wrote."""
    try:
        return [
            Example(
                *(message["content"] for message in each["messages"]),
                *(each[name] for name in ("value", "category", "template")),
            )
            for each in read_lines(file)
        ]
    except (LookupError, TypeError) as error:
        raise DataError(f"{file}: not a part of a data set ({error})") from error


def counts(examples: Iterable[Example]) -> Counter[str]:
    """Examples by category."""
    return Counter(one.category for one in examples)
