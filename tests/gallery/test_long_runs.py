"""The two programs that are made to run for millions of tokens, over the length they document."""

from __future__ import annotations

import pytest

from curta.compiler import compile
from curta.engine import load
from curta.gallery import PROGRAMS
from curta.gallery.counter import LONG_RUN as COUNTER_RUN
from curta.gallery.subleq import LONG_RUN as SUBLEQ_RUN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [("counter", COUNTER_RUN, 18_888_896), ("subleq", SUBLEQ_RUN, 19_200_599)],
)
def test_long_run(name: str, text: str, tokens: int) -> None:
    program = PROGRAMS[name]
    engine = load(compile(program.build(), program.max_tokens), "native")
    said = engine.run(engine.encode(program.encode(text)))
    assert len(said) == tokens
    answer = program.decode(engine.vocabulary[token] for token in said.tolist())
    assert answer == program.reference(text)
