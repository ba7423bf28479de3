"""Pictures of what was found inside of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from curta.learn.inside.look import Inside
from curta.learn.inside.probes import Ablation, DigitProbe, HelixFit
from curta.learn.report import plots
from curta.learn.report.plots import Series
from curta.pages.pictures import COLOURS, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 4
"""Maps of attention beside each other."""

MOST_TICKS = 24
MOST_DEPTHS = 16
"""Of a looped model, so many depths are shown, evenly chosen."""


def shown_depths(found: Inside) -> list[int]:
    """All depths, or some of them."""
    count = len(found.attention)
    return sorted(set(np.linspace(0, count - 1, min(count, MOST_DEPTHS)).astype(int).tolist()))


def attention(found: Inside, depth: int) -> list[str]:
    """Mean attention of each head behind so many layers, a few maps to a picture."""
    heads = found.attention[depth]
    labels = found.alike.labels
    pictures = []
    for start in range(0, len(heads), PANELS):
        some = heads[start : start + PANELS]

        def draw(axes: Sequence[Axes], some: np.ndarray = some, start: int = start) -> None:
            for number, (ax, weights) in enumerate(zip(axes, some, strict=False)):
                map_of(ax, weights, labels, labels, (0.0, 1.0))
                ax.set_title(f"head {start + number}", fontsize=9)
            for spare in axes[len(some) :]:
                spare.set_axis_off()

        pictures.append(drawn(draw, PANELS, (10.4, 2.9)))
    return pictures


def map_of(
    axes: Axes,
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    reach: tuple[float, float],
) -> None:
    """A heat map with a name for each row and column."""
    axes.imshow(values, vmin=reach[0], vmax=reach[1], cmap="viridis", interpolation="nearest")
    across, down = ticks(len(columns)), ticks(len(rows))
    axes.set_xticks(across, [escaped(columns[tick]) for tick in across], fontsize=6)
    axes.set_yticks(down, [escaped(rows[tick]) for tick in down], fontsize=6)


def ticks(count: int) -> list[int]:
    """All places, or every so many."""
    return list(range(0, count, -(-count // MOST_TICKS)))


def escaped(label: str) -> str:
    """Matplotlib reads what stands between two dollars as mathematics."""
    return label.replace("$", r"\$")


def probe(digit_probe: DigitProbe, names: Sequence[str]) -> str:
    """The share that is read rightly, by depth, and chance."""

    def draw(axes: Sequence[Axes]) -> None:
        (ax,) = axes
        for column, name in enumerate(names):
            colour = COLOURS[column % len(COLOURS)]
            depths = range(len(digit_probe.accuracy))
            ax.plot(depths, digit_probe.accuracy[:, column], "o-", color=colour, markersize=2.5,
                     label=escaped(name))  # fmt: skip
            ax.axhline(digit_probe.chance[column], color=colour, lw=0.8, ls=":")
        ax.set_ylim(-0.02, 1.02)
        ax.set_xticks(
            range(0, len(digit_probe.accuracy), -(-len(digit_probe.accuracy) // MOST_TICKS))
        )
        ax.set_xlabel("layers behind")
        ax.set_ylabel("read rightly")
        if len(names) <= 12:
            ax.legend(loc="best", fontsize=7, ncols=2)

    return drawn(draw, 1, (6.4, 3.0))


def ablation(silenced: Ablation) -> str:
    """Answers and tokens that are right without each head."""
    layers, heads = silenced.exact.shape
    layer_names, head_names = ([str(n) for n in range(count)] for count in (layers, heads))

    def draw(axes: Sequence[Axes]) -> None:
        titles = ("whole answers", "tokens of answers")
        for ax, title, shares in zip(axes, titles, (silenced.exact, silenced.token), strict=True):
            map_of(ax, shares, layer_names, head_names, (0.0, 1.0))
            for layer, head in np.ndindex(layers, heads):
                share = shares[layer, head]
                ax.text(head, layer, f"{share:.2f}", ha="center", va="center", fontsize=6,
                         color="#ffffff" if share < 0.6 else "#000000")  # fmt: skip
            ax.set_xlabel("head that is silenced")
            ax.set_ylabel("of layer")
            ax.set_title(title, fontsize=9)

    return drawn(draw, 2, (2.4 + 0.9 * heads, 1.4 + 0.5 * layers))


def helix(fits: Sequence[HelixFit]) -> str:
    """The share of the variance on each family of the helix by depth; and the spectra."""
    depths = range(len(fits))
    families = [
        Series(label=name, x=list(depths), y=[fit.explained[name] for fit in fits])
        for name in fits[0].explained
    ]
    chosen = sorted({0, len(fits) // 2, len(fits) - 1})
    return plots.lines(
        [
            ("layers behind", "variance explained", families),
            (
                "turns over all numbers",
                "share of the power",
                [spectrum(f"{depth} layers behind", fits[depth]) for depth in chosen],
            ),
        ]
    )


def spectrum_of(fit: HelixFit) -> str:
    """One spectrum."""
    return plots.lines([("turns over all numbers", "share of the power", [spectrum("", fit)])])


def spectrum(label: str, fit: HelixFit) -> Series:
    """Power by frequency, without the constant."""
    power = fit.spectrum[1:]
    return Series(label=label, x=list(range(1, len(power) + 1)), y=list(power))


def spectra(values: np.ndarray, names: Sequence[str]) -> str:
    """Eigenvalues of each layer, the largest first, a line for each digit."""
    return plots.lines(
        [
            (
                f"eigenvalue, layer {layer}",
                "value",
                [
                    Series(label=name, x=list(range(1, len(of_digit) + 1)), y=list(of_digit))
                    for name, of_digit in zip(names, of_layer, strict=True)
                ],
            )
            for layer, of_layer in enumerate(values)
        ]
    )
