"""Training is a pure function of experiment and step, however it is cut up."""

from __future__ import annotations

import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.errors import DivergedError, ExperimentError
from curta.learn.config import Sampling
from curta.learn.experiment import Experiment, Setup
from curta.learn.keys import new_key
from curta.learn.models.config import ModelConfig
from curta.learn.training.config import TrainingConfig
from curta.learn.training.devices import Devices
from curta.learn.training.loop import ChunkMetrics, check_models, train
from curta.learn.training.objective import in_precision, objective
from curta.learn.training.state import TrainingState, load_state, new_state, of_seed, save_state

TINY = Experiment(
    positions="abacus(offset=3)",
    model=ModelConfig(width=16, heads=2, layers=1, feedforward=32, dropout=0.1),
    sampling=Sampling(digits=(1, 2)),
    training=TrainingConfig(steps=12, batch=16, chunk=6, seeds=2, warmup=2),
)


def arrays(state: object) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(state, eqx.is_array))]


def assert_same(one: object, other: object, tolerance: float = 0.0) -> None:
    for a, b in zip(arrays(one), arrays(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


@pytest.fixture(scope="module")
def trained() -> TrainingState:
    return train(Setup(TINY))


def test_a_run_stopped_and_resumed_is_the_same_bit_for_bit(trained, tmp_path):
    path = tmp_path / "checkpoint.safetensors"

    class StoppedError(Exception):
        pass

    def stop(report: ChunkMetrics, state: TrainingState) -> None:
        save_state(state, path)
        raise StoppedError

    with pytest.raises(StoppedError):
        train(Setup(TINY), on_chunk=stop)
    again = load_state(Setup(TINY), path)
    assert int(again.step) == 6
    assert_same(train(Setup(TINY), again), trained)


def test_seeds_trained_together_are_those_trained_alone(trained):
    alone = train(Setup(TINY.with_(seeds=1, seed=1)))
    assert_same(of_seed(trained, 1), of_seed(alone, 0))
    with pytest.raises(AssertionError):
        assert_same(of_seed(trained, 0), of_seed(alone, 0), 1e-5)


@pytest.mark.slow
def test_seeds_in_one_program_are_those_in_threads(trained, monkeypatch):
    monkeypatch.setattr(Devices, "threads", 0)
    assert_same(train(Setup(TINY)), trained, 1e-5)


def test_reports_say_what_happened():
    reports: list[ChunkMetrics] = []
    setup = Setup(TINY.with_(steps=60, chunk=20, learning_rate=1e-2))
    train(setup, on_chunk=lambda report, state: reports.append(report))
    assert [report.step for report in reports] == [20, 40, 60]
    assert all(len(report.loss) == 2 for report in reports)
    assert max(reports[-1].loss) < min(reports[0].loss)


@pytest.mark.slow
def test_scanned_layers_compute_the_same():
    deep = Setup(TINY.with_(layers=3, dropout=0.0))
    scanned = Setup(TINY.with_(layers=3, dropout=0.0, scan_layers=True))
    one, other = (of_seed(new_state(setup), 0) for setup in (deep, scanned))
    assert one.config != other.config
    tokens = jnp.arange(12).reshape(2, 6)
    run = eqx.filter_jit(lambda model: model(tokens, tokens))
    assert_same(run(one), run(other), 1e-5)


@pytest.mark.slow
def test_parts_of_a_batch_add_up_to_its_gradient():
    setup = Setup(TINY.with_(accumulate=4, seeds=1, steps=1, chunk=1, dropout=0.0))
    state = train(setup)
    keys = jax.random.split(jax.random.fold_in(new_key(0), 0), 4)
    model = of_seed(new_state(setup), 0)

    def part(model, key):
        data_key, key = jax.random.split(key)
        loss, counts = objective(model, setup, setup.sampler.rows(4, key=data_key), key=key)
        return loss * counts.counted, counts.counted

    @eqx.filter_jit
    @eqx.filter_grad
    def whole(model, keys):
        losses, tokens = zip(*[part(model, keys[index]) for index in range(4)], strict=True)
        return sum(losses) / sum(tokens)

    gradient = whole(model, keys)
    moments = jax.tree.leaves(state.optimiser)
    moment = next(leaf for leaf in moments if leaf.shape[1:] == (16, 32))[0]
    scale = jnp.sqrt(sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(gradient)))
    clipped = gradient.blocks[0].expand / jnp.maximum(scale, 1)
    np.testing.assert_allclose(moment, 0.1 * clipped, atol=1e-6)


@pytest.mark.slow
def test_bfloat16_computes_nearly_the_same():
    setup = Setup(TINY)
    model = of_seed(new_state(setup), 0)
    rows = setup.sampler.rows(16, key=jax.random.key(1))
    half = in_precision(model, TINY.with_(precision="bfloat16").training)
    assert half.embedding.dtype == jnp.bfloat16
    loss = eqx.filter_jit(lambda model: objective(model, setup, rows, key=None)[0])
    exact, rough = loss(model), loss(half)
    assert exact != rough
    np.testing.assert_allclose(float(rough), float(exact), rtol=0.02)


def test_a_loss_that_is_not_a_number_stops_the_run():
    wild = TINY.with_(optimiser="sgd", learning_rate=1e30, clip=0.0, warmup=0)
    with pytest.raises(DivergedError, match=r"seed \d is .* at step \d+: lower learning_rate"):
        train(Setup(wild))


def test_a_model_that_the_last_step_broke_is_no_result(trained):
    check_models(trained, TINY.training)
    broken = eqx.tree_at(lambda state: state.model.embedding, trained, replace_fn=lambda e: e / 0)
    with pytest.raises(DivergedError, match="seed 0 has parameters that are not numbers"):
        check_models(broken, TINY.training)


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_learning_rate_has_to_be_a_number(rate):
    with pytest.raises(ExperimentError, match="learning_rate"):
        TINY.with_(learning_rate=rate)


def test_a_checkpoint_of_another_experiment_is_refused(trained, tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_state(trained, path)
    with pytest.raises(ExperimentError, match="another experiment"):
        load_state(Setup(TINY.with_(width=32)), path)


def test_more_devices_than_there_are():
    with pytest.raises(ExperimentError, match="this machine has"):
        train(Setup(TINY.with_(devices=64)))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, 2])
def test_two_devices_compute_the_same(seeds):
    script = f"""
import jax, numpy as np, equinox as eqx
from curta.learn.experiment import Experiment, Setup
from curta.learn.training.loop import train
tiny = Experiment.from_json('''{TINY.with_(seeds=seeds, steps=6).to_json()}''')
assert len(jax.devices()) == 2
one = train(Setup(tiny.with_(devices=1)))
two = train(Setup(tiny.with_(devices=2)))
kept = [len(leaf.sharding.device_set) for leaf in jax.tree.leaves(eqx.filter(two, eqx.is_array))]
assert set(kept) == {{2}}, kept
for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two)):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=1e-5)
"""
    flags = "--xla_force_host_platform_device_count=2"
    found = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stderr
