"""Tokens that are given where they are asked for, beside a session that is given each by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.compiler import Graph, compile, equals
from curta.engine.base import Answers, Session
from curta.engine.native_level import Native
from curta.errors import RegionError
from tests.support.slow import draws

NUMBERS = [str(number) for number in range(10)]
ASK = len(NUMBERS)
MOST = 7
LONGEST = 64


@cache
def asking() -> Native:
    """Counts up to 5 from what it is given, and asks again; nothing above MOST may be given."""
    graph = Graph([*NUMBERS, "ask"])
    number = graph.feature("number", {token: place for place, token in enumerate(NUMBERS)})
    number = graph.assume(number, 0, MOST)
    done = equals(number, 5) + graph.is_token("ask")
    graph.emit(NUMBERS, number + 1, when=graph.constant(1) - done)
    graph.emit_token("ask", when=done)
    graph.stop_after("ask")
    return Native(compile(graph, LONGEST))


def by_hand(session: Session, first: int, count: int, tokens: list[int]) -> tuple[list[int], int]:
    """What is said, and how many answers were used: each given by `take`."""
    said, used = session.generate(first, count).tolist(), 0
    while said[-1] == ASK and used < len(tokens) and len(said) < count:
        session.feed(ASK)
        said.append(tokens[used])
        used += 1
        if len(said) < count:
            following = session.feed(said[-1])
            said += session.generate(following, count - len(said)).tolist()
    return said, used


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, LONGEST - 1), st.integers(0, 5))
@settings(max_examples=draws(200))
def test_answers_are_said_as_if_they_were_given(tokens: list[int], count: int, start: int) -> None:
    one, other = asking().session(), asking().session()
    first = [session.take(np.array([start], dtype=np.int32)) for session in (one, other)]
    answers = Answers(ASK, np.array([9, *tokens], dtype=np.int32), used=1)
    said = one.generate(first[0], count, answers).tolist()
    assert (said, answers.used - 1) == by_hand(other, first[1], count, tokens)
    assert one.length == other.length
    assert one.feed(said[-1]) == other.feed(said[-1])


@pytest.mark.parametrize("before", [[], [3], [2, 4, 1]])
def test_an_answer_that_breaks_a_promise_ends_the_sequence(before: list[int]) -> None:
    session, other = asking().session(), asking().session()
    first = [each.take(np.array([3], dtype=np.int32)) for each in (session, other)]
    answers = Answers(ASK, np.array([*before, MOST + 1, 0], dtype=np.int32))
    said = session.generate(first[0], 50, answers).tolist()
    assert said[-2:] == [ASK, MOST + 1]
    assert answers.used == len(before) + 1
    with pytest.raises(RegionError) as error:
        session.check()
    with pytest.raises(RegionError) as expected:
        by_hand(other, first[1], 50, [*before, MOST + 1, 0])
    assert str(error.value) == str(expected.value)
    assert session.length == other.length == len(said)
