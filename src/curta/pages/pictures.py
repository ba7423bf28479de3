"""Pictures as SVG. Lines and words take the colour of the page's text, light or dark."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#010203"
"""Stands for the colour of the page's text until the picture is done."""

COLOURS = ("#3b7dd8", "#d9822b", "#2a9d6f", "#b84fa0", "#7a6ad8", "#c2452d", "#5f8a8b", "#a08320")


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib as these pictures want it."""
    import matplotlib
    from cycler import cycler

    settings: Any = {
        "text.color": INK,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": cycler(color=COLOURS),
        "font.size": 9,
        "font.family": "sans-serif",
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "curta",
    }
    with matplotlib.rc_context(settings):
        yield


def drawn(draw: Callable[[Sequence[Axes]], None], panels: int, size: tuple[float, float]) -> str:
    """A row of panels as SVG; the same input makes the same bytes."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(1, panels, squeeze=False)[0]
        figure.patch.set_alpha(0)
        for one in axes:
            one.patch.set_alpha(0)
        draw(axes)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return embedded(file.getvalue())


def embedded(svg: str) -> str:
    """Without its preamble, in the page's colour, and with names that no other picture has."""
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    mark = hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{mark}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{mark}-\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{mark}-\1"', svg)
    return re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
