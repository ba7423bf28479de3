"""The criterion judges rightly, and short trainings meet it or miss it as they should."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from curta.errors import ExperimentError
from curta.learn.units.arithmetic import (
    ArithmeticProblem,
    ArithmeticTask,
    subsets,
    success_threshold,
)
from curta.learn.units.benchmark import (
    PRESETS,
    Preset,
    UnitResult,
    run_benchmark,
    run_comparisons,
    run_sequences,
    summarise,
)
from curta.learn.units.layers import NAU, NMU, Scalar
from curta.learn.units.networks import ARITHMETIC_DESIGNS, COMPARISON_DESIGNS, Network, Schedule
from curta.learn.units.published import PUBLISHED_RATES
from curta.learn.units.report import plot, row, table
from curta.learn.units.training import Evaluation, History, TrainingOptions

TINY = Preset(
    name="tiny",
    arithmetic=TrainingOptions(seeds=2, steps=3_000, evaluate_every=150, learning_rate=1e-2),
    comparison=TrainingOptions(seeds=2, steps=2_000, evaluate_every=500),
    sequence=TrainingOptions(seeds=2, steps=1_000, evaluate_every=500),
    task=ArithmeticTask(input_size=4),
    batch_size=32,
    evaluation_size=200,
    threshold_samples=2_000,
    selection_window=10,
    largest_magnitude=9,
    schedules={"nau": Schedule()},
)


def solution(task: ArithmeticTask, operation: str, off: float) -> Network:
    """The rule of the task, with first-layer weights that are `off` from exact."""
    exact = jnp.stack(list(subsets(task, 0)))
    first = NAU(jnp.where(exact == 1, 1 - off, off))
    second = {
        "add": NAU(jnp.asarray([[1.0, 1.0]])),
        "sub": NAU(jnp.asarray([[1.0, -1.0]])),
        "mul": NMU(jnp.asarray([[1.0, 1.0]])),
    }
    return Network((first, second[operation]))


@pytest.mark.parametrize("operation", ["add", "sub", "mul"])
def test_criterion_lies_between_nearly_perfect_solutions(operation: str) -> None:
    task = ArithmeticTask(input_size=12)
    problem = ArithmeticProblem(task, (operation,), batch_size=8, evaluation_size=4_000)
    threshold = success_threshold(task, operation, samples=50_000, key=jax.random.key(1))

    @jax.jit
    def error(off: float) -> Scalar:
        inputs, targets = problem.test(subsets(task, 0))
        answers = jax.vmap(solution(task, operation, off))(inputs)[:, 0]
        return problem.error(answers, targets[0])

    assert error(0.0) < 1e-3 * threshold
    assert error(0.8e-5) < threshold < error(1.2e-5)


def history(validation: list[list[float]], test: list[list[float]]) -> History:
    """A history of one operation, from its errors [evaluations][seeds]."""
    count = len(test)
    stacked = Network((NAU(jnp.zeros((1, 1))),))
    sparsity = np.arange(1.0, count + 1)[:, None] * np.ones_like(np.asarray(test)) / 100
    return History(
        steps=100 * np.arange(1, count + 1),
        validation=np.asarray(validation)[:, :, None],
        test=np.asarray(test)[:, :, None],
        sparsity=sparsity[:, :, None],
        networks=stacked,
    )


def test_success_is_judged_where_the_validation_is_best() -> None:
    # The first seed is right where its validation is best; the second only elsewhere; the third
    # overflowed in the end, and was right before; the fourth was right too long ago.
    nan = float("nan")
    validation = [[3.0, 1.0, 2.0, 0.1], [1.0, 3.0, 1.0, 0.5], [2.0, 2.0, nan, 0.4]]
    test = [[9.0, 9.0, 9.0, 0.1], [0.1, 0.1, 0.1, 9.0], [9.0, 9.0, nan, 9.0]]
    result = summarise(
        "nau", "add", history(validation, test), 0, threshold=1.0, selection_window=2
    )
    assert (result.successes, result.seeds, result.rate) == (2, 4, 0.5)
    assert result.solved_at is not None
    assert (result.solved_at.median, result.steps) == (200.0, 300)
    assert result.sparsity is not None
    assert result.sparsity.value == pytest.approx(0.02)


def test_no_success_leaves_nothing_to_time() -> None:
    result = summarise(
        "nau", "add", history([[1.0]], [[5.0]]), 0, threshold=1.0, selection_window=9
    )
    assert (result.successes, result.solved_at, result.sparsity) == (0, None, None)
    assert result.median_error == 5.0


@pytest.mark.slow
def test_nau_learns_addition_and_a_linear_network_no_multiplication() -> None:
    seen: list[Evaluation] = []
    (addition,) = run_benchmark(
        TINY, key=jax.random.key(0), units=("nau",), operations=("add",), progress=seen.append
    )
    assert (addition.successes, addition.seeds) == (2, 2)
    assert addition.solved_at is not None
    assert addition.solved_at.median <= 3_000
    assert [e.step for e in seen] == list(range(150, 3_001, 150))
    assert seen[-1].test_error.shape == (2, 1)
    (product,) = run_benchmark(TINY, key=jax.random.key(0), units=("linear",), operations=("mul",))
    assert product.successes == 0
    assert product.median_error > 1e3 * product.threshold


def test_a_key_reproduces_its_results() -> None:
    first, again, other = (
        run_benchmark(TINY, key=jax.random.key(k), units=("nau",), operations=("add",))
        for k in (4, 4, 5)
    )
    assert first == again
    assert first[0].median_error != other[0].median_error


def test_nsr_compares_numbers_far_beyond_its_digits() -> None:
    (result,) = run_comparisons(TINY, key=jax.random.key(0), units=("nsr",), operations=("<",))
    assert (result.successes, result.seeds) == (2, 2)
    assert result.median_error < 0.5
    assert jnp.ones(1).dtype == jnp.float32


def test_presets_without_examples_are_refused() -> None:
    with pytest.raises(ExperimentError, match=r"selection_window is 0: choose at least 1"):
        replace(TINY, selection_window=0)


def test_the_full_preset_is_the_published_setting() -> None:
    full = PRESETS["full"]
    assert full.task == ArithmeticTask()
    assert (full.arithmetic.steps, full.arithmetic.evaluate_every) == (5_000_000, 1_000)
    assert (full.arithmetic.seeds, full.arithmetic.hidden, full.batch_size) == (100, 2, 128)
    assert full.arithmetic.learning_rate == 1e-3
    assert not full.schedules
    assert ARITHMETIC_DESIGNS["nmu"].schedule == Schedule(10.0, 1e6, 2e6)
    assert ARITHMETIC_DESIGNS["nau"].schedule == Schedule(0.01, 5e3, 5e4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "tiny"}, r"no preset 'tiny'; choose from smoke, small, full"),
        ({"preset": "smoke", "units": ("nan",)}, r"no unit 'nan'; choose from linear, relu6"),
        ({"preset": "smoke", "operations": ("pow",)}, r"no operation 'pow'; choose from add"),
    ],
)
def test_unknown_names_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        run_benchmark(**options, key=jax.random.key(0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 0}, r"seeds is 0: choose at least 1"),
        ({"steps": 150}, r"steps 150 is not a multiple of evaluate_every 100"),
    ],
)
def test_impossible_trainings_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        TrainingOptions(**{"seeds": 1, "steps": 100, "evaluate_every": 100, **options})


def results() -> list[UnitResult]:
    steps = [[4.0, 4.0], [0.5, 4.0]]
    return [
        summarise(unit, "mul", history(steps, steps), 0, threshold=1.0, selection_window=5)
        for unit in ("mlp", "nmu")
    ]


def test_table_shows_rates_beside_the_published_ones() -> None:
    mlp, nmu = (row(result) for result in results())
    assert nmu[:5] == ("mul", "nmu", "50%", "9% to 91%", "98%, ours lower")
    assert mlp[:5] == ("mul", "mlp", "50%", "9% to 91%", "—")
    assert PUBLISHED_RATES["nmu", "mul"] == 0.98
    console = Console(width=140, file=io.StringIO(), record=True)
    console.print(table(results()))
    assert "success over 2 seeds after 200 steps" in console.export_text()


@pytest.mark.parametrize(
    ("unit", "operation", "interval", "words"),
    [
        ("nau", "sub", (0.6, 0.9), "100%, ours lower"),
        ("nmu", "sub", (0.0, 0.2), "56%, ours lower"),
        ("nac", "mul", (0.1, 0.3), "0%, ours higher"),
        ("nmu", "mul", (0.9, 1.0), "98%"),
    ],
)
def test_the_table_says_where_ours_is_another_rate(
    unit: str, operation: str, interval: tuple[float, float], words: str
) -> None:
    (_, result) = results()
    shown = row(replace(result, unit=unit, operation=operation, interval=interval))
    assert shown[4] == words


def test_plot_draws_a_panel_for_each_operation(tmp_path: Path) -> None:
    figure = plot(results(), tmp_path / "rates.svg")
    assert [axis.get_title() for axis in figure.axes] == ["mul"]
    assert "<svg" in (tmp_path / "rates.svg").read_text()
    with pytest.raises(ExperimentError, match=r"no results; run the benchmark"):
        plot([])


@pytest.mark.slow
def test_the_smoke_preset_runs_every_unit_on_every_operation() -> None:
    sequences = run_sequences("smoke", key=jax.random.key(0))
    assert [(r.unit, r.operation) for r in sequences] == [
        (unit, operation) for operation in ("minimum", "count") for unit in ("nsr", "mlp")
    ]
    comparisons = run_comparisons("smoke", key=jax.random.key(0))
    assert len(comparisons) == len(COMPARISON_DESIGNS) * 6
    everything = run_benchmark("smoke", key=jax.random.key(0))
    assert len(everything) == len(ARITHMETIC_DESIGNS) * 6
    assert all(result.seeds == 3 and result.steps == 1_000 for result in everything)
    assert all(np.isfinite(result.threshold) for result in everything)
