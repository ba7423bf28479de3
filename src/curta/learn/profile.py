"""Where the time of a training step goes, and how far it is from what the machine can do.

One table: layers unrolled and scanned, each with its compile time, step time, memory, arithmetic
and bytes as XLA counts them. The roofline is measured on the machine itself: the rate of a large
product of matrices, and of a copy that fits in no cache.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from curta.learn.experiment import Experiment, Setup
from curta.learn.keys import new_key
from curta.learn.models.transformer import parameter_count
from curta.learn.training.loop import training_step
from curta.learn.training.state import TrainingState, new_state, of_seed, seed_keys


@dataclass(frozen=True)
class Roofline:
    """What the machine can do."""

    device: str
    flops: float
    """Of a large product, in operations a second."""
    bandwidth: float
    """Bytes read and written a second."""

    @property
    def ridge(self) -> float:
        """Operations per byte above which arithmetic is the limit."""
        return self.flops / self.bandwidth


@dataclass(frozen=True)
class StepProfile:
    """Of one way to compile the step."""

    name: str
    compile_seconds: float
    step_seconds: float
    spread: tuple[float, float]
    """The fastest and the slowest step."""
    flops: float
    """Operations of the unrolled step as XLA counts them; it counts a scanned layer only once."""
    bytes_accessed: float
    peak_bytes: int
    """Arguments, results and temporary memory of the compiled step."""

    def attained(self, roofline: Roofline) -> float:
        """The share of the roofline at this step's operations per byte."""
        intensity = self.flops / max(self.bytes_accessed, 1)
        bound = min(roofline.flops, roofline.bandwidth * intensity)
        return self.flops / self.step_seconds / bound


@dataclass(frozen=True)
class Profile:
    """Of an experiment's training step, one seed."""

    parameters: int
    tokens: int
    roofline: Roofline
    steps: tuple[StepProfile, ...]
    parts: dict[str, float]
    """Seconds of the parts of a step, each compiled by itself."""


def profile(
    experiment: Experiment, *, repeats: int = 20, done: Callable[[str], None] = lambda what: None
) -> Profile:
    """Compile and time one step of one seed in every way."""
    experiment = experiment.with_(seeds=1)
    roofline = measure_roofline()
    done("roofline")
    steps: list[StepProfile] = []
    for name, scanned in (("unrolled", False), ("scanned", True)):
        setup = Setup(experiment.with_(scan_layers=scanned))
        steps.append(profile_step(name, setup, repeats, counted=steps[0] if steps else None))
        done(name)
    setup = Setup(experiment)
    parts = time_parts(setup, repeats)
    done("parts")
    model = of_seed(new_state(setup), 0)
    rows = experiment.training.batch * setup.sampler.width
    return Profile(parameter_count(model), rows, roofline, tuple(steps), parts)


def profile_step(name: str, setup: Setup, repeats: int, counted: StepProfile | None) -> StepProfile:
    """Compile the training step, look at what XLA says of it, run it."""
    state, key = new_state(setup), seed_keys(setup)[0]
    model, held = jax.tree.map(lambda leaf: leaf[0], (state.model, state.optimiser))

    def step(model: object, held: object, key: Array) -> object:
        return training_step(setup, model, held, key=key, step=jnp.array(0))  # type: ignore[arg-type]

    before = time.perf_counter()
    compiled = jax.jit(step).lower(model, held, key).compile()
    compile_seconds = time.perf_counter() - before
    times = timed(lambda: compiled(model, held, key), repeats)
    costs = compiled.cost_analysis() or {}
    memory = compiled.memory_analysis()
    parts = ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes")
    return StepProfile(
        name=name,
        compile_seconds=compile_seconds,
        step_seconds=statistics.median(times),
        spread=(min(times), max(times)),
        flops=counted.flops if counted else float(costs.get("flops", 0)),
        bytes_accessed=counted.bytes_accessed if counted else float(costs.get("bytes accessed", 0)),
        peak_bytes=sum(int(getattr(memory, part, 0)) for part in parts),
    )


def time_parts(setup: Setup, repeats: int) -> dict[str, float]:
    """Data, forward pass, and forward with backward pass; medians."""
    from curta.learn.training.objective import objective

    state: TrainingState = new_state(setup)
    model = of_seed(state, 0)
    batch = setup.experiment.training.batch
    data = jax.jit(lambda key: setup.sampler.rows(batch, key=key))
    rows = data(new_key(0))
    forward = eqx.filter_jit(lambda model, key: objective(model, setup, rows, key=key)[0])
    both = eqx.filter_jit(
        eqx.filter_grad(lambda model, key: objective(model, setup, rows, key=key)[0])
    )
    key = new_key(1)
    return {
        "data": statistics.median(timed(lambda: data(key), repeats)),
        "forward": statistics.median(timed(lambda: forward(model, key), repeats)),
        "forward and backward": statistics.median(timed(lambda: both(model, key), repeats)),
    }


def measure_roofline(size: int = 1024, copied: int = 1 << 26) -> Roofline:
    """The best rates seen of a product of matrices and of a copy."""
    matrix = jnp.ones((size, size), jnp.float32)
    product = jax.jit(lambda m: m @ m)
    row = jnp.ones((copied,), jnp.float32)
    copy = jax.jit(lambda r: r + 1)
    return Roofline(
        device=jax.devices()[0].device_kind,
        flops=2 * size**3 / min(timed(lambda: product(matrix), 5)),
        bandwidth=8 * copied / min(timed(lambda: copy(row), 5)),
    )


def timed(call: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each call behind a first one that does not count."""
    wait(call())
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        wait(call())
        times.append(time.perf_counter() - before)
    return times


def wait(result: object) -> None:
    """Until the device is done."""
    for leaf in jax.tree.leaves(result):
        leaf.block_until_ready()
