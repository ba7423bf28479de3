"""Tables and plots of benchmark results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from curta.errors import ExperimentError
from curta.learn.units.benchmark import UnitResult
from curta.learn.units.published import PUBLISHED_RATES
from curta.learn.units.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = "—"
HEAD = (
    "operation", "unit", "success", "95%", "published", "solved at", "sparsity error",
    "error/threshold",
)  # fmt: skip


def table(results: Sequence[UnitResult]) -> Table:
    """Results as the papers print them, grouped by operation, with the published rates."""
    shown = Table(title=_title(results))
    for column in HEAD[:2]:
        shown.add_column(column)
    for column in HEAD[2:]:
        shown.add_column(column, justify="right")
    operations = list(dict.fromkeys(result.operation for result in results))
    for operation in operations:
        for result in results:
            if result.operation == operation:
                shown.add_row(*row(result))
        shown.add_section()
    return shown


def row(result: UnitResult) -> tuple[str, ...]:
    """One result as the cells of `table`."""
    lower, upper = result.interval
    return (
        result.operation,
        result.unit,
        f"{result.rate:.0%}",
        f"{lower:.0%} to {upper:.0%}",
        published(result),
        _estimate(result.solved_at),
        _estimate(result.sparsity),
        f"{result.median_error / result.threshold:.1e}",
    )


def published(result: UnitResult) -> str:
    """The rate of the papers, and whether ours is another one: below it, or above."""
    rate = PUBLISHED_RATES.get((result.unit, result.operation))
    if rate is None:
        return NOTHING
    lower, upper = result.interval
    side = ", ours lower" if upper < rate else ", ours higher" if rate < lower else ""
    return f"{rate:.0%}{side}"


def plot(results: Sequence[UnitResult], path: Path | None = None) -> Figure:
    """Success rates with their intervals, a panel for each operation; ticks are published rates.

    Written to `path`, in the format of its suffix, if there is one.
    """
    from matplotlib.figure import Figure

    if not results:
        raise ExperimentError(
            "plot: there are no results; run the benchmark with at least one unit"
        )
    operations = list(dict.fromkeys(result.operation for result in results))
    figure = Figure(figsize=(2.2 * len(operations) + 1, 3.2), layout="constrained")
    axes = figure.subplots(1, len(operations), sharey=True, squeeze=False)[0]
    for axis, operation in zip(axes, operations, strict=True):
        chosen = [result for result in results if result.operation == operation]
        rates = [result.rate for result in chosen]
        below = [max(0.0, result.rate - result.interval[0]) for result in chosen]
        above = [max(0.0, result.interval[1] - result.rate) for result in chosen]
        positions = range(len(chosen))
        axis.errorbar(positions, rates, yerr=[below, above], fmt="o", capsize=3, label="ours")
        published = [PUBLISHED_RATES.get((r.unit, operation), float("nan")) for r in chosen]
        axis.plot(positions, published, "_", markersize=14, color="0.5", label="published")
        axis.set_xticks(list(positions), [result.unit for result in chosen], rotation=90)
        axis.set_title(operation)
        axis.set_ylim(-0.05, 1.05)
    axes[0].set_ylabel("success rate")
    figure.suptitle(_title(results))
    if path is not None:
        figure.savefig(path)
    return figure


def _title(results: Sequence[UnitResult]) -> str:
    if not results:
        return "no results"
    first = results[0]
    return f"success over {first.seeds} seeds after {first.steps:,} steps"


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return NOTHING
    if estimate.lower is None or estimate.upper is None:
        return f"{estimate.value:.1e}"
    return f"{estimate.value:.1e} ({estimate.lower:.1e} to {estimate.upper:.1e})"
