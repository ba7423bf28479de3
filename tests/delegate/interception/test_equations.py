"""Calculations that a model writes anyway are answered; what is none of them stays as it is."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from hypothesis import given
from hypothesis import strategies as st

from curta.delegate.interception.equations import (
    Equations,
    EquationScanner,
    calculation_at_end,
)
from curta.delegate.interception.events import CallResult, Event, TextDelta, written
from curta.delegate.interception.generator import CalcGenerator, Prompt
from curta.delegate.interception.protocol import Protocol
from curta.delegate.interception.scanner import Closed, Found
from curta.delegate.tools.calculator import CalculatorTool
from curta.errors import UserError
from tests.support.tiny_language_models import tokenizer_of_any_text

READ = {
    "71 - 60 ": "71 - 60",
    "1. 12 * 48 ": "12 * 48",
    "So Total = 12 * 3 ": "12 * 3",
    "71 - 60 = 11 + 4 ": "11 + 4",
    "$5 \\times 3 ": "$5 * 3",
    r"\[ 3 \text{ seats/bus} \times 72 \text{ rooms} ": "3 * 72",
    r"\frac{10}{2} ": "((10)/(2))",
    r"\frac{5 \times 4}{2} ": "((5 * 4)/(2))",
    r"\frac{3}{4}^2 + 1 ": "((3)/(4))^2 + 1",
    r"1{,}000 \times 3 ": "1,000 * 3",
    "15% of 200": "15% of 200",
    "5 miles per hour * 3 hours": "5 * 3",
    "sqrt(16) + 9": "sqrt(16) + 9",
    r"\left( 12 + 15 \right) \times 2 ": "(12 + 15) * 2",
    "3 + 4 &": "3 + 4",
}
TEXT = [
    "2x + 3 ",
    "x - 12 * 7 ",
    "39 = f + 19 - 19 ",
    r"\frac{x + 4}{2} ",
    "5 ",
    "1/0 ",
    "12 cups + 5 spoons ",
    "",
    "20 percent * 50 ",
    "5 squared + 2 * 3 ",
    r"5\text{ squared} + 1 ",
    "sqrt 16 + 9 ",
    "√16 + 2 ",
    r"\sqrt 16 + 2 ",
    r"\sqrt{16} + 2 ",
    "the square root of 16 + 9 ",
    r"\log_{10} 100 + 1 ",
    "2 pi * 3 ",
    "10 plus 5 * 2 ",
    "10 divided by 2 + 3 * 4 ",
    "17 mod 5 * 2 ",
    "7 choose 2 * 3 ",
    "4 factorial / 2 ",
    "4! + 2 ",
    "half of 10 + 4 ",
    "5 hundredths * 3 ",
    "3 million * 2 thousand ",
    "sin(30 degrees) * 2 ",
    "(5)(3) + 2 ",
    "3∙4 + 2 ",
    "1 000 * 3 ",
    "1, 000 * 3 ",
    "2024-11-27 ",
    "how much more than 5 * 3 ",
]


@pytest.mark.parametrize("line", READ)
def test_a_calculation_is_read(line: str) -> None:
    assert calculation_at_end(line) == READ[line]


@pytest.mark.parametrize("line", TEXT)
def test_what_cannot_be_read_is_text(line: str) -> None:
    assert calculation_at_end(line) is None


def scan(pieces: list[str], most_calls: int = Protocol.most_calls) -> tuple[list[str], str]:
    """The calculations that are found, and what is passed on as text."""
    scanner = EquationScanner(most_calls)
    calculations, text = [], ""
    for piece in pieces:
        rest: str | None = piece
        while rest:
            found: list[Found] = scanner.feed(rest)
            rest = None
            for each in found:
                if isinstance(each, Closed):
                    calculations.append(each.body)
                    text, rest = text + each.text, each.rest
                else:
                    assert isinstance(each, TextDelta)
                    text += each.text
    assert scanner.turn() == scanner.finish() == []
    return calculations, text


PARTS = st.sampled_from(
    ["12", " + ", "3", " = ", "=", "x", "\n", "*\n", "\\times ", "é", "<= ", " 7 * 2"]
)


@given(st.lists(PARTS, max_size=12))
def test_pieces_or_characters_make_no_difference(pieces: list[str]) -> None:
    together = "".join(pieces)
    if "==" not in together:
        assert scan(pieces) == scan(list(together)) == scan([together])
    assert scan(pieces)[1] == together


def test_signs_that_compare_are_none() -> None:
    assert scan(["2 + 3 == 5, 2 + 3 <= 5, 2 + 3 != 6, 2 + 3 => 5"])[0] == []


def test_a_line_may_go_on_in_the_next() -> None:
    assert scan(["5 +\n4 * 2 ="])[0] == ["5 + 4 * 2"]
    assert scan(["half of 10 \\times\n 4 + 2 ="])[0] == []
    assert scan(["so much.\n4 * 2 ="])[0] == ["4 * 2"]


def test_a_calculation_goes_on_behind_an_answer() -> None:
    scanner = Equations().scanner()
    assert isinstance(scanner.feed("2 + 3 =")[-1], Closed)
    scanner.answered(" 5")
    (text, found) = scanner.feed(" + 4 =")
    assert isinstance(found, Closed)
    assert (text, found.body) == (TextDelta(" + 4 "), "5 + 4")


def test_there_are_no_more_calls_than_allowed() -> None:
    assert scan(["1 + 1 = 2\n1 + 2 = 3\n1 + 3 = 4"], most_calls=2)[0] == ["1 + 1", "1 + 2"]


def test_other_tools_are_not_called_by_equals_signs() -> None:
    class Other(CalculatorTool):
        name = "other"

    assert Equations().with_tools([CalculatorTool()]) == Equations()
    with pytest.raises(UserError, match="other is not called by an equals sign; use own"):
        Equations().with_tools([CalculatorTool(), Other(name="other")])
    with pytest.raises(UserError, match="no call can be asked for"):
        Equations().opening("calculate")


def said(*pieces: str, behind: Prompt = ()) -> tuple[str, list[str]]:
    """What a model that chooses these pieces has written, and which calls were answered."""
    spoken = tokenizer_of_any_text()
    events: list[Event] = []
    row = CalcGenerator(None, spoken, format="equations").row(events.append, behind)
    fed: list[int] = []
    for piece in pieces:
        for token in spoken.encode(piece, add_special_tokens=False):
            fed += row.take(token, 999)
    row.finish()
    text = "".join(event.text for event in events)
    assert spoken.decode(fed) == text
    assert written(events, Protocol()) == text
    return text, [event.expression for event in events if isinstance(event, CallResult)]


def test_the_prompt_may_have_begun_the_first_line() -> None:
    assert said("10 + 4 =", " 7", behind="Half of ")[1] == []
    assert said("10 + 4 =", " 7")[1] == ["10 + 4"]
    for begun in ("\n", "is "):
        assert said(f"{begun}10 + 4 =", " 7", behind="Half of ")[1] == ["10 + 4"]


def test_the_result_is_put_behind_the_sign() -> None:
    text, calls = said("So 87 * 48 =", " bottles, and x = 5.\n4176 - 129 =", " whole")
    assert text == "So 87 * 48 = 4176 bottles, and x = 5.\n4176 - 129 = 4047 whole"
    assert calls == ["87 * 48", "4176 - 129"]


def test_digits_behind_it_make_no_other_number() -> None:
    assert said("71 - 60 =", "0 sacks")[0] == "71 - 60 = 11  sacks"


def test_what_has_no_result_the_model_goes_on_with() -> None:
    assert said("1/0 = none, x + 1 = 3") == ("1/0 = none, x + 1 = 3", [])


def test_a_prompt_says_nothing_of_calls() -> None:
    spoken = tokenizer_of_any_text()
    format = CalcGenerator(None, spoken, format="equations").calling.format
    assert format.prompt(spoken, [{"role": "user", "content": "How many?"}]) == (
        "user: How many?\nassistant: "
    )
