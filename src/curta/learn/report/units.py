"""The benchmark of arithmetic units as a page."""

from __future__ import annotations

import io
from pathlib import Path

from curta.learn.recipes.units import SOURCE, Table
from curta.learn.report.profile import write_page
from curta.learn.units.benchmark import UnitResult
from curta.learn.units.published import PUBLISHED_RATES
from curta.learn.units.report import HEAD, plot, row
from curta.pages import pictures
from curta.pages.html import Html, figure, page, paragraph, section, table

WORDS = (
    "A seed succeeds if its error far outside of the trained range is below that of a nearly exact "
    "solution. Success rates have Wilson's 95% intervals; solved at is the mean step of the first "
    "success, with a gamma interval; error/threshold is the median over seeds, below 1 where most "
    "succeed. Published rates are of 100 seeds, 100 inputs and 5,000,000 steps; "
    "where they lie outside of our interval, the table says on which side ours is."
)


def write_units(tables: list[Table], preset: str, seed: int, out: Path) -> None:
    """A table and a picture of each benchmark."""
    sections = [section("What is counted", paragraph(WORDS))]
    for title, results in tables:
        first = results[0]
        sections.append(
            section(
                title.capitalize(),
                paragraph(f"{first.seeds} seeds, {first.steps:,} steps."),
                figure(picture(results), ""),
                table(HEAD, [row(result) for result in results]),
            )
        )
    write_page(out, page(f"Arithmetic units, preset {preset}, seed {seed}", SOURCE, sections))


def picture(results: list[UnitResult]) -> Html:
    """Success rates, in the style of the pages."""
    with pictures.style():
        drawn = plot(results)
        drawn.patch.set_alpha(0)
        for ax in drawn.axes:
            ax.patch.set_alpha(0)
        if any((result.unit, result.operation) in PUBLISHED_RATES for result in results):
            drawn.axes[0].legend(loc="best", fontsize=7)
        file = io.StringIO()
        drawn.savefig(file, format="svg", metadata={"Date": None})
    return Html(pictures.embedded(file.getvalue()))
