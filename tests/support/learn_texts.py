"""Rows of a language as text, and what should stand in them by Python's own arithmetic.

Nothing here knows how curta computes: questions are taken apart with regular expressions, and
answers are found with int and Fraction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from curta.learn import catalogue
from curta.learn.language import Language, Rows
from curta.learn.numbers import Number

DIGITS = "0123456789" + "".join(chr(0x4E00 + index) for index in range(10, 1000))
"""One character for each digit of any base up to 1000."""

NUMBER = f"[0-9{DIGITS[10]}-{DIGITS[-1]}]+"

FAST_COMPILE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""Tests compile many programs and run each of them once."""


def value(text: str, base: int = 10) -> int:
    """What digits stand for."""
    total = 0
    for digit in text:
        total = total * base + DIGITS.index(digit)
    return total


def show(number: int, base: int = 10) -> str:
    """The digits of an integer."""
    digits, rest = "", abs(number)
    while rest or not digits:
        digits, rest = DIGITS[rest % base] + digits, rest // base
    return "-" * (number < 0) + digits


def show_point(number: Fraction, base: int = 10) -> str:
    """A number with a point and no zeros at its end."""
    places = 0
    while number.denominator != 1:
        number, places = number * base, places + 1
    digits = show(abs(int(number)), base).rjust(places + 1, "0")
    shown = digits[: len(digits) - places] + ("." + digits[len(digits) - places :]) * (places > 0)
    return "-" * (number < 0) + shown


def fraction(text: str, base: int = 10) -> Fraction:
    """The value of a number with a point."""
    whole, _, behind = text.partition(".")
    return Fraction(value(whole + behind, base), base ** len(behind))


def some_operands(
    language: Language, rows: int, places: int, *, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Digits and lengths: extremes first, then at random."""
    base, task = language.format.base, language.task
    least, most = task.operands
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, places + 1, (rows, most))
    digits = rng.integers(0, base, (rows, most, places))
    digits[: rows // 8] = rng.choice([0, base - 1], digits[: rows // 8].shape)
    lengths[: rows // 4] = places
    digits[0], digits[1], digits[2] = base - 1, 0, digits[2, :1]
    digits[3], digits[3, 0] = base - 1, 0
    digits[4], digits[4, 0] = 0, base - 1
    if not task.leading_zeros:
        place = np.arange(places)
        first = place == lengths[..., None] - 1
        lacking = first & (digits == 0) & (lengths[..., None] > 1)
        digits = np.where(lacking, 1, digits)
    counts = rng.integers(least, most + 1, rows)
    counts[: rows // 4] = most
    lengths = np.where(np.arange(most) < counts[:, None], lengths, 0)
    return np.where(np.arange(places) < lengths[..., None], digits, 0), lengths


def rows_of(language: Language, digits: np.ndarray, lengths: np.ndarray, *, seed: int = 0) -> Rows:
    """Rows about these operands."""
    count, most, places = digits.shape
    width = language.width(most, places)

    def row(digits: jax.Array, sizes: jax.Array, key: jax.Array) -> Rows:
        none = jnp.zeros_like(sizes)
        problem_key, row_key = jax.random.split(key)
        operands = Number(digits, sizes, none.astype(bool), none)
        return language.row(language.problem(operands, key=problem_key), width + 2, key=row_key)

    given = (
        jnp.asarray(digits, jnp.int32),
        jnp.asarray(lengths, jnp.int32),
        jax.random.split(jax.random.key(seed), count),
    )
    compiled = jax.jit(jax.vmap(row)).lower(*given).compile(FAST_COMPILE)
    rows: Rows = compiled(*given)
    assert int(rows.length.max()) <= width, "a row is longer than the width that was promised"
    return rows


def texts_of(language: Language, rows: Rows) -> list[tuple[str, str]]:
    """Questions and answers, each digit as one character."""
    alphabet = language.alphabet
    names = list(alphabet.symbols)
    names[1 : 1 + alphabet.base] = DIGITS[: alphabet.base]
    found = []
    for tokens, prompt, length in zip(
        np.asarray(rows.tokens),
        np.asarray(rows.prompt_length),
        np.asarray(rows.length),
        strict=True,
    ):
        text = [names[token] for token in tokens[:length]]
        assert text[-1] == "#"
        found.append(("".join(text[:prompt]), "".join(text[prompt:-1])))
    return found


def language(task: str, format_: str = "plain") -> Language:
    """A task in a format, by their names."""
    return Language(catalogue.task(task), catalogue.format_(format_))


def integers(question: str, base: int) -> list[int]:
    """The numbers in a question."""
    return [value(each, base) for each in re.findall(NUMBER, question)]


def digit_texts(digits: np.ndarray, lengths: np.ndarray) -> list[str]:
    """The operands of a row as they should be written."""
    return [
        "".join(DIGITS[digit] for digit in number[:length][::-1])
        for number, length in zip(digits, lengths, strict=True)
        if length
    ]


def sign(difference: int | Fraction) -> str:
    return "<" if difference < 0 else ">" if difference > 0 else "="


def evaluated(question: str, base: int) -> int:
    """The value of an expression, by Python's own parser."""
    return int(eval(re.sub(NUMBER, lambda match: str(value(match[0], base)), question[:-1])))


def decimal_answer(question: str, base: int) -> str:
    a, operator, b = re.fullmatch(r"([^-+*?]+)([-+*?])([^-+*?=:]+)[=:]", question).groups()
    x, y = fraction(a, base), fraction(b, base)
    if operator == "?":
        return sign(x - y)
    return show_point({"+": x + y, "-": x - y, "*": x * y}[operator], base)


def fraction_answer(question: str, base: int) -> str:
    a, b, c, d = integers(question, base)
    operator = re.search(r"[-+*?]", question)[0]
    x, y = Fraction(a, b), Fraction(c, d)
    if operator == "?":
        return sign(x - y)
    result = {"+": x + y, "-": x - y, "*": x * y}[operator]
    return f"{show(result.numerator, base)}/{show(result.denominator, base)}"


def divided(question: str, base: int) -> str:
    a, b = integers(question, base)
    return f"{show(a // b, base)}r{show(a % b, base)}"


def compared(question: str, base: int) -> str:
    a, b = integers(question, base)
    return sign(a - b)


def joined_bits(question: str, base: int) -> str:
    a, b = question[:-1].split("|")
    width = max(len(a), len(b))
    return bin(int(a, 2) | int(b, 2))[2:].rjust(width, "0")


def arithmetic(question: str, base: int) -> str:
    return show(evaluated(question, base), base)


def ordered(pick: Callable[[Sequence[int]], Sequence[int]]) -> Callable[[str, int], str]:
    def answer(question: str, base: int) -> str:
        return ",".join(show(each, base) for each in pick(sorted(integers(question, base))))

    return answer


ANSWERS: dict[str, Callable[[str, int], str]] = {
    "addition": arithmetic,
    "subtraction": arithmetic,
    "multiplication": arithmetic,
    "multi_addition": arithmetic,
    "expression": arithmetic,
    "mixed": arithmetic,
    "modular": lambda question, base: arithmetic(f"({question.replace('%', ')%')}", base),
    "division": divided,
    "comparison": compared,
    "sorting": ordered(lambda row: row),
    "max": ordered(lambda row: row[-1:]),
    "min": ordered(lambda row: row[:1]),
    "parity": lambda question, base: str(question.count("1") % 2),
    "bitwise_or": joined_bits,
    "copy": lambda question, base: question[:-1],
    "reverse": lambda question, base: question[:-1][::-1],
    "decimals": decimal_answer,
    "fractions": fraction_answer,
}
"""For each task the answer to a question in plain format."""
