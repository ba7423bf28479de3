"""Plots as SVG within a page: words and lines take the colour of the page's text."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from curta.delegate.evaluation.comparison import Share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#010203"
"""Stands for the colour of the page's text until the picture is done."""

COLOURS = ("#3b7dd8", "#d9822b", "#2a9d6f", "#b84fa0", "#7a6ad8", "#c2452d", "#5f8a8b", "#a08320")
KIND_COLOURS = {
    "right": "#2a9d6f",
    "wrong reasoning": "#d9a72b",
    "wrong computation": "#c2452d",
    "wrong format": "#7a6ad8",
    "stopped early": "#8a8f98",
    "unneeded call": "#b84fa0",
}

Groups = Mapping[str, Mapping[Any, Share]]
"""Shares by group, for each system."""

SETTINGS: Any = {
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "curta",
}


def by_digits(suites: Mapping[str, Groups]) -> str:
    """A panel for each suite: accuracy by the digits of the longest number, a line per system."""
    shown = {
        suite: groups
        for suite, groups in suites.items()
        if any(len(shares) > 1 for shares in groups.values())
    }

    def draw(panels: Sequence[Axes]) -> None:
        for axes, (suite, groups) in zip(panels, shown.items(), strict=True):
            for number, (system, shares) in enumerate(groups.items()):
                offset = 0.12 * (number - (len(groups) - 1) / 2)
                line(axes, system, shares, offset, COLOURS[number % len(COLOURS)])
            axes.set_title(suite, fontsize=9)
            axes.set_ylim(-0.03, 1.03)
            axes.set_xlabel("digits of the longest number in the question")
            axes.set_xticks(sorted(set().union(*groups.values())))
        panels[0].set_ylabel("right answers")
        handles, labels = panels[0].get_legend_handles_labels()
        panels[0].figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8)

    return drawn(draw, len(shown), (max(5.0, 3.7 * len(shown)), 3.4)) if shown else ""


def line(axes: Axes, label: str, shares: Mapping[Any, Share], offset: float, colour: str) -> None:
    """Shares with their intervals."""
    values = [one.value for one in shares.values()]
    low = [one.value - one.interval[0] for one in shares.values()]
    high = [one.interval[1] - one.value for one in shares.values()]
    axes.errorbar(
        [place + offset for place in shares],
        values,
        yerr=[[max(0.0, each) for each in low], [max(0.0, each) for each in high]],
        label=label,
        color=colour,
        marker="o",
        markersize=4,
        linewidth=1.4,
        elinewidth=1,
        capsize=2,
    )


def kinds(rows: Sequence[tuple[str, Mapping[str, int]]]) -> str:
    """A bar for each row, all answers in it by what they are."""

    def draw(panels: Sequence[Axes]) -> None:
        (axes,) = panels
        places = range(len(rows))
        left = [0.0] * len(rows)
        for kind, colour in KIND_COLOURS.items():
            widths = [counts.get(kind, 0) / sum(counts.values()) for _, counts in rows]
            if any(widths):
                axes.barh(places, widths, left=left, color=colour, height=0.72, label=kind)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        axes.set_yticks(places, [name for name, _ in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of answers")
        axes.figure.legend(loc="outside upper center", ncols=6, fontsize=8)

    return drawn(draw, 1, (8.4, 1.1 + 0.28 * len(rows))) if rows else ""


def drawn(draw: Callable[[Sequence[Axes]], None], panels: int, size: tuple[float, float]) -> str:
    """Panels in a row; the same input makes the same bytes."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(1, panels, squeeze=False)[0]
        figure.patch.set_alpha(0)
        for one in axes:
            one.patch.set_alpha(0)
        draw(list(axes))
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return embedded(file.getvalue())


def embedded(svg: str) -> str:
    """Without preamble, and with names that no other picture of the page has."""
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    mark = hashlib.sha256(svg.encode()).hexdigest()[:8]
    return re.sub(r'\b(id="|url\(#|href="#)', rf"\g<1>{mark}-", svg)
