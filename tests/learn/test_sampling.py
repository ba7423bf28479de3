"""Which problems are drawn: the split, carries, priming, and what cannot be."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.errors import ExperimentError
from curta.learn.config import Sampling
from curta.learn.language import Rows
from curta.learn.numbers import Number
from curta.learn.problem import Problem, numbers_in
from curta.learn.sampling import Part, Sampler, balanced_carries, in_test
from curta.learn.statistics import check_split, problems_in, statistics
from tests.support.learn_texts import FAST_COMPILE, language

SHARE = 0.2


def sampler(task: str = "addition", format_: str = "plain", **options: object) -> Sampler:
    return Sampler(language(task, format_), Sampling(**options))  # type: ignore[arg-type]


def sides(made: Sampler, pairs: np.ndarray, room: int) -> np.ndarray:
    """On which side of the split pairs of operands lie, with room for so many operands."""

    def side(pair: jax.Array) -> jax.Array:
        places = made.places
        digits = jnp.stack([pair // 10**place % 10 for place in range(places)], axis=-1)
        lengths = 1 + sum((pair >= 10**place).astype(int) for place in range(1, places))
        digits = jnp.pad(digits, ((0, room - 2), (0, 0)))
        lengths = jnp.pad(lengths, (0, room - 2))
        none = jnp.zeros_like(lengths)
        operands = Number(digits, lengths, none.astype(bool), none)
        problem = made.language.problem(operands, key=jax.random.key(0))
        return in_test(problem, made.sampling)

    return np.asarray(jax.jit(jax.vmap(side))(jnp.asarray(pairs)))


def drawn(made: Sampler, count: int, part: Part, seed: int = 7) -> tuple[Rows, Problem]:
    """Rows and the problems that they state."""

    def draw(key: jax.Array) -> tuple[Rows, Problem]:
        return made.drawn(count, key=key, part=part)

    key = jax.random.key(seed)
    found: tuple[Rows, Problem] = jax.jit(draw).lower(key).compile(FAST_COMPILE)(key)
    return found


ALL_PAIRS = np.stack(np.meshgrid(np.arange(100), np.arange(100)), axis=-1).reshape(-1, 2)


def drawn_pairs(made: Sampler, count: int, part: Part) -> np.ndarray:
    """The pairs in many rows of a part; those in no valid row are left out."""

    rows, problems = drawn(made, count, part)
    a, b = (np.asarray(piece.digits) @ (1, 10) for piece in numbers_in(problems.question))
    return np.unique((100 * a + b)[np.asarray(rows.valid)])


@pytest.fixture(scope="module")
def split() -> np.ndarray:
    """The side of every pair of numbers below 100, first operand first."""
    return sides(sampler(digits=(1, 2), test_share=SHARE), ALL_PAIRS, 2)


def test_the_split_is_close_to_its_share(split: np.ndarray) -> None:
    # Ten thousand pairs: the standard deviation of their number is 40.
    assert abs(split.sum() - 10_000 * SHARE) < 200


@pytest.mark.parametrize(
    ("task", "format_", "digits", "room"),
    [
        ("addition", "reversed", (1, 7), 2),
        ("addition", "scratchpad", (1, 3), 2),
        ("multi_addition(numbers=5)", "plain", (1, 2), 5),
        ("multi_addition(numbers=3)", "padded", (1, 4), 3),
    ],
)
def test_the_split_does_not_depend_on_format_or_room(
    split: np.ndarray, task: str, format_: str, digits: tuple[int, int], room: int
) -> None:
    made = sampler(task, format_, digits=digits, test_share=SHARE)
    assert (sides(made, ALL_PAIRS, room) == split).all()


def test_training_and_test_are_disjoint_and_cover_all(split: np.ndarray) -> None:
    small = split & (ALL_PAIRS < 50).all(axis=1)
    in_test_part = set((ALL_PAIRS[small] @ (100, 1)).tolist())
    made = sampler(values=(0, 49), test_share=SHARE)
    trained = set(drawn_pairs(made, 10_000, "train").tolist())
    tested = set(drawn_pairs(made, 2_500, "test").tolist())
    assert tested <= in_test_part
    assert not trained & in_test_part
    # m draws from n pairs miss n e^(-m/n) of them: 3 of 500, and 13 of 2,000.
    assert len(in_test_part) - len(tested) < 15
    assert 2_500 - len(in_test_part) - len(trained) < 40


def test_a_row_that_was_not_found_does_not_count() -> None:
    made = sampler(values=(0, 1), test_share=1e-9)
    rows, _ = drawn(made, 16, "test")
    assert not rows.valid.any()


def carries_of(a: np.ndarray, b: np.ndarray, base: int) -> int:
    carry = count = 0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        carry = int(x + y + carry >= base)
        count += carry
    return count


@pytest.mark.parametrize(("base", "leading_zeros"), [(10, False), (16, True)])
def test_all_numbers_of_carries_are_as_likely(base: int, leading_zeros: bool) -> None:
    places, rows = 7, 3_000
    rng = np.random.default_rng(0)
    sizes = np.tile([7, 5], (rows, 1))
    # The longer operand has zeros beyond the shorter one, so that no carry is handed on.
    digits = rng.integers(1, base, (rows, 2, places))
    digits[:, 0, 5:], digits[:, 1, 5:] = 1, 0

    def redrawn(digits: jax.Array, sizes: jax.Array, key: jax.Array) -> jax.Array:
        return balanced_carries(digits, sizes, base, leading_zeros=leading_zeros, key=key)

    given = (jnp.asarray(digits), jnp.asarray(sizes), jax.random.split(jax.random.key(0), rows))
    compiled = jax.jit(jax.vmap(redrawn)).lower(*given).compile(FAST_COMPILE)
    found = np.asarray(compiled(*given))
    assert ((found >= 0) & (found < base)).all()
    assert (found[:, 0, 5:] == 1).all()
    assert (found[:, 1, 5:] == 0).all()
    if not leading_zeros:
        assert (found[:, 1, 4] > 0).all()
    counts = np.bincount([carries_of(a, b, base) for a, b in found], minlength=6)
    # Six numbers of carries, 500 rows each: a standard deviation of 20.
    assert counts.shape == (6,)
    assert (abs(counts - rows / 6) < 100).all()


def test_carries_keep_lengths_and_answers() -> None:
    made = sampler(digits=(1, 6), carries=True, test_share=0.0)
    rows, problems = drawn(made, 512, "all")
    lengths = {int(each) for each in np.asarray(problems.question[0].length)}
    assert lengths == set(range(1, 7))
    for tokens in np.asarray(rows.tokens):
        a, b, c = re.match(r"(\d+)\+(\d+)=(\d+)#", made.language.alphabet.decode(tokens)).groups()
        assert int(a) + int(b) == int(c)
        assert a == str(int(a))
        assert b == str(int(b))


def test_priming_has_exactly_so_many_examples_none_of_them_tested() -> None:
    made = sampler(
        digits=(1, 3), priming=(8, 9), priming_examples=20, priming_share=0.5, test_share=SHARE
    )

    rows, problems = drawn(made, 2_000, "train")
    tested = jax.jit(jax.vmap(lambda each: in_test(each, made.sampling)))(problems)
    assert not np.asarray(tested & rows.valid).any()
    long = np.asarray(problems.question[0].length) > 3
    assert len(np.unique(np.asarray(rows.tokens)[long], axis=0)) == 20
    assert 0.4 < long.mean() < 0.6


def test_too_many_examples_for_priming_are_refused() -> None:
    with pytest.raises(ExperimentError, match=r"priming_examples = 200: only .* priming = 1..1"):
        sampler(digits=(1, 3), priming=(1, 1), priming_examples=200)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": (1, 1), "test_share": 0.001}, "test_share = 0.001.*digits = 1..1.*test part"),
        ({"values": (0, 3), "test_share": 0.999}, "test_share = 0.999.*values = 0..3.*training"),
    ],
)
def test_impossible_splits_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        check_split(sampler(**options))


def test_possible_splits_are_not_refused() -> None:
    check_split(sampler(digits=(1, 1), test_share=0.05))
    check_split(sampler(digits=(1, 10), test_share=0.05))
    check_split(sampler(digits=(1, 1), test_share=0.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": (3, 2)}, "digits = 3..2"),
        ({"carries": True, "values": (0, 9)}, "carries with values = 0..9"),
        ({"priming_examples": 0}, "priming_examples = 0"),
        ({"curriculum": -1}, "curriculum = -1"),
        ({"test_share": 1.0}, "test_share = 1.0"),
    ],
)
def test_samplings_that_cannot_be(options: dict[str, object], message: str) -> None:
    with pytest.raises(ExperimentError, match=re.escape(message)):
        Sampling(**options)  # type: ignore[arg-type]


def test_operands_must_suit_the_task() -> None:
    with pytest.raises(ExperimentError, match=r"operands = 2..9: sorting takes 2 to 4.*numbers"):
        sampler("sorting", operands=(2, 9))
    with pytest.raises(ExperimentError, match="carries: copy has a single operand"):
        sampler("copy", carries=True)
    with pytest.raises(ExperimentError, match="digits = 5: fractions takes operands of at most 4"):
        sampler("fractions", digits=(1, 5))


@pytest.mark.parametrize(
    ("task", "options", "problems"),
    [
        ("addition", {"digits": (1, 2)}, 100 * 100),
        ("addition", {"digits": (2, 3), "equal": True}, 90 * 90 + 900 * 900),
        ("multiplication(second=1)", {"digits": (1, 3)}, 1000 * 10),
        ("copy", {"digits": (1, 2)}, 10 + 100),
        ("sorting", {"values": (0, 4)}, 25 + 125 + 625),
        ("sorting", {"digits": (1, 1), "operands": (2, 3)}, 100 + 1000),
    ],
)
def test_problems_are_counted(task: str, options: dict[str, object], problems: int) -> None:
    assert problems_in(sampler(task, **options)) == problems


def test_statistics_tell_what_was_drawn() -> None:
    made = sampler(digits=(1, 2), test_share=SHARE)
    told = statistics(made, 4_000, key=jax.random.key(0), part="all")
    rows, problems = drawn(made, 4_000, "all", seed=0)
    texts = [made.language.alphabet.decode(tokens) for tokens in np.asarray(rows.tokens)]
    pairs = [tuple(map(int, re.split(r"[+=]", text)[:2])) for text in texts]
    assert sum(told.tokens.values()) == told.rows == 4_000
    assert told.tokens == {size: sum(len(t) == size for t in texts) for size in told.tokens}
    assert told.digits == {
        size: sum(len(str(each)) == size for pair in pairs for each in pair) for size in (1, 2)
    }
    carries = [(a % 10 + b % 10 >= 10) + (a + b >= 100) for a, b in pairs]
    assert told.carries == {count: carries.count(count) for count in (0, 1, 2)}
    assert told.repeats == pytest.approx(1 - len(set(pairs)) / 4_000)
    assert told.valid == 1.0
    assert told.problems == 10_000
    assert abs(told.test - SHARE) < 0.05
    assert problems.question[0].places == 2
