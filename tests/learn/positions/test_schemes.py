"""Position schemes: what they say of a token depends on nothing that decoding doesn't know."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.config import Sampling
from curta.learn.experiment import Experiment, Setup
from curta.learn.formats.base import Format
from curta.learn.keys import new_key
from curta.learn.language import Language
from curta.learn.positions.absolute import Abacus, Coupled
from curta.learn.positions.base import Positions, Shape
from curta.learn.positions.causal import check_causal
from curta.learn.positions.compose import LIMIT
from curta.learn.positions.relative import Alibi, Buckets, Fire, Rope
from curta.learn.reading import Reading, read
from tests.support.slow import draws, some

SHAPE = Shape(width=8, heads=2, head_width=4, longest=20)

COMPOSED = (
    'combined(first="abacus", second="fire")',
    'combined(first="abacus(offset=3)", second="rope")',
    'randomised(of="rope", range=64)',
    'randomised(of="fire", range=64)',
    'randomised(of="sinusoidal", range=64)',
    "learned(offset=5)",
    "compiled(heads='origin_first origin_second multiplicand-1 multiplier last last_but_one')",
    "compiled(heads='mark mark-1 token-2 second', others='abacus', frozen=False)",
)

SCHEMES = (*sorted(catalogue.parts(Positions)), *COMPOSED)

REFUSED = {
    ("coupled", "plain"): "first digit is not known",
    ("coupled", "reversed_operands"): "first digit is not known",
    ("coupled", "whole"): "a number is one token",
    ("aligned", "plain"): "first digit is not known",
    ("aligned", "reversed_operands"): "first digit is not known",
    ("aligned", "whole"): "a number is one token",
    ("abacus", "whole"): "a number is one token",
    ("compiled", "plain"): "first digit is not known",
    ("compiled", "reversed_operands"): "first digit is not known",
    ("compiled", "whole"): "a number is one token",
    **{
        (name, apart): "do not follow each other"
        for name in ("abacus", "aligned", "compiled", "coupled")
        for apart in ("hints", "spaces")
    },
}
"""What makes no sense, among the schemes and these formats."""

FORMATS = ("plain", "reversed", "reversed_operands", "reversed_both", "whole", "hints", "spaces")


@cache
def language(format_name: str = "reversed") -> Language:
    """Sums in a format; products where it cannot write sums."""
    written = catalogue.format_(format_name)
    for task in ("addition", "multiplication"):
        try:
            spoken = Language(catalogue.task(task), written)
            assert spoken.width(2, 3)
        except ExperimentError:
            continue
        return spoken
    raise AssertionError(f"{format_name} writes neither sums nor products")


def fits(scheme: Positions, spoken: Language) -> bool:
    try:
        scheme.check(spoken)
    except ExperimentError:
        return False
    return True


def rows(spoken: Language) -> tuple[np.ndarray, int]:
    """A row of tokens and the length of its prompt."""
    operator = spoken.task.symbols[0]
    text = spoken.alphabet.encode(f"907{operator}1234=1412#######")
    return np.array(text, np.int32), text.index(spoken.alphabet.token("=")) + 1


def reading(tokens: np.ndarray, prompt: int, spoken: Language) -> Reading:
    batch = np.atleast_2d(tokens)
    compiled = jax.jit(read, static_argnums=2)
    return compiled(batch, np.full(len(batch), prompt), spoken)


def test_a_combination_is_refused_with_the_reason() -> None:
    for (name, format_name), why in REFUSED.items():
        with pytest.raises(ExperimentError, match=why):
            catalogue.positions(name).check(language(format_name))
    refused = {
        (name, format_name)
        for name in catalogue.parts(Positions)
        for format_name in FORMATS
        if not fits(catalogue.positions(name), language(format_name))
    }
    # The combination's default contains the abacus.
    contained = {("combined", each) for each in ("whole", "hints", "spaces")}
    assert refused == {*REFUSED, *contained}


@pytest.mark.parametrize("format_name", some(5, sorted(catalogue.parts(Format))))
def test_places_depend_on_the_prompt_and_on_earlier_tokens_only(format_name: str) -> None:
    spoken = language(format_name)
    schemes = {name: catalogue.positions(name) for name in SCHEMES}
    fitting = {
        name: scheme
        for name, scheme in schemes.items()
        # Indices are the same in all formats: one of them is enough.
        if fits(scheme, spoken) and (not scheme.of_index or format_name == "reversed")
    }
    assert fitting
    tokens, prompt = rows(spoken)
    random = np.random.default_rng(0)
    behind = random.integers(0, spoken.alphabet.size, (40, len(tokens)), dtype=np.int32)
    cuts = prompt + np.arange(40) % (len(tokens) - prompt)
    before = np.arange(len(tokens)) < cuts[:, None]

    @jax.jit
    def places(tokens: jax.Array) -> dict[str, tuple[jax.Array, jax.Array]]:
        """In a test and in training: with one key, a row draws the same offset twice."""
        given = read(tokens, jnp.full((len(tokens),), prompt), spoken)
        both = (None, jax.random.key(3))
        return {
            name: tuple(
                jnp.broadcast_to(
                    scheme.places(given, key=key), (*tokens.shape, *scheme.place_shape)
                ).reshape(*tokens.shape, -1)
                for key in both
            )
            for name, scheme in fitting.items()
        }

    one = places(jnp.tile(jnp.asarray(tokens), (40, 1)))
    other = places(jnp.where(before, tokens, behind))
    for name in fitting:
        for mine, theirs in zip(one[name], other[name], strict=True):
            same = (np.asarray(mine) == np.asarray(theirs)).all(axis=-1)
            assert (~before | same).all(), name


def test_the_abacus_numbers_digits_in_the_order_in_which_they_are_written() -> None:
    spoken = language("reversed")
    tokens, prompt = rows(spoken)
    places = Abacus().places(reading(tokens, prompt, spoken))[0]
    assert places.tolist()[:14] == [1, 2, 3, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0]
    drawn = Abacus(offset=50).places(reading(tokens, prompt, spoken), key=jax.random.key(1))[0]
    assert drawn[0] > 1
    assert (drawn - places).tolist()[:4] == [drawn[0] - 1] * 3 + [0]


def test_coupled_digits_count_from_the_least_significant_one() -> None:
    spoken = language("reversed")
    tokens, prompt = rows(spoken)
    scheme = Coupled(offset=9)
    places = scheme.places(reading(tokens, prompt, spoken))[0]
    assert places.tolist()[:14] == [3, 2, 1, 0, 4, 3, 2, 1, 0, 1, 2, 3, 4, 0]
    batch = reading(np.tile(tokens, (200, 1)), prompt, spoken)
    drawn = scheme.places(batch, key=jax.random.key(1))
    offsets = np.asarray(drawn)[:, 3]
    assert set(offsets.tolist()) == set(range(10))
    assert (np.asarray(drawn) - offsets[:, None] == np.asarray(places)).all()
    # With the largest offset, the longest number still has a vector of its own.
    table = scheme.init(SHAPE, key=jax.random.key(0))["table"]
    assert table.shape[0] - 1 >= 9 + (SHAPE.longest - 1)


@jax.jit
def scores_at(places: jax.Array, vectors: jax.Array) -> dict[str, jax.Array]:
    """What each relative scheme makes of queries and keys at these places."""
    turned = Rope().turn({}, vectors, places)
    scores = {"rope": jnp.einsum("bqhd,bkhd->bhqk", turned, turned)}
    for scheme in (Alibi(), Buckets(), Fire()):
        parameters = scheme.init(SHAPE, key=jax.random.key(0))
        scores[scheme.name] = scheme.bias(parameters, places, places)
    return scores


@settings(max_examples=draws(15), deadline=None)
@given(shift=st.integers(1, 400), seed=st.integers(0, 100))
def test_scores_depend_on_distance_only(shift: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    places = np.sort(random.integers(0, 100, (1, 6)))
    vectors = random.normal(size=(1, 6, 2, 4)).astype(np.float32)
    one, moved = scores_at(places, vectors), scores_at(places + shift, vectors)
    apart = scores_at(places * 2 + np.arange(6), vectors)
    for name in one:
        assert one[name].shape == (1, 2, 6, 6)
        np.testing.assert_allclose(one[name], moved[name], atol=1e-3, err_msg=name)
        assert not np.allclose(one[name], apart[name], atol=1e-3), name


@settings(max_examples=draws(20), deadline=None)
@given(furthest=st.integers(17, 1000), distance=st.integers(0, 3000))
def test_buckets_are_those_of_the_formula(furthest: int, distance: int) -> None:
    scheme = Buckets(buckets=32, furthest=furthest)
    found = int(scheme.bucket(jnp.array(distance)))
    if distance < 16:
        expected = distance
    else:
        # 16 + floor(16 log(n / 16) / log(furthest / 16)), computed without rounding it down.
        expected, exact = 16, distance / 16
        while expected < 31 and exact >= (furthest / 16) ** ((expected - 15) / 16) * (1 - 1e-7):
            expected += 1
    assert found == expected


def test_fire_interpolates_beyond_its_threshold() -> None:
    scheme = Fire(threshold=16.0)
    parameters = scheme.init(SHAPE, key=jax.random.key(0))
    places = np.arange(1000)[None]
    distance = np.asarray(scheme.distance(parameters, places, places))[0]
    assert distance.min() == 0
    assert distance.max() == 1
    np.testing.assert_allclose(distance[16:, 0], 1, atol=1e-6)
    assert distance[8, 0] == pytest.approx(np.log1p(0.8) / np.log1p(1.6), abs=1e-6)
    # psi(i - j) / psi(max(L, i)), far beyond the threshold
    assert distance[900, 100] == pytest.approx(np.log1p(80) / np.log1p(90), abs=1e-6)

    def total(parameters: dict[str, jax.Array]) -> jax.Array:
        return scheme.bias(parameters, places[:, :40], places[:, :40]).sum()

    gradients = jax.jit(jax.grad(total))(parameters)
    assert all(np.isfinite(gradient).all() for gradient in gradients.values())
    assert gradients["threshold"] != 0
    assert gradients["scale"] != 0


def test_randomised_places_are_ordered_subsets() -> None:
    spoken = language()
    tokens, prompt = rows(spoken)
    scheme = catalogue.positions('randomised(of="rope", range=64)')
    batch = reading(np.tile(tokens, (300, 1)), prompt, spoken)
    drawn = np.asarray(scheme.places(batch, key=jax.random.key(0)))
    assert (np.diff(drawn, axis=1) > 0).all()
    assert drawn.min() == 0
    assert drawn.max() == 63
    # Every place is as likely as every other: 300 * 20 / 64 of each, give or take.
    counts = np.bincount(drawn.reshape(-1), minlength=64)
    assert np.abs(counts - 93.75).max() < 5 * np.sqrt(93.75)
    assert len({tuple(row) for row in drawn.tolist()}) == 300
    tested = np.asarray(scheme.places(batch))[0]
    assert tested.tolist() == [index * 64 // 20 for index in range(20)]


def test_a_combination_does_what_its_parts_do() -> None:
    both = catalogue.positions('combined(first="abacus(offset=4)", second="fire")')
    first, second = catalogue.positions("abacus(offset=4)"), catalogue.positions("fire")
    spoken = language()
    tokens, prompt = rows(spoken)
    read_tokens = reading(tokens, prompt, spoken)
    parameters = both.init(SHAPE, key=jax.random.key(0))
    ours = {
        prefix: {
            name.removeprefix(prefix): value
            for name, value in parameters.items()
            if name.startswith(prefix)
        }
        for prefix in ("first_", "second_")
    }
    places = both.places(read_tokens)
    assert (places // LIMIT == first.places(read_tokens)).all()
    assert (places % LIMIT == second.places(read_tokens)).all()
    added = both.embed(parameters, places)
    expected = first.embed(ours["first_"], first.places(read_tokens))
    np.testing.assert_array_equal(added, expected)
    where = second.places(read_tokens)
    bias = both.bias(parameters, places, places)
    np.testing.assert_allclose(bias[:1], second.bias(ours["second_"], where, where), atol=1e-6)
    vectors = jnp.ones((1, 20, 2, 4))
    np.testing.assert_array_equal(both.turn(parameters, vectors, places), vectors)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ('combined(first="combined", second="rope")', "itself a combination"),
        ('combined(first="no_such", second="rope")', "no position is called 'no_such'"),
        ('randomised(of="abacus")', "are not indices"),
        ('randomised(of="learned(offset=3)")', "without an offset"),
        ("t5(buckets=1)", "at least 2 buckets"),
    ],
)
def test_a_scheme_that_cannot_be_says_why(written: str, why: str) -> None:
    with pytest.raises(ExperimentError, match=why):
        catalogue.positions(written)


@pytest.mark.parametrize(
    ("written", "most"),
    [("abacus(offset=2)", 21), ('combined(first="fire", second="abacus(offset=2)")', 21)],
)
def test_places_fit_as_far_as_there_are_parameters(written: str, most: int) -> None:
    scheme = catalogue.positions(written)
    parameters = scheme.init(SHAPE, key=jax.random.key(0))
    assert scheme.fit(parameters, jnp.full((1, 20), most))
    assert not scheme.fit(parameters, jnp.full((1, 20), most).at[0, 7].add(1))


def test_a_range_has_to_have_room_for_the_row() -> None:
    scheme = catalogue.positions('randomised(of="rope", range=10)')
    with pytest.raises(ExperimentError, match="rows have 20 tokens; a range of 80"):
        scheme.init(SHAPE, key=jax.random.key(0))


LOOKING_AHEAD = """
from dataclasses import dataclass

import jax.numpy as jnp

from curta.learn.positions.base import Positions, table


@dataclass(frozen=True)
class Ahead(Positions):
    name = "ahead"
    about = "the next token"
    steps: int = -1

    def init(self, shape, *, key):
        return {"table": table(64, shape.width, key=key)}

    def places(self, reading, *, key=None):
        rolled = jnp.roll(reading.tokens, self.steps, axis=1)
        return jnp.where(reading.index > 0, rolled, 0)

    def embed(self, parameters, places):
        return parameters["table"][places]
"""


def test_a_scheme_that_looks_ahead_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ahead.py"
    file.write_text(LOOKING_AHEAD)
    with pytest.raises(ExperimentError, match="depend on later tokens"):
        Setup(Experiment(positions=str(file), sampling=Sampling(digits=(1, 3))))
    behind = Experiment(positions=f"{file}(steps=1)", sampling=Sampling(digits=(1, 3)))
    assert Setup(behind).positions.name == "ahead"


@pytest.mark.parametrize("name", some(4, sorted(catalogue.parts(Positions))))
def test_no_scheme_of_ours_looks_ahead(name: str) -> None:
    setup = Setup(Experiment(positions=name, sampling=Sampling(digits=(1, 3))))
    check_causal(setup.positions, setup.language, setup.sampler.rows(4, key=new_key(0)))
