"""Loops around an exact comparison are exact; their data and their criterion are as described."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.errors import ExperimentError
from curta.learn.units.layers import NAU, NSR, Decision
from curta.learn.units.networks import COMPARISON_DESIGNS, Network
from curta.learn.units.sequences import Count, Loop, Minimum, SequenceProblem, looped

SHARP = 40.0


def register(sign: float, zero: float, bias: float) -> Network:
    """A register that compares its first input with its second."""
    one_hot = SHARP * jnp.eye(2)
    bits = jnp.asarray([[sign]]), jnp.asarray([[zero]])
    return Network((NSR(one_hot[:1], one_hot[1:], *bits, jnp.asarray([bias]), scale=5.0),))


@pytest.mark.parametrize(
    ("loop", "expected"),
    [(Minimum(register(-SHARP, 0.0, 0.0)), "minimum"), (Count(register(0.0, SHARP, 0.0)), "count")],
)
def test_loops_around_an_exact_comparison_are_exact(loop: Loop, expected: str) -> None:
    run = jax.jit(lambda x: loop(x))
    for sequence in (
        [4, 9, 4, 2, 4, 7],
        [1, 1, 1, 1, 1, 1],
        [8, 7, 6, 5, 4, 3],
        [3, 4, 5, 6, 7, 9],
    ):
        answer = min(sequence) if expected == "minimum" else sequence[1:].count(sequence[0])
        output = run(jnp.asarray(sequence, dtype=jnp.float32))
        np.testing.assert_allclose(output, [answer], atol=1e-4)


@pytest.mark.parametrize("operation", ["minimum", "count"])
def test_sequences_are_digits_in_training_and_neighbours_in_the_test(operation: str) -> None:
    problem = SequenceProblem(operation, 50, 5)
    fixed = jax.jit(problem.prepare)(jax.random.key(2))
    trained, tested = (np.asarray(part.inputs)[0] for part in fixed)
    assert trained.shape == (50, 6)
    assert set(trained.ravel()) == set(range(1, 11))
    assert tested.shape == (50, 20)
    assert np.abs(tested - tested[:, :1]).max() == 5
    assert 10**5 - 5 <= tested.max() <= 10**6 + 5
    for inputs, targets in ((trained, fixed.training.targets), (tested, fixed.test.targets)):
        rows = [list(row) for row in inputs]
        slow = [min(r) if operation == "minimum" else r[1:].count(r[0]) for r in rows]
        assert np.asarray(targets)[0].tolist() == slow


def test_a_loop_hands_on_what_its_cell_asks_for() -> None:
    cell = Network((NAU(jnp.asarray([[1.5, 0.25]])), Decision.initialise(1)))
    loop = Minimum(cell)
    np.testing.assert_allclose(loop.regulariser(), cell.regulariser())
    np.testing.assert_allclose(loop.constrained().weights()[0], [[1.0, 0.25]])
    design = looped(COMPARISON_DESIGNS["nsr"], "count")
    network = design.build(2, 2, key=jax.random.key(0))
    assert isinstance(network.layers[0], Count)
    assert network(jnp.arange(4.0)).shape == (1,)


def test_unknown_loops_are_refused() -> None:
    with pytest.raises(ExperimentError, match=r"no loop 'maximum'; choose from minimum, count"):
        SequenceProblem("maximum", 10, 3)
