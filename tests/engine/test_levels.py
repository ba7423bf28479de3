"""All levels say the same, and their residual streams are those that exact arithmetic gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from curta.compiler import Graph, Model, compile
from curta.dyadic import ARITHMETICS
from curta.engine import LEVELS, Level, load
from curta.errors import CertificateError, RegionError
from tests.support.expected import expected_residuals
from tests.support.general_step import residuals
from tests.support.random_graphs import TOKENS, graphs
from tests.support.slow import draws

MAX_TOKENS = 64

prompts = st.lists(st.integers(0, len(TOKENS) - 1), min_size=1, max_size=12)
searching = settings(
    deadline=None,
    max_examples=draws(25),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def compiled(graph: Graph, arithmetic: str) -> Model | None:
    """The model, unless the random graph asks for more than can be proved to be exact."""
    try:
        return compile(graph, max_tokens=MAX_TOKENS, arithmetic=arithmetic)
    except CertificateError:
        return None


@given(graphs(), prompts)
@searching
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_all_levels_say_the_same_tokens(arithmetic: str, graph: Graph, prompt: list[int]) -> None:
    model = compiled(graph, arithmetic)
    if model is None:
        return
    note(f"{graph.operations}, {graph.families}")
    said = {level: said_by(level, model, prompt, 12) for level in LEVELS}
    assert dict.fromkeys(LEVELS, said["evaluate"]) == said


def said_by(level: Level, model: Model, prompt: list[int], more: int = 0) -> list[int]:
    """What is said after each token of the prompt, then after what is said; -1 for a stop."""
    session, said, tokens = load(model, level).session(), list[int](), list(prompt)
    try:
        for number in range(len(prompt) + more):
            said.append(session.feed(tokens[number]))
            tokens += said[-1:] * (number >= len(prompt) - 1)
    except RegionError:
        return [*said, -1]
    return said


@given(graphs(), prompts)
@searching
@pytest.mark.parametrize("level", ["plain", "hull", "native"])
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_residual_streams_agree_with_exact_arithmetic(
    arithmetic: str, level: Level, graph: Graph, prompt: list[int]
) -> None:
    model = compiled(graph, arithmetic)
    if model is None:
        return
    prompt = prompt[: len([token for token in said_by("evaluate", model, prompt) if token >= 0])]
    if not prompt:
        return
    expected = expected_residuals(model, prompt)
    actual = residuals(model, level, prompt)
    difference = np.abs(actual - expected)
    defined = ~np.isnan(actual)
    assert level == "native" or defined.all()
    bound = error_bound(model, len(prompt))
    wrong = np.argwhere(defined & (difference > bound))
    assert not len(wrong), (wrong[:4], actual[tuple(wrong[0])], expected[tuple(wrong[0])])


def error_bound(model: Model, length: int) -> np.ndarray:
    """Zero, except where a mean is on its way to becoming a sum: there, softmax's rounding."""
    periods = 2 * model.plan["schedule"]["layers"] + 1
    unit = 2.0 ** -ARITHMETICS[model.certificate.arithmetic].mantissa_bits
    bound = np.zeros((periods, model.plan["width"]))
    for carrier in model.plan["slots"]:
        if carrier["members"][0]["kind"] == "Mean":
            end = periods if carrier["erased"] is None else carrier["erased"]
            magnitude = float(carrier["magnitude"])
            bound[carrier["first"] : end, carrier["slot"]] = (length + 4) * magnitude * unit
    return bound
