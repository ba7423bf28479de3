"""Every program of the gallery, on its table of cases and against plain Python, at every level."""

from __future__ import annotations

from functools import cache
from itertools import islice
from random import Random

import pytest

from curta.compiler import Model
from curta.engine import LEVELS, Engine, Level, load
from curta.engine.model_cache import compile_cached
from curta.gallery import NAMES, PROGRAMS
from tests.support.slow import all_but, draws

LONGEST_TEST = 20_000
ROUNDS: dict[Level, int] = {
    "evaluate": draws(8, 1),
    "plain": 4,
    "hull": 4,
    "native": draws(60),
    "speculative": 4,
}


@cache
def model_of(name: str) -> Model:
    program = PROGRAMS[name]
    return compile_cached(program.build(), program.max_tokens)


@cache
def engine_of(name: str, level: Level) -> Engine:
    return load(model_of(name), level)


def answer(name: str, level: Level, text: str) -> str:
    program = PROGRAMS[name]
    tokens = engine_of(name, level).generate(program.encode(text))
    return program.decode(list(islice(tokens, LONGEST_TEST)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NAMES)
def test_cases(name: str, level: Level) -> None:
    cases = PROGRAMS[name].cases
    some = cases if level in ("evaluate", "native") else cases[:: draws(1, len(cases) - 1)]
    for case in some:
        assert answer(name, level, case.input) == case.output, case.input


@pytest.mark.parametrize("level", all_but({"evaluate", "native"}, LEVELS))
@pytest.mark.parametrize("name", NAMES)
def test_random_inputs_agree_with_plain_python(name: str, level: Level) -> None:
    program = PROGRAMS[name]
    for seed in range(ROUNDS[level]):
        text = program.random_input(Random(seed))
        assert answer(name, level, text) == program.reference(text), f"seed {seed}: {text!r}"


@pytest.mark.parametrize("name", NAMES)
def test_reference_agrees_with_the_cases(name: str) -> None:
    for case in PROGRAMS[name].cases:
        assert PROGRAMS[name].reference(case.input) == case.output


@pytest.mark.parametrize("name", NAMES)
def test_certificate_covers_the_declared_length(name: str) -> None:
    assert model_of(name).certificate.max_tokens == PROGRAMS[name].max_tokens >= 2**16
