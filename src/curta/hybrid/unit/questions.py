"""Questions for routers, drawn by seeds: which operation, which numbers, and what comes out.

The texts are in `texts/KIND/*.txt`, a wording a line: `wordings` ask for an operation, `problems`
tell a story of one, `others` have numbers and ask for nothing that a unit computes. From the room
`delegate` come kinds of question with several steps, and with nothing to compute. **Splits are by
wording**: a third of each kind of line is for tests, a quarter of the rest for validation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Literal

from curta.delegate.data.data_set import NEGATIVE
from curta.delegate.data.draw import Draw
from curta.delegate.data.templates import example, templates
from curta.hybrid.unit.arithmetic import MOST_DIGITS, Operation, expected
from curta.hybrid.unit.numbers import Span, numbers_in

Split = Literal["train", "valid", "test"]
Kind = Literal["wordings", "problems", "others", "beyond"]
KINDS: tuple[Kind, ...] = ("wordings", "problems", "others", "beyond")
"""With an operation; stories of one; nothing to compute; something that a unit does not compute."""

THINGS = (
    "stamps", "marbles", "stickers", "postcards", "shells", "buttons", "pens", "coins", "apples",
    "books", "candles", "balloons", "pencils", "cups", "lemons", "tickets", "bricks", "beads",
)  # fmt: skip
NO_OPERATION: dict[str, Kind] = {"?": "others", "!": "beyond"}
"""What lines are that begin with these marks."""
SPLIT_SEED = 22


@dataclass(frozen=True)
class Wording:
    """A line: what is asked, with names for what is drawn.

    operation: of the first operand and the second; nothing where none is to be done
    money:     amounts instead of counted things
    """

    name: str
    kind: Kind
    split: Split
    operation: Operation | None
    text: str
    money: bool = False


@dataclass(frozen=True)
class Question:
    """A text that was drawn.

    operands: the first and the second, by characters of the text
    places:   the number of decimals that are asked for, if any are
    value:    what comes out, in decimal
    """

    text: str
    wording: Wording
    operands: tuple[Span, ...] = ()
    places: Span | None = None
    value: str | None = None


@cache
def wordings() -> tuple[Wording, ...]:
    """All lines, those of `delegate` behind them; each belongs to one split."""
    found = [each for kind in KINDS[:3] for each in wordings_of(kind)]
    for number, template in enumerate(templates()):
        first = example(template, 0, 0, (1, 4))
        nothing = template.category == NEGATIVE
        if len(first.expressions) > 1 or (nothing and any(map(str.isdigit, first.question))):
            kind: Kind = "others" if nothing else "beyond"
            split: Split = "test" if template.test else "train" if number % 4 else "valid"
            found.append(Wording(template.name, kind, split, None, ""))
    return tuple(found)


def wordings_of(folder: Kind) -> Iterator[Wording]:
    """The lines of the files of a folder, each kind of them split by itself."""
    for file in sorted((files(__package__) / "texts" / folder).iterdir(), key=lambda it: it.name):
        text = file.read_text(encoding="utf-8").splitlines()
        lines = [line.partition(" ") for line in text if not line.startswith("#")]
        title = f"{folder}/{file.name}".removesuffix(".txt").removesuffix("/first")
        for mark in dict.fromkeys(mark for mark, _, _ in lines):
            own = [words for other, _, words in lines if other == mark]
            operation = None if mark in NO_OPERATION else Operation(mark[0])
            for number, split in enumerate(splits(len(own), f"{SPLIT_SEED} {title} {mark}")):
                name, kind = f"{title} {mark} {number}", NO_OPERATION.get(mark, folder)
                yield Wording(name, kind, split, operation, own[number], mark.endswith("m"))


def splits(count: int, seed: str) -> list[Split]:
    """A third for tests, a quarter of the others for validation, in random order."""
    tests = round(count / 3)
    validation = round((count - tests) / 4)
    rest = count - tests - validation
    sizes: dict[Split, int] = {"test": tests, "valid": validation, "train": rest}
    found = [split for split, size in sizes.items() for _ in range(size)]
    random.Random(seed).shuffle(found)
    return found


def questions(split: Split, kind: Kind, count: int, seed: int | str) -> Iterator[Question]:
    """So many, of every wording of a kind and split as many as of the others; of fewer than there
    are, some of each file.
    """
    among = [one for one in wordings() if one.kind == kind and one.split == split]
    random.Random(SPLIT_SEED).shuffle(among)
    for number in range(count):
        wording = among[number % len(among)]
        yield question(wording, random.Random(f"{seed} {kind} {wording.name} {number}"))


def question(wording: Wording, drawn: random.Random) -> Question:
    """One of a wording."""
    draw = Draw(drawn)
    if not wording.text:
        template = next(one for one in templates() if one.name == wording.name)
        text = example(template, str(draw.chance()), 0, (1, draw.between(1, 9))).question
        return Question(text, wording)
    polite = draw.asked(wording.text)
    if wording.operation is None:
        return Question(filled(polite, Fields(draw))[0], wording)
    while True:
        a, b = operands(wording, draw)
        places = draw.between(1, 8) if "{n}" in polite else None
        first, second = (numbers_in(text)[0].number for text in (a, b))
        is_tiny = abs(first.value * 10**5) < abs(second.value)  # written with an exponent
        if wording.operation is Operation.DIVISION and is_tiny:
            continue
        value = expected(wording.operation, first, second, places)
        fields = Fields(draw)
        fields.update(a=a, b=b, n=str(places))
        text, begins = filled(polite, fields)
        spans = {span.begin: span for span in numbers_in(text)}
        both = spans[begins["a"]], spans[begins["b"]]
        return Question(text, wording, both, spans[begins["n"]] if places else None, value)


def filled(text: str, fields: Fields) -> tuple[str, dict[str, int]]:
    """A text with its fields, and where each of them begins."""
    made, begins = "", dict[str, int]()
    for before, name, _, _ in Formatter().parse(text):
        made += before
        if name is not None:
            begins[name] = len(made)
            made += fields[name]
    return made, begins


class Fields(dict[str, str]):
    """What a wording may name, drawn when it is asked for, anew each time but for people."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.draw = draw
        self["who"], self["other"] = draw.names(2)
        self["things"] = draw.choose(*THINGS)

    def __missing__(self, name: str) -> str:
        between = self.draw.between
        time = f"{between(0, 23):02}:{between(0, 59):02}"
        draws: dict[str, Callable[[], str]] = {
            **dict.fromkeys("xyz", lambda: number_text(self.draw)),
            **dict.fromkeys(("k", "l", "k2"), lambda: str(between(1, 99))),
            "year": lambda: str(between(1100, 2090)),
            "date": lambda: date(self.draw),
            "time": lambda: time,
            "money": lambda: f"{between(1, 999)}.{between(0, 99):02}",
            "version": lambda: ".".join(str(between(0, 20)) for _ in range(between(2, 3))),
            "ip": lambda: ".".join(str(between(1, 254)) for _ in range(4)),
            "phone": lambda: f"555-{between(0, 9999):04}",
            "isbn": lambda: f"978-{between(1, 9)}-{between(100, 999)}-{between(10000, 99999)}-1",
        }
        return draws[name]()


def date(draw: Draw) -> str:
    """A day, in one of three ways in which people write it."""
    year, month, day = draw.between(1900, 2090), draw.between(1, 12), draw.between(1, 28)
    return draw.choose(f"{year}-{month:02}-{day:02}", f"{month}/{day}/{year}", f"{day}.{month}.")


def operands(wording: Wording, draw: Draw) -> tuple[str, str]:
    """Both of them as they are written, so that the question makes sense."""
    operation, story = wording.operation, wording.kind == "problems"
    if not story:
        if operation is Operation.DIVISION and draw.chance() < 0.5:
            quotient, b = (draw.number(draw.between(1, MOST_DIGITS // 2)) for _ in range(2))
            return str(quotient * b), str(b)
        return number_text(draw), number_text(draw, zero=operation is not Operation.DIVISION)
    a, b = (draw.number(draw.between(1, 6)) + 1 for _ in range(2))
    if operation is Operation.DIVISION:
        b = draw.number(draw.between(1, 3)) + 1
        a *= b
    if operation is Operation.SUBTRACTION:
        a, b = max(a, b) + 1, min(a, b)
    if not wording.money:
        return str(a), str(b)
    cents = [f"{draw.between(0, 99):02}" for _ in range(2)]
    amounts = f"{a}.{cents[0]}", f"{b}.{cents[1]}"
    if operation in (Operation.ADDITION, Operation.SUBTRACTION):
        return amounts
    return (amounts[0], str(b)) if operation is Operation.DIVISION else (str(a), amounts[1])


def number_text(draw: Draw, *, zero: bool = True) -> str:
    """A number of 1 to 20 digits, perhaps with a sign, a point, or commas."""
    digits = draw.between(1, MOST_DIGITS)
    places = draw.between(1, min(6, digits - 1)) if digits > 1 and draw.chance() < 0.3 else 0
    before = draw.number(digits - places)
    text = f"{before:,}" if draw.chance() < 0.15 else str(before)
    if places:
        text = f"{'0' if draw.chance() < 0.1 else text}.{draw.number(places)}"
    elif zero and draw.chance() < 0.01:
        text = "0"
    return f"-{text}" if draw.chance() < 0.12 else text
