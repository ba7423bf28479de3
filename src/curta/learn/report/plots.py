"""The pictures of reports: lines, heatmaps, bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from curta.pages.pictures import COLOURS, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Series:
    """A line, with how sure it is."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    each: Sequence[Sequence[float]] = field(default=())
    """Faint lines beside it: one for each seed."""


def lines(
    panels: Sequence[tuple[str, str, Sequence[Series]]],
    *,
    logarithmic: Sequence[bool] = (),
    shaded: tuple[float, float] | None = None,
    shares: bool = False,
) -> str:
    """Panels of lines: words below, words beside, and the lines; shares go from 0 to 1."""
    from matplotlib.ticker import MaxNLocator

    panels = [panel for panel in panels if panel[2]]
    if not panels:
        return ""

    def draw(axes: Sequence[Axes]) -> None:
        for index, (ax, (below, beside, series)) in enumerate(zip(axes, panels, strict=True)):
            for number, given in enumerate(series):
                line(ax, given, COLOURS[number % len(COLOURS)])
            if shaded is not None:
                ax.axvspan(shaded[0] - 0.5, shaded[1] + 0.5, color="#8888", alpha=0.2, lw=0)
            if index < len(logarithmic) and logarithmic[index]:
                ax.set_yscale("log")
            if shares:
                ax.set_ylim(-0.02, 1.02)
            ax.set_xlabel(below)
            ax.set_ylabel(beside)
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            if len(series) > 1:
                ax.legend(loc="best", fontsize=8)

    return drawn(draw, len(panels), (4.6 * len(panels) if len(panels) > 1 else 6.4, 3.0))


def line(axes: Axes, series: Series, colour: str) -> None:
    """One line with its band and the faint lines beside it."""
    few = len(series.x) <= 40
    for values in series.each:
        axes.plot(series.x, values, color=colour, lw=0.7, alpha=0.35)
    if len(series.low):
        axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.2, lw=0)
    axes.plot(
        series.x, series.y, color=colour, lw=1.6, label=series.label,
        marker="o" if few else None, markersize=2.5,
    )  # fmt: skip


def heatmaps(
    grids: Sequence[tuple[str, np.ndarray]],
    digits: Sequence[int],
    trained: tuple[int, int] | None,
) -> str:
    """Exact match by the digits of both operands; what was trained is framed."""
    from matplotlib.patches import Rectangle

    low, high, step = digits[0], digits[-1], (digits[1] - digits[0] if len(digits) > 1 else 1)
    edge = (low - step / 2, high + step / 2)

    def draw(axes: Sequence[Axes]) -> None:
        for ax, (title, values) in zip(axes, grids, strict=True):
            image = ax.imshow(
                values, origin="lower", vmin=0, vmax=1, cmap="viridis", aspect="equal",
                extent=(*edge, *edge), interpolation="nearest",
            )  # fmt: skip
            if trained is not None:
                begin, side = trained[0] - 0.5, trained[1] - trained[0] + 1
                ax.add_patch(
                    Rectangle((begin, begin), side, side, fill=False, ec="#ffffff", lw=1.2)
                )
            ax.set_xlabel("digits of b")
            ax.set_ylabel("digits of a")
            ax.set_title(title, fontsize=9)
        ax.figure.colorbar(image, ax=list(axes), shrink=0.8)

    return drawn(draw, len(grids), (3.6 * len(grids) + 0.8, 3.4))


def bars(panels: Sequence[tuple[str, str, Sequence[tuple[str, float]]]]) -> str:
    """Panels of bars: words below, words beside, names and heights."""
    panels = [panel for panel in panels if panel[2]]
    if not panels:
        return ""

    def draw(axes: Sequence[Axes]) -> None:
        for ax, (below, beside, given) in zip(axes, panels, strict=True):
            ax.bar(range(len(given)), [height for _, height in given], color=COLOURS[0], width=0.8)
            ax.set_ylim(bottom=0, top=None if any(height for _, height in given) else 1)
            every = max(1, len(given) // 12)
            ticks = range(0, len(given), every)
            ax.set_xticks(list(ticks), [given[tick][0] for tick in ticks])
            ax.set_xlabel(below)
            ax.set_ylabel(beside)

    return drawn(draw, len(panels), (max(4.0, 3.4 * len(panels)), 2.6))
