"""The pictures of an evaluation: accuracy by digits, answers by what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from curta.delegate.evaluation.figures import Share
from curta.delegate.evaluation.taxonomy import Kind
from curta.pages.pictures import COLOURS, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND_COLOURS: dict[Kind, str] = {
    "right": "#2a9d6f",
    "wrong reasoning": "#d9a72b",
    "wrong computation": "#c2452d",
    "wrong format": "#7a6ad8",
    "stopped early": "#8a8f98",
    "unneeded call": "#b84fa0",
}

LINE: Any = {"marker": "o", "markersize": 4, "linewidth": 1.4, "elinewidth": 1, "capsize": 2}

Groups = Mapping[str, Mapping[Any, Share]]
"""Shares by group, for each system."""


def by_digits(suites: Mapping[str, Groups]) -> str:
    """A panel for each suite: accuracy by the digits of the longest number, a line per system."""
    shown = {suite: groups for suite, groups in suites.items() if has_lengths(groups)}

    def draw(panels: Sequence[Axes]) -> None:
        for axes, (suite, groups) in zip(panels, shown.items(), strict=True):
            for number, (system, shares) in enumerate(groups.items()):
                offset = 0.12 * (number - (len(groups) - 1) / 2)
                values = np.array([one.value for one in shares.values()])
                low, high = np.array([one.interval for one in shares.values()]).T
                reach = np.maximum(0, [values - low, high - values])
                colour = COLOURS[number % len(COLOURS)]
                places = np.array(list(shares)) + offset
                axes.errorbar(places, values, reach, label=system, color=colour, **LINE)
            axes.set_title(suite, fontsize=9)
            axes.set_ylim(-0.03, 1.03)
            axes.set_xlabel("digits of the longest number in the question")
            axes.set_xticks(sorted(set().union(*groups.values())))
        panels[0].set_ylabel("right answers")
        handles, labels = panels[0].get_legend_handles_labels()
        panels[0].figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8)

    return drawn(draw, len(shown), (max(5.0, 3.7 * len(shown)), 3.4)) if shown else ""


def has_lengths(groups: Groups) -> bool:
    """Whether there is more than one, so that there is something to see."""
    return any(len(shares) > 1 for shares in groups.values())


def kinds(rows: Sequence[tuple[str, Mapping[Kind, int]]]) -> str:
    """A bar for each row, all answers in it by what they are."""

    def draw(panels: Sequence[Axes]) -> None:
        (axes,) = panels
        places = range(len(rows))
        left = np.zeros(len(rows))
        for kind, colour in KIND_COLOURS.items():
            widths = np.array([counts.get(kind, 0) / sum(counts.values()) for _, counts in rows])
            if widths.any():
                axes.barh(places, widths, left=left, color=colour, height=0.72, label=kind)
            left = left + widths
        axes.set_yticks(places, [name for name, _ in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of answers")
        axes.figure.legend(loc="outside upper center", ncols=6, fontsize=8)

    return drawn(draw, 1, (8.4, 1.1 + 0.28 * len(rows))) if rows else ""
