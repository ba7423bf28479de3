"""The card of a data set: what is in it, where it comes from, how long it is; with plots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from curta.delegate.data.data_set import Dataset, counts, leaks
from curta.delegate.data.example import Example
from curta.delegate.markdown import table

SOURCES = {
    "gsm8k": "GSM8K (Cobbe et al., 2021), MIT licence",
    "svamp": "SVAMP (Patel et al., 2021), MIT licence",
}
"""Of annotated sets that curta knows; others are named as they are."""


def write_card(dataset: Dataset, folder: Path) -> None:
    """`README.md`, `categories.svg` and `lengths.svg` beside the parts."""
    plot(dataset.parts, folder)
    (folder / "README.md").write_text(card(dataset), encoding="utf-8")


def card(dataset: Dataset) -> str:
    """All of it as Markdown."""
    mix, found = dataset.mix, leaks(dataset)
    counted = {name: counts(part) for name, part in dataset.parts.items()}
    categories = sorted(set().union(*counted.values()))
    return f"""# Questions with calls to a calculator

Made by curta with seed {mix.seed}: templates, whose numbers have {mix.digits[0]} to
{mix.digits[1]} digits where the world does not say otherwise\
{", and annotated sets" if dataset.annotated else ""}.

{table(COLUMNS, [summary(name, part) for name, part in dataset.parts.items()])}

## Categories

{table(("category", *counted), [(c, *(f"{n[c]:,}" for n in counted.values())) for c in categories])}

![Examples by category](categories.svg)
![Lengths of answers](lengths.svg)

## Sources

* curta's own templates, under curta's licence
{listed(f"{SOURCES.get(name, name)}: {n:,} examples" for name, n in dataset.annotated.items())}
## Checks

* Every expression was evaluated when it was written, or when it was read.
* Questions in two parts, or templates of the test that another part has: {len(found) or "none"}.
  (`valid` has the templates of `train`.)
{listed(f"Left out: {count:,} times {why}." for why, count in dataset.dropped.items())}"""


COLUMNS = ("part", "examples", "with calls", "calls", "templates", "characters, median")


def listed(lines: Iterable[str]) -> str:
    """Each of them below the other."""
    return "".join(f"* {line}\n" for line in lines)


def summary(name: str, part: Sequence[Example]) -> tuple[str, ...]:
    """One part in a row of numbers."""
    calls = [len(one.expressions) for one in part]
    calling = sum(count > 0 for count in calls)
    return (
        name,
        f"{len(part):,}",
        f"{calling:,} ({calling / len(part):.1%})",
        f"{sum(calls):,}",
        f"{len({one.template for one in part}):,}",
        f"{median(len(one.answer) for one in part):.0f}",
    )


def plot(parts: Mapping[str, Sequence[Example]], folder: Path) -> None:
    """Bars of the examples by category, and a histogram of the characters of their answers."""
    from matplotlib.figure import Figure

    counted = {name: counts(part) for name, part in parts.items()}
    names = sorted(set().union(*counted.values()))
    bars = Figure(figsize=(7, 0.5 + 0.32 * len(names)), layout="constrained")
    axes, left = bars.add_subplot(), np.zeros(len(names))
    for part, count in counted.items():
        values = np.array([count[name] for name in names])
        axes.barh(names, values, left=left, label=part)
        left = left + values
    axes.set_xlabel("examples")
    axes.legend(loc="best")
    bars.savefig(folder / "categories.svg")
    histogram = Figure(figsize=(7, 3), layout="constrained")
    axes = histogram.add_subplot()
    lengths = [[len(one.answer) for one in part] for part in parts.values()]
    axes.hist(lengths, bins=40, stacked=True, label=list(parts))
    axes.set_xlabel("characters of an answer")
    axes.set_ylabel("examples")
    axes.legend(loc="best")
    histogram.savefig(folder / "lengths.svg")
