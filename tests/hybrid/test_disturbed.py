"""Compiled weights as parameters say what the program says; disturbed, they are trained back."""

from __future__ import annotations

from random import Random

import pytest
import torch

from bench.way_back import (
    STEP,
    UNKNOWN,
    DenseWeights,
    Sequences,
    WayBack,
    along,
    right_of,
    spoken,
    way_back,
)
from curta.compiler import compile
from curta.compiler.model import Model
from curta.engine.transformer import Transformer
from curta.errors import GraphError
from curta.gallery import PROGRAMS
from tests.support.slow import some

MAX_TOKENS = 64


def compiled(name: str) -> Model:
    return compile(PROGRAMS[name].build(), MAX_TOKENS)


def words(model: Model, count: int, longest: int, seed: int = 0) -> Sequences:
    """What parity says to bits at random."""
    random = Random(seed)
    texts = ["".join(random.choices("01", k=random.randint(1, longest))) for _ in range(count)]
    return spoken(model, [PROGRAMS["parity_sequential"].encode(text) for text in texts])


@pytest.mark.parametrize(
    ("name", "texts"),
    some(2, [
        ("parity_sequential", ("10110", "1" * 20)),
        ("reverse", ("stop", "abcde")),
        ("addition", ("123 + 989", "7 + 0")),
        ("subtraction", ("1000 - 1", "7 - 7")),
    ]),
)  # fmt: skip
def test_undisturbed_it_says_what_the_program_says(name: str, texts: tuple[str, str]) -> None:
    model = compiled(name)
    said = spoken(model, [PROGRAMS[name].encode(text) for text in texts])
    assert right_of(DenseWeights(model, 8.0), said) == 1
    for text, tokens, targets in zip(texts, *said, strict=True):
        names = [model.vocabulary[int(token)] for token in targets if token != UNKNOWN]
        assert PROGRAMS[name].decode(names) == PROGRAMS[name].reference(text)
        assert tokens.shape == targets.shape


def test_at_the_compiled_sharpness_it_is_the_engine() -> None:
    model = compiled("addition")
    tokens = spoken(model, [PROGRAMS["addition"].encode("57 + 66")]).tokens
    engine = Transformer({name: torch.tensor(value) for name, value in model.weights.items()})
    with torch.no_grad():
        exact = engine(tokens)
        best = exact.amax(-1, keepdim=True)
        torch.testing.assert_close(DenseWeights(model, STEP)(tokens) / STEP, exact - best)


def test_programs_with_means_are_refused() -> None:
    with pytest.raises(GraphError, match="computes means"):
        DenseWeights(compiled("sort"), 8.0)


@pytest.fixture(scope="module")
def parity() -> tuple[Model, Sequences, Sequences, Sequences]:
    model = compiled("parity_sequential")
    return model, words(model, 200, 6), words(model, 50, 6, seed=1), words(model, 20, 20, seed=2)


def test_without_noise_and_steps_nothing_happens(
    parity: tuple[Model, Sequences, Sequences, Sequences],
) -> None:
    outcome = way_back(*parity, WayBack(size=0.0, steps=0))
    assert outcome.right == outcome.longer == (1, 1)
    assert set(outcome.distance[0].values()) == set(outcome.distance[1].values()) == {0}
    assert (outcome.back, outcome.losses) == (0, ())


def test_noise_is_of_its_size_and_descent_mends_short_ones(
    parity: tuple[Model, Sequences, Sequences, Sequences],
) -> None:
    """The same noise by the same seed; what is zero stays zero, unless noise is everywhere."""
    how = WayBack(size=1e-2, steps=400, batch=32, learning_rate=1e-4)
    outcome = way_back(*parity, how)
    assert outcome.distance[0]["all"] == pytest.approx(1e-2, rel=0.3)
    assert outcome.right[0] < 0.6 < 0.9 < outcome.right[1]
    assert outcome.losses[-1] < outcome.losses[0] / 100
    assert len(outcome.losses) == 10
    again = way_back(*parity, WayBack(size=1e-2, steps=0))
    assert again.distance[0] == outcome.distance[0]
    everywhere = way_back(*parity, WayBack(size=1e-2, steps=0, everywhere=True))
    assert everywhere.distance[0]["all"] > 1.5 * outcome.distance[0]["all"]


def test_the_way_back_is_counted_along_the_straight_one() -> None:
    goal = {"a": torch.tensor([3.0, 4.0]), "b": torch.tensor([[100.0, 0.0]])}
    wanted = {"a": torch.tensor([1.0, 0.0]), "b": torch.tensor([[0.0, 10.0]])}
    half = {name: value / 2 for name, value in wanted.items()}
    across = {"a": torch.tensor([0.0, 5.0]), "b": torch.tensor([[7.0, 0.0]])}
    assert along(wanted, wanted, goal) == pytest.approx(1)
    assert along(half, wanted, goal) == pytest.approx(0.5)
    assert along(across, wanted, goal) == 0
