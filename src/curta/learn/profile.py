"""Where the time of a training step goes, and how far it is from what the machine can do.

One table: layers unrolled and scanned, each with its compile time, step time, memory, arithmetic
and bytes as XLA counts them. The roofline is measured on the machine itself: the rate of a large
product of matrices, and of a copy that fits in no cache. With I operations per byte, no program
makes more than

    min(rate of arithmetic, rate of memory * I)      operations a second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.experimental.compilation_cache import compilation_cache
from jaxtyping import Array

from curta.errors import ExperimentError
from curta.learn.experiment import Experiment, Setup
from curta.learn.keys import new_key
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer, parameter_count
from curta.learn.training.loop import training_step
from curta.learn.training.objective import in_precision, objective
from curta.learn.training.state import TrainingState, new_state, of_seed, seed_keys

Costs = tuple[float, float]
"""Operations and bytes."""


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

    def bound(self, intensity: float) -> float:
        """The most operations a second at so many of them per byte."""
        return min(self.flops, self.bandwidth * intensity)


@dataclass(frozen=True)
class StepProfile:
    """Of one way to compile the step."""

    name: str
    compile_seconds: float
    step_seconds: float
    spread: tuple[float, float]
    """The fastest and the slowest step."""
    flops: float
    """Operations of the step as XLA counts them where nothing is scanned: it counts the body of a
    scan only once."""
    bytes_accessed: float
    """Read and written by all operations, also from caches; counted alike."""
    peak_bytes: int
    """Arguments, results and temporary memory of the compiled step."""

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / max(self.bytes_accessed, 1)

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.flops / self.step_seconds

    def attained(self, roofline: Roofline) -> float:
        """The share of the roofline at this step's operations per byte."""
        return self.rate / roofline.bound(self.intensity)


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
    if repeats < 1:
        raise ExperimentError(f"repeats = {repeats}: time at least 1 step")
    experiment = experiment.with_(seeds=1)
    with compiling_anew():
        roofline = measure_roofline()
        done("roofline")
        counted = count(experiment)
        if counted:
            done("counted")
        steps: list[StepProfile] = []
        for name, scanned in (("unrolled", False), ("scanned", True)):
            setup = Setup(experiment.with_(scan_layers=scanned))
            state = new_state(setup)
            one, costs = profile_step(name, setup, state, repeats, counted)
            counted = counted or costs
            steps.append(one)
            done(name)
            if scanned == experiment.model.scan_layers:
                model = of_seed(state, 0)
                parts = time_parts(setup, model, repeats)
                done("parts")
    tokens = experiment.training.batch * setup.sampler.width
    return Profile(parameter_count(model), tokens, roofline, tuple(steps), parts)


@contextmanager
def compiling_anew() -> Iterator[None]:
    """Compiled programs come from no cache: a time of compilation is one of compiling."""
    update: Callable[[str, object], None] = jax.config.update
    config: Any = jax.config
    before = bool(config.jax_enable_compilation_cache)
    update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        update("jax_enable_compilation_cache", before)
        compilation_cache.reset_cache()


def count(experiment: Experiment) -> Costs | None:
    """Operations and bytes of a step in which nothing is scanned, if the unrolled one has scans.

    A looped model does what one does with as many layers more; rows do not mind whether they come
    in one part or in several.
    """
    model, training = experiment.model, experiment.training
    if model.loops == 1 and training.accumulate == 1:
        return None
    alike = experiment.with_(
        layers=model.layers * model.loops, loops=1, scan_layers=False, accumulate=1
    )
    setup = Setup(alike)
    step, given = step_of(setup, eqx.filter_eval_shape(new_state, setup))
    return costs_of(step.lower(*given).compile())


def costs_of(compiled: Any) -> Costs:
    """Operations and bytes, as XLA counts them."""
    costs = compiled.cost_analysis() or {}
    return float(costs.get("flops", 0)), float(costs.get("bytes accessed", 0))


def step_of(setup: Setup, state: TrainingState) -> tuple[Any, tuple[Any, ...]]:
    """The training step of the first seed, and what it is called with; or its shapes."""

    def first(leaf: Any) -> Any:
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return jax.eval_shape(lambda: jnp.zeros(leaf.shape[1:], leaf.dtype))
        return leaf[0] if eqx.is_array(leaf) else leaf

    def step(model: Transformer, held: optax.OptState, key: Array) -> object:
        return training_step(setup, model, held, key=key, step=jnp.array(0))

    given = jax.tree.map(first, (state.model, state.optimiser))
    return jax.jit(step), (*given, seed_keys(setup)[0])


def profile_step(
    name: str, setup: Setup, state: TrainingState, repeats: int, counted: Costs | None
) -> tuple[StepProfile, Costs]:
    """Compile the training step, look at what XLA says of it, run it."""
    step, given = step_of(setup, state)
    before = time.perf_counter()
    compiled = step.lower(*given).compile()
    compile_seconds = time.perf_counter() - before
    times = timed(lambda: compiled(*given), repeats)
    costs = counted or costs_of(compiled)
    memory = compiled.memory_analysis()
    parts = ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes")
    found = StepProfile(
        name=name,
        compile_seconds=compile_seconds,
        step_seconds=statistics.median(times),
        spread=(min(times), max(times)),
        flops=costs[0],
        bytes_accessed=costs[1],
        peak_bytes=sum(int(getattr(memory, part, 0)) for part in parts),
    )
    return found, costs


def time_parts(setup: Setup, model: Transformer, repeats: int) -> dict[str, float]:
    """Data, forward pass, and forward with backward pass; medians."""
    batch = setup.experiment.training.batch
    data = jax.jit(lambda key: setup.sampler.rows(batch, key=key))
    rows = data(new_key(0))

    def loss(model: Transformer, rows: Rows, key: Array) -> Array:
        return objective(in_precision(model, setup.experiment.training), setup, rows, key=key)[0]

    forward, both = eqx.filter_jit(loss), eqx.filter_jit(eqx.filter_grad(loss))
    key = new_key(1)
    return {
        "data": statistics.median(timed(lambda: data(key), repeats)),
        "forward": statistics.median(timed(lambda: forward(model, rows, key), repeats)),
        "forward and backward": statistics.median(timed(lambda: both(model, rows, key), repeats)),
    }


def measure_roofline(size: int = 1024, copied: int = 1 << 25, passes: int = 8) -> Roofline:
    """The best rates seen of a product of matrices, and of going through an array in place.

    In place and several times, because the first touch of fresh memory costs more than a copy.
    """
    matrix = jnp.ones((size, size), jnp.float32)
    product = jax.jit(lambda m: m @ m)
    row = jnp.ones((copied,), jnp.float32)
    copy = jax.jit(lambda r: jax.lax.fori_loop(0, passes, lambda _, held: held + 1, r))
    return Roofline(
        device=jax.devices()[0].device_kind,
        flops=2 * size**3 / min(timed(lambda: product(matrix), 5)),
        bandwidth=8 * copied * passes / min(timed(lambda: copy(row), 5)),
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
