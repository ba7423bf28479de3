"""While a program answers, exactly one of its output rules holds at every position."""

from __future__ import annotations

import pytest

from curta.compiler import compile
from curta.engine.evaluate import GraphSession
from curta.gallery import NAMES, PROGRAMS
from tests.support.slow import some


@pytest.mark.parametrize("name", some(11, NAMES))
def test_one_rule_holds_at_a_time(name: str) -> None:
    program = PROGRAMS[name]
    graph = compile(program.build(), program.max_tokens).graph
    for case in program.cases[:3]:
        session = GraphSession(graph)
        tokens = [graph.token_id(token) for token in program.encode(case.input)]
        following = -1
        for token in tokens:
            following = session.feed(token)
        for _ in range(300):
            holds = [session.values[f.when] for f in graph.families if f.when is not None]
            assert sorted(holds)[-2:] == [0, 1], (case.input, holds)
            if following in graph.stops:
                break
            following = session.feed(following)
