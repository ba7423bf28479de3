"""Values of configurations follow the rules that stand with their types."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from curta.delegate.checked import Checked, Count, Natural, Positive, within
from curta.delegate.commands.mcp import Options
from curta.delegate.tools import Bounds
from curta.errors import UserError
from curta.options import options_of


@dataclass(frozen=True)
class Part(Checked):
    """One.

    often: how often
    """

    often: Count = 1


@dataclass(frozen=True)
class Whole(Part):
    """Another.

    least: a number
    """

    least: Natural = 0
    rate: Positive = 1.0
    share: Annotated[float, within(0, 1)] = 0.5
    perhaps: Count | None = None
    word: Literal["a", "b"] | None = None
    part: Part = field(default_factory=Part)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"often": 0}, "often = 0: must be at least 1"),
        ({"least": -1}, "least = -1: must be at least 0"),
        ({"rate": 0.0}, "rate = 0.0: must be above 0, and finite"),
        ({"rate": math.inf}, "rate = inf: must be above 0, and finite"),
        ({"rate": math.nan}, "rate = nan: must be above 0, and finite"),
        ({"share": 1.5}, "share = 1.5: from 0 to 1"),
        ({"perhaps": 0}, "perhaps = 0: must be at least 1"),
        ({"word": "c"}, "word = 'c': one of a, b"),
        ({"often": None}, "often = None: must be at least 1"),
        ({"share": None}, "share = None: from 0 to 1"),
    ],
)
def test_what_breaks_a_rule_is_named(given: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=f"^{why}$"):
        Whole(**given)


def test_what_follows_them_is_taken() -> None:
    assert Whole(often=2, share=1.0, perhaps=3, word="b").often == 2


def test_options_are_of_the_plain_types() -> None:
    kinds = {each.name: (each.kind, each.meaning) for each in options_of(Whole)}
    assert kinds["often"] == (int, "how often")
    assert kinds["perhaps"][0] == int | None


@pytest.mark.parametrize("made", [lambda: Bounds(seconds=0), lambda: Options(at_once=0)])
def test_bounds_of_servers(made: Any) -> None:
    with pytest.raises(UserError, match="= 0: must be"):
        made()
