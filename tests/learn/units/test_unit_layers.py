"""Each unit keeps its law: with discrete weights it computes its formula exactly."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.errors import ExperimentError
from curta.learn.units.comparison import RELATIONS
from curta.learn.units.layers import (
    NAC,
    NALU,
    NAU,
    NMU,
    NSR,
    Decision,
    Linear,
    MultiplicativeNAC,
    Unit,
)
from curta.learn.units.networks import Network, Schedule
from tests.support.slow import draws

SATURATED = 40.0

# w± and w⁰ and b of a register that decides each relation; see the truth table of NSR's bits.
REGISTERS = {
    "<": (-10.0, -10.0, -5.0),
    ">": (10.0, -10.0, -5.0),
    "==": (0.0, 10.0, 0.0),
    "!=": (0.0, -10.0, 0.0),
    "<=": (-10.0, 10.0, 5.0),
    ">=": (10.0, 10.0, 5.0),
}


def weighted_inputs(*, lowest: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Pairs of a weight from `lowest` to 1 and a small whole number."""
    return st.lists(st.tuples(st.integers(lowest, 1), st.integers(-9, 9)), min_size=1, max_size=6)


def column(values: list[int]) -> jax.Array:
    return jnp.asarray(values, dtype=jnp.float32)


@settings(max_examples=draws(30), deadline=None)
@given(weighted_inputs(lowest=-1))
def test_nau_with_discrete_weights_sums_exactly(pairs: list[tuple[int, int]]) -> None:
    weights, inputs = (list(part) for part in zip(*pairs, strict=True))
    output = NAU(column(weights)[None, :])(column(inputs))
    assert output.tolist() == [sum(w * x for w, x in pairs)]


@settings(max_examples=draws(30), deadline=None)
@given(weighted_inputs(lowest=0))
def test_nmu_multiplies_by_what_it_weighs_and_ignores_the_rest(
    pairs: list[tuple[int, int]],
) -> None:
    weights, inputs = (list(part) for part in zip(*pairs, strict=True))
    product = 1
    for weight, x in pairs:
        product *= x if weight else 1
    assert NMU(column(weights)[None, :])(column(inputs)).tolist() == [product]


def test_nmu_between_its_weights_interpolates_towards_one() -> None:
    unit = NMU(jnp.asarray([[0.25, 0.5]]))
    expected = (0.25 * 8 + 0.75) * (0.5 * -2 + 0.5)
    np.testing.assert_allclose(unit(jnp.asarray([8.0, -2.0])), [expected], rtol=1e-6)


def test_nac_saturates_to_add_subtract_and_ignore() -> None:
    w_hat = jnp.asarray([[SATURATED, -SATURATED, SATURATED]])
    m_hat = jnp.asarray([[SATURATED, SATURATED, -3 * SATURATED]])
    unit = NAC(w_hat, m_hat)
    np.testing.assert_array_equal(unit.matrix()[0, :2], [1.0, -1.0])
    assert unit.matrix()[0, 2] < 1e-30
    assert unit(jnp.asarray([5.0, 3.0, 100.0])).tolist() == [2.0]


def test_multiplicative_nac_multiplies_and_divides() -> None:
    w_hat = jnp.asarray([[SATURATED, SATURATED, -SATURATED]])
    unit = MultiplicativeNAC(w_hat, jnp.full((1, 3), SATURATED))
    np.testing.assert_allclose(unit(jnp.asarray([6.0, 5.0, 4.0])), [7.5], rtol=1e-5)


@pytest.mark.parametrize(("gate", "expected"), [(SATURATED, 10.0), (-SATURATED, 24.0)])
def test_nalu_picks_the_sum_or_the_product(gate: float, expected: float) -> None:
    accumulator = NAC(jnp.full((1, 2), SATURATED), jnp.full((1, 2), SATURATED))
    unit = NALU(accumulator, jnp.full((1, 2), gate))
    np.testing.assert_allclose(unit(jnp.asarray([4.0, 6.0])), [expected], rtol=1e-5)


def register(sign: float, zero: float, bias: float) -> NSR:
    one_hot = SATURATED * jnp.eye(2)
    return NSR(
        first=one_hot[:1],
        second=one_hot[1:],
        sign_weight=jnp.asarray([[sign]]),
        zero_weight=jnp.asarray([[zero]]),
        bias=jnp.asarray([bias]),
        scale=5.0,
    )


@pytest.mark.parametrize("relation", list(RELATIONS))
def test_nsr_decides_each_relation(relation: str) -> None:
    unit = register(*REGISTERS[relation])
    for first, second in [(3, 3), (3, 4), (4, 3), (70_000, 69_999), (2, 70_000), (900, 900)]:
        holds = bool(RELATIONS[relation](jnp.asarray(first), jnp.asarray(second)))
        probability = float(unit(column([first, second]))[0])
        assert (probability > 0.99) == holds, (first, second, probability)
        assert (probability < 0.01) != holds, (first, second, probability)


@pytest.mark.parametrize(
    ("pair", "sign", "zero"), [([7, 7], 0.0, 1.0), ([9, 7], 1.0, -1.0), ([7, 9], -1.0, -1.0)]
)
def test_nsr_bits_are_those_of_a_status_register(pair: list[int], sign: float, zero: float) -> None:
    measured_sign, measured_zero = register(1.0, 1.0, 0.0).bits(column(pair))
    np.testing.assert_allclose(measured_sign, [sign], atol=1e-6)
    np.testing.assert_allclose(measured_zero, [zero], atol=1e-6)


def test_redundant_register_sums_its_bits() -> None:
    unit = NSR.initialise(3, 1, key=jax.random.key(0), redundancy=4)
    x = jnp.asarray([1.0, 5.0, 2.0])

    @eqx.filter_jit
    def both(unit: NSR) -> tuple[jax.Array, jax.Array]:
        logit = unit.bias[0]
        for index in range(4):
            chosen = jax.nn.softmax(unit.first[index]) @ x - jax.nn.softmax(unit.second[index]) @ x
            sign = jnp.tanh(chosen)
            zero = 1 - 2 * jnp.tanh(chosen) ** 2
            logit += unit.sign_weight[0, index] * sign + unit.zero_weight[0, index] * zero
        return unit(x), jax.nn.sigmoid(logit)

    found, expected = both(unit)
    np.testing.assert_allclose(found, [expected], rtol=1e-5)


def test_decision_is_a_biased_sigmoid() -> None:
    unit = eqx.tree_at(lambda d: d.bias, Decision.initialise(1), jnp.asarray([1.0]))
    np.testing.assert_allclose(unit(jnp.asarray([-1.0])), [0.5])


def test_linear_applies_its_activation() -> None:
    unit = Linear(jnp.asarray([[2.0]]), jnp.asarray([1.0]), jax.nn.relu6)
    outputs = [float(unit(jnp.asarray([x]))[0]) for x in (-1.0, 1.0, 5.0)]
    assert outputs == [0.0, 3.0, 6.0]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (NAU(jnp.asarray([[-1.5, -0.5, 0.2, 1.2]])), [[-1.0, -0.5, 0.2, 1.0]]),
        (NMU(jnp.asarray([[-1.5, -0.5, 0.2, 1.2]])), [[0.0, 0.0, 0.2, 1.0]]),
    ],
)
def test_constraints_clip_to_the_range_of_the_unit(unit: Unit, expected: list[list[float]]) -> None:
    (clipped,) = unit.constrained().weights()
    np.testing.assert_allclose(clipped, expected)


def test_regularisers_measure_the_distance_to_a_discrete_rule() -> None:
    np.testing.assert_allclose(NAU(jnp.asarray([[-0.75, 0.1, 1.0]])).regulariser(), 0.35 / 3)
    np.testing.assert_allclose(NMU(jnp.asarray([[0.75, 0.0]])).regulariser(), 0.125)
    assert NAU(jnp.asarray([[-1.0, 0.0, 1.0]])).regulariser() == 0
    assert NAC(jnp.ones((1, 2)), jnp.ones((1, 2))).regulariser() == 0


def test_network_adds_regularisers_and_takes_the_worst_weight() -> None:
    network = Network((NAU(jnp.asarray([[0.9, 0.0]])), NMU(jnp.asarray([[0.75]]))))
    np.testing.assert_allclose(network.regulariser(), 0.05 + 0.25, rtol=1e-6)
    np.testing.assert_allclose(network.sparsity_error(), 0.25)


def test_initial_weights_have_the_published_ranges() -> None:
    key = jax.random.key(3)
    assert jnp.max(jnp.abs(NAU.initialise(2, 1, key=key).weight)) <= 0.5
    multiplier = NMU.initialise(40, 40, key=key).weight
    assert 0.25 <= jnp.min(multiplier) < 0.27
    assert 0.73 < jnp.max(multiplier) <= 0.75
    variance = float(jnp.var(NAC.initialise(150, 50, key=key).matrix()))
    assert variance == pytest.approx(2 / 200, rel=0.05)


def test_schedule_waits_rises_and_stays() -> None:
    schedule = Schedule(strength=10.0, start=100.0, end=200.0)
    assert [float(schedule.at(step)) for step in (0, 100, 150, 200, 900)] == [0, 0, 5, 10, 10]


def test_schedule_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ExperimentError, match=r"start 5 is not before end 5.*later end"):
        Schedule(strength=1.0, start=5.0, end=5.0)
