"""Every format: golden examples, and all it writes against plain Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import zip_longest

import numpy as np
import pytest

from curta.learn import catalogue
from curta.learn.formats.base import Format
from tests.support.learn_texts import (
    ANSWERS,
    DIGITS,
    NUMBER,
    integers,
    language,
    rows_of,
    show,
    some_operands,
    texts_of,
    value,
)
from tests.support.slow import some

GOLDEN: dict[tuple[str, str], str] = {
    ("plain", "addition"): "57+24=81",
    ("plain", "division"): "57/24=2r9",
    ("reversed", "subtraction"): "24-57=33-",
    ("reversed_operands", "addition"): "75+42=81",
    ("reversed_both", "addition"): "75+42=18",
    ("padded", "addition"): "57+04=061",
    ("padded(reversed=True)", "multiplication"): "57*04=8220",
    ("fixed(width=3)", "addition"): "057+024=0081",
    ("hints(offset=False)", "addition"): "B5A7+B2A4=B8A1",
    ("hints(offset=False, reversed=True)", "subtraction"): "B2A4-B5A7=A3B3-",
    ("symbolic", "addition"): "FH+CE=IB",
    ("spaces(share=1.0)", "addition"): " 5 7 + 2 4 =81",
    ("scratchpad", "addition"): "57+24=1c1;8c0;81",
    ("scratchpad", "subtraction"): "24-57=-3c0;3c0;-33",
    ("scratchpad", "multiplication"): "57*24=228>228;1140>1368;1368",
    ("scratchpad", "multi_addition"): "57+24+9=0c2;9c0;90",
    ("scratchpad_detailed", "addition"): "57+24=57+24>:7+4+0=1c1;5+2>1:5+2+1=8c0;81",
    ("scratchpad_detailed", "multiplication"): (
        "57*24=57*4:7*4+0=8c2,5*4+2=2c2,228>228;57*2:7*2+0=4c1,5*2+1=1c1,1140>1368;1368"
    ),
    ("right_to_left", "addition"): "57+24=74c0=1c1;52c1=8c0;18",
    ("revorder", "addition"): "57+24=1'8;18",
    ("revorder", "multiplication"): "57*24=822+0411=8631;8631",
    ("decomposed", "multiplication"): "57*24=20+4:1140+228:1140+228=1368;1368",
    ("decomposed", "division"): "99/4=4*20=80,99-80=19;4*4=16,19-16=3;24r3",
    ("turing", "addition"): "57+24=[c0]74_>1LLL;[c1]52_>8LLL;[c0]___>_SSS;[halt]81",
    ("turing", "subtraction"): (
        "4-7=[b0]47_>7LLL;[b1]___>_SSR;[back]__7>7SSR;[back]___>_SSL;"
        "[zeros]__7>3SSL;[others]___>_SSS;[minus]-3"
    ),
}
"""Format and task: what is written about the numbers that can be read off the question."""


def given(text: str) -> list[str]:
    """The operands that a golden example is about, as people write them."""
    question = re.match(r"[^=]*", text)[0]
    if "F" in question:
        question = "57+24"
    question = re.sub("[A-Z ]", "", question)
    return re.findall(NUMBER, question)


RESTORED = (
    "reversed",
    "scratchpad",
    "scratchpad_detailed",
    "right_to_left",
    "revorder",
    "decomposed",
)
"""Formats whose questions stand as people write them."""


def test_the_slow_ways_write_the_golden_examples() -> None:
    compared = 0
    for (format_, task), text in GOLDEN.items():
        for name, asked, base, _, written in (*WRITTEN, *MORE_WRITTEN):
            same_task = asked.partition("(")[0] == task
            if name == format_ and same_task and base == 10 and name in RESTORED:
                question = re.match("[^=]*=", text)[0]
                right = ANSWERS[task](question, base)
                assert "".join(written(question, right, base)) == text
                compared += 1
    assert compared >= 10


@pytest.mark.slow
@pytest.mark.parametrize(("format_", "task"), GOLDEN)
def test_golden_examples(format_: str, task: str) -> None:
    text = GOLDEN[format_, task]
    numbers = given(text)
    if format_ in ("reversed_operands", "reversed_both"):
        numbers = [number[::-1] for number in numbers]
    numbers = [str(int(number)) for number in numbers]
    made = language(task, format_)
    room = made.task.operands[1]
    digits = np.zeros((1, room, 2), int)
    lengths = np.zeros((1, room), int)
    for which, number in enumerate(numbers):
        lengths[0, which] = len(number)
        digits[0, which, : len(number)] = [int(digit) for digit in reversed(number)]
    question, answer = texts_of(made, rows_of(made, digits, lengths))[0]
    assert question + answer == text


# What is written, by the slow and obvious way: from the question, as people write it, to the text.

Written = Callable[[str, str, int], tuple[str, str]]
"""Of question, answer and base: the question and the answer as the format has them."""


def turned(text: str) -> str:
    """Every number from its last digit, its sign behind it."""
    return re.sub(f"(-?)({NUMBER})", lambda found: found[2][::-1] + found[1], text)


def turned_question(text: str) -> str:
    return re.sub(NUMBER, lambda found: found[0][::-1], text)


def columns(question: str, base: int) -> tuple[str, str, list[tuple[list[int], int, int, int]]]:
    """The operator, a sign if operands are swapped; digits, carry, digit, next carry by place."""
    numbers = integers(question, base)
    operator = re.search(r"[-+]", question)[0]
    swapped = operator == "-" and numbers[0] < numbers[1]
    if swapped:
        numbers.reverse()
    texts = [show(number, base)[::-1] for number in numbers]
    carry, found = 0, []
    for place in zip_longest(*texts, fillvalue="0"):
        digits = [value(digit, base) for digit in place]
        total = sum(digits) + carry if operator == "+" else digits[0] - digits[1] - carry
        found.append((digits, carry, total % base, abs(total // base)))
        carry = abs(total // base)
    return operator, "-" * swapped, found


def scratchpad(question: str, answer: str, base: int) -> tuple[str, str]:
    if "*" in question:
        a, b = integers(question, base)
        text, total = "", 0
        for place, digit in enumerate(reversed(show(b, base))):
            product = a * value(digit, base) * base**place
            total += product
            text += f"{show(product, base)}>{show(total, base)};"
        return question, text + answer
    _, sign, places = columns(question, base)
    steps = [f"{DIGITS[digit]}c{show(after, base)};" for _, _, digit, after in places]
    return question, sign + "".join(steps) + answer


def detailed(question: str, answer: str, base: int) -> tuple[str, str]:
    if "*" in question:
        return question, detailed_product(question, base) + answer
    operator, sign, places = columns(question, base)
    numbers = integers(question, base)
    texts = [show(number, base) for number in (numbers[::-1] if sign else numbers)]
    text, so_far = sign, ""
    for digits, carry, digit, after in places:
        rests = operator.join(texts)
        added = operator.join(DIGITS[each] for each in digits)
        result = f"{DIGITS[digit]}c{show(after, base)}"
        text += f"{rests}>{so_far}:{added}{operator}{show(carry, base)}={result};"
        texts = [each[:-1] or "0" for each in texts]
        so_far = DIGITS[digit] + so_far
    return question, text + answer


def detailed_product(question: str, base: int) -> str:
    a, b = integers(question, base)
    text, total = "", 0
    for place, digit in enumerate(reversed(show(b, base))):
        factor, carry = value(digit, base), 0
        text += f"{show(a, base)}*{digit}:"
        for other in reversed(show(a, base)):
            result = value(other, base) * factor + carry
            text += f"{other}*{digit}+{DIGITS[carry]}={DIGITS[result % base]}c"
            carry = result // base
            text += f"{DIGITS[carry]},"
        product = a * factor * base**place
        total += product
        text += f"{show(product, base)}>{show(total, base)};"
    return text


def right_to_left(question: str, answer: str, base: int) -> tuple[str, str]:
    _, sign, places = columns(question, base)
    text = sign
    for digits, carry, digit, after in places:
        seen = "".join(DIGITS[each] for each in digits)
        text += f"{seen}c{show(carry, base)}={DIGITS[digit]}c{show(after, base)};"
    return question, text + turned(answer)


def revorder(question: str, answer: str, base: int) -> tuple[str, str]:
    if "*" not in question:
        _, sign, places = columns(question, base)
        steps = [DIGITS[digit] + "'" * after for _, _, digit, after in places]
        return question, sign + "".join(steps) + ";" + turned(answer)
    a, b = integers(question, base)
    text, total = "", 0
    for place, digit in enumerate(reversed(show(b, base))):
        product = a * value(digit, base) * base**place
        total += product
        text += "+" * (place > 0) + show(product, base)[::-1]
        text += f"={show(total, base)[::-1]}" * (place > 0)
    return question, f"{text};{answer[::-1]}"


def decomposed(question: str, answer: str, base: int) -> tuple[str, str]:
    a, b = integers(question, base)
    text = ""
    if "/" in question:
        for place in reversed(range(len(show(a // b, base)))):
            quotient = a // b // base**place % base * base**place
            rest = a % (b * base ** (place + 1))
            if quotient:
                product = show(b * quotient, base)
                text += f"{show(b, base)}*{show(quotient, base)}={product},{show(rest, base)}-"
                text += f"{product}={show(rest - b * quotient, base)};"
        return question, text + answer
    shown = show(b, base)
    parts = [
        value(digit, base) * base ** (len(shown) - 1 - place) for place, digit in enumerate(shown)
    ]
    parts = [part for part in parts if part] or [0]
    products = [a * part for part in parts]
    text = "+".join(show(part, base) for part in parts)
    text += ":" + "+".join(show(product, base) for product in products) + ":"
    total = products[0]
    for product in products[1:]:
        text += f"{show(total, base)}+{show(product, base)}={show(total + product, base)};"
        total += product
    return question, text + answer


def padded(width: int | None, growth: Callable[[int], int]) -> Written:
    def write(question: str, answer: str, base: int) -> tuple[str, str]:
        longest = width or max(map(len, re.findall(NUMBER, question)))
        long_question = re.sub(NUMBER, lambda found: found[0].rjust(longest, "0"), question)
        return long_question, re.sub(
            NUMBER, lambda found: found[0].rjust(growth(longest), "0"), answer
        )

    return write


def hinted(question: str, answer: str, base: int) -> tuple[str, str]:
    def letters(found: re.Match[str]) -> str:
        size = len(found[0])
        return "".join(chr(ord("A") + size - 1 - at) + d for at, d in enumerate(found[0]))

    return re.sub(NUMBER, letters, question), re.sub(NUMBER, letters, answer)


def in_letters(question: str, answer: str, base: int) -> tuple[str, str]:
    table = {ord(DIGITS[digit]): chr(ord("A") + digit) for digit in range(base)}
    return question.translate(table), answer.translate(table)


def once(question: str, answer: str, base: int) -> tuple[str, str]:
    return question, answer


PLAIN: dict[str, Written] = {
    "plain": once,
    "reversed": lambda q, a, base: (q, turned(a)),
    "reversed_operands": lambda q, a, base: (turned_question(q), a),
    "reversed_both": lambda q, a, base: (turned_question(q), turned(a)),
    "hints": hinted,
    "symbolic": in_letters,
    "spaces": lambda q, a, base: (re.sub("(.)", r" \1", q), a),
}

WRITTEN: tuple[tuple[str, str, int, int, Written], ...] = (
    ("reversed", "subtraction", 10, 3, PLAIN["reversed"]),
    ("reversed_both", "addition", 10, 3, PLAIN["reversed_both"]),
    ("symbolic", "addition", 10, 3, in_letters),
    ("reversed_operands", "addition", 10, 3, PLAIN["reversed_operands"]),
    ("padded", "addition", 10, 3, padded(None, lambda width: width + 1)),
    ("fixed(width=4)", "subtraction", 10, 3, padded(4, lambda width: width)),
    ("hints(offset=False)", "addition", 10, 3, hinted),
    ("scratchpad", "addition", 10, 3, scratchpad),
    ("scratchpad_detailed", "addition", 10, 3, detailed),
    ("right_to_left", "addition", 100, 3, right_to_left),
    ("revorder", "addition", 10, 3, revorder),
    ("decomposed", "multiplication", 10, 3, decomposed),
    ("decomposed", "division", 10, 3, decomposed),
)

MORE_WRITTEN: tuple[tuple[str, str, int, int, Written], ...] = (
    ("spaces(share=1.0)", "addition", 10, 3, PLAIN["spaces"]),
    ("scratchpad", "multiplication", 10, 3, scratchpad),
    ("scratchpad", "subtraction", 10, 3, scratchpad),
    ("revorder", "multiplication", 10, 3, revorder),
    ("scratchpad_detailed", "multiplication(second=2)", 10, 3, detailed),
    ("reversed_both", "division", 10, 3, PLAIN["reversed_both"]),
    ("scratchpad", "multi_addition(numbers=3)", 10, 3, scratchpad),
    ("right_to_left", "subtraction", 10, 3, right_to_left),
    ("symbolic", "multiplication", 10, 3, in_letters),
    ("padded", "multiplication", 16, 3, padded(None, lambda width: 2 * width)),
    ("padded", "sorting", 10, 3, padded(None, lambda width: width)),
    ("padded", "mixed(operations='+-')", 2, 6, padded(None, lambda width: width + 1)),
    ("fixed(width=30)", "addition", 1000, 20, padded(30, lambda width: width + 1)),
    ("scratchpad", "addition", 1000, 12, scratchpad),
    ("scratchpad", "multi_addition(numbers=12)", 10, 8, scratchpad),
    ("scratchpad", "subtraction", 2, 30, scratchpad),
    ("scratchpad_detailed", "subtraction", 10, 12, detailed),
    ("scratchpad_detailed", "multi_addition", 16, 5, detailed),
    ("scratchpad_detailed", "multiplication", 16, 4, detailed),
    ("right_to_left", "multi_addition", 10, 20, right_to_left),
    ("right_to_left", "addition", 10, 100, right_to_left),
    ("revorder", "multi_addition(numbers=3)", 10, 8, revorder),
    ("revorder", "multiplication(second=1)", 10, 12, revorder),
    ("revorder", "multiplication", 100, 6, revorder),
    ("decomposed", "multiplication(first=5, second=3)", 10, 8, decomposed),
    ("decomposed", "multiplication", 1000, 4, decomposed),
    ("decomposed", "division", 16, 7, decomposed),
    ("decomposed", "division(second=2)", 10, 12, decomposed),
)


@cache
def plain_questions(task: str, base: int, places: int, rows: int) -> list[str]:
    """The same questions as people write them."""
    plain = language(task, f"plain(base={base})")
    digits, lengths = some_operands(plain, rows, places, seed=1)
    return [question for question, _ in texts_of(plain, rows_of(plain, digits, lengths))]


def check(format_: str, task: str, base: int, places: int, written: Written, rows: int) -> int:
    """Compare all texts; say how long rows are below their width."""
    name, _, options = format_.partition("(")
    made = language(task, f"{name}(base={base}, {options or ')'}")
    digits, lengths = some_operands(made, rows, places, seed=1)
    found = rows_of(made, digits, lengths)
    for (question, answer), asked in zip(
        texts_of(made, found), plain_questions(task, base, places, rows), strict=True
    ):
        right = ANSWERS[made.task.name](asked, base)
        assert (question, answer) == written(asked, right, base), f"{asked}{right}"
    return made.width(digits.shape[1], places) - int(found.length.max())


@pytest.mark.parametrize(("format_", "task", "base", "places", "written"), some(4, WRITTEN))
def test_texts_are_right_and_rows_as_wide_as_promised(
    format_: str, task: str, base: int, places: int, written: Written
) -> None:
    assert check(format_, task, base, places, written, 400) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("format_", "task", "base", "places", "written"), MORE_WRITTEN)
def test_texts_about_long_numbers_and_other_bases(
    format_: str, task: str, base: int, places: int, written: Written
) -> None:
    check(format_, task, base, places, written, 256)


def test_every_format_is_compared() -> None:
    names = {catalogue.format_(format_).name for format_, *_ in WRITTEN}
    elsewhere = {"plain", "turing", "sentences", "spaces", "whole"}
    assert names | elsewhere == set(catalogue.parts(Format))
