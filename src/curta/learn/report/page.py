"""The reports: of a run, of a recipe, of runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from curta.learn.evaluation.asked import asked
from curta.learn.folder import RunFolder, write
from curta.learn.recipes.base import Claim
from curta.learn.report import parts
from curta.pages.html import Html, page, paragraph, section, table

if TYPE_CHECKING:
    from curta.learn.runs import RecipeFolder


def write_report(folder: RunFolder) -> None:
    """`report.html` of a run."""
    write(folder.report_file, page(f"Run {folder.name}", about(folder), of_run(folder)))


def about(folder: RunFolder) -> str:
    """The line below the title."""
    experiment, began = folder.experiment, folder.surroundings.get("began", "")
    return f"{experiment.task}, {experiment.format}, {experiment.positions}; begun {began}"


def of_run(folder: RunFolder) -> list[Html]:
    """All sections about one run."""
    measured = folder.all_measured
    return [
        parts.what_was_trained(folder),
        *map(parts.results, measured),
        parts.curves([folder]),
        parts.by_length(measured),
        parts.grids(measured),
        parts.walks(measured),
        parts.errors(folder),
        parts.sample_answers(folder),
        parts.data(folder),
    ]


def write_recipe_report(folder: RecipeFolder) -> None:
    """`report.html` of a recipe: its claims, its experiments side by side, links to each."""
    recipe, runs = folder.recipe, folder.runs
    links = [(Html(f'<a href="{run.name}/report.html">{run.name}</a>'), about(run)) for run in runs]
    sections = [
        section("Experiments", table((), links)),
        claims(folder),
        *side_by_side(runs),
    ]
    title = f"Recipe {recipe.name}, preset {folder.preset}"
    write(folder.path / "report.html", page(title, f"{recipe.about} ({recipe.source})", sections))


def claims(folder: RecipeFolder) -> Html:
    """What was published, and what ours came to."""
    return section(
        "Published and ours",
        paragraph("Means over seeds with 95% intervals."),
        table(
            ("claim", "of", "published", f"ours, preset {folder.preset}", "measured as"),
            [(*compared(folder.runs, claim), claim.measure) for claim in folder.recipe.claims],
        ),
    )


def compared(runs: Sequence[RunFolder], claim: Claim) -> tuple[str, str, str, str]:
    """A claim, which questions it is of, what was published and what ours came to."""
    wanted = next((run for run in runs if run.experiment.name == claim.experiment), None)
    if wanted is None:
        return claim.what, "—", claim.published, "not in this preset"
    figure = claim.figure(wanted.experiment)
    return claim.what, asked(figure, wanted.experiment), claim.published, ours(wanted, figure)


def ours(wanted: RunFolder, figure: str) -> str:
    """A figure, or that there is none."""
    # What other evaluations have beside it may be of other lengths, unless its name says which.
    measured = wanted.all_measured if "@" in figure else [wanted]
    found = next((run.figures for run in measured if figure in run.figures), None)
    return "not measured" if found is None else parts.written(found, figure)


def write_comparison(folders: Sequence[RunFolder], out: Path) -> None:
    """Runs side by side."""
    title = f"{len(folders)} runs compared"
    write(out, page(title, ", ".join(folder.name for folder in folders), side_by_side(folders)))


def side_by_side(folders: Sequence[RunFolder]) -> list[Html]:
    """Sections with a column, a line or a map for each run."""
    measured = [one for folder in folders for one in folder.all_measured]
    return [
        section("Choices", differences(folders)),
        section("Results", comparison(measured)),
        parts.curves(folders),
        parts.by_length(measured),
        parts.grids(measured),
        parts.walks(measured),
    ]


def differences(folders: Sequence[RunFolder]) -> Html:
    """The choices in which the runs differ."""
    from curta.learn.options import choices

    all_choices = [choices(folder.experiment) for folder in folders]
    names = [n for n in all_choices[0] if len({str(given[n]) for given in all_choices}) > 1]
    head = ("option", *(folder.name for folder in folders))
    rows = [(name, *(str(given[name]) for given in all_choices)) for name in names]
    return table(head, rows) or paragraph("All choices are the same.")


def comparison(folders: Sequence[RunFolder]) -> Html:
    """Main figures, and exact match at each length, with a column for each run."""
    figures = [folder.figures for folder in folders]
    every = dict.fromkeys(name for given in figures for name in given)
    names = [
        n
        for n in every
        if n.startswith(("exact.", "exact@", "length@", "solved", "steps@", "reached@", "loss."))
    ]
    names = [n for n in names if "x" not in n.removeprefix("exact")]
    head = ("figure", *(folder.name for folder in folders))
    return table(head, [(name, *(parts.written(f, name) for f in figures)) for name in names])
