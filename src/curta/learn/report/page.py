"""The reports: of a run, of a recipe, of runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from curta.learn.folder import RunFolder, write
from curta.learn.report import parts
from curta.pages.html import Html, page, paragraph, section, table

if TYPE_CHECKING:
    from curta.learn.runs import RecipeFolder

COMPARED = ("exact.test", "exact.ood", "exact.trained", "exact.longer", "length@0.95", "loss.test")


def write_report(folder: RunFolder) -> None:
    """`report.html` of a run."""
    write(folder.report_file, page(f"Run {folder.name}", about(folder), of_run(folder)))


def about(folder: RunFolder) -> str:
    """The line below the title."""
    experiment, began = folder.experiment, folder.surroundings.get("began", "")
    return f"{experiment.task}, {experiment.format}, {experiment.positions}; begun {began}"


def of_run(folder: RunFolder) -> list[Html]:
    """All sections about one run."""
    return [
        parts.what_was_trained(folder),
        parts.results(folder),
        parts.curves([folder]),
        parts.by_length([folder]),
        parts.grids([folder]),
        parts.walks([folder]),
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
            ("claim", "published", f"ours, preset {folder.preset}", "measured as"),
            [
                (claim.what, claim.published, ours(folder.runs, claim.measure), claim.measure)
                for claim in folder.recipe.claims
            ],
        ),
    )


def ours(runs: Sequence[RunFolder], measure: str) -> str:
    """A figure of one experiment (`name:figure`), or of each that has it; or why there is none."""
    name, colon, figure = measure.rpartition(":")
    wanted = [run for run in runs if not colon or run.experiment.name == name]
    if not wanted:
        return "not in this preset"
    found = [(run, (run.evaluation or {}).get("summary", {})) for run in wanted]
    values = [(run, parts.written(given, figure)) for run, given in found if figure in given]
    if not values:
        return "not measured"
    if colon or len(runs) == 1:
        return values[0][1]
    return "; ".join(f"{run.experiment.name} {value}" for run, value in values)


def write_comparison(folders: Sequence[RunFolder], out: Path) -> None:
    """Runs side by side."""
    title = f"{len(folders)} runs compared"
    write(out, page(title, ", ".join(folder.name for folder in folders), side_by_side(folders)))


def side_by_side(folders: Sequence[RunFolder]) -> list[Html]:
    """Sections with a column, a line or a map for each run."""
    return [
        section("Choices", differences(folders)),
        section("Results", comparison(folders)),
        parts.curves(folders),
        parts.by_length(folders),
        parts.grids(folders),
        parts.walks(folders),
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
    figures = [(folder.evaluation or {}).get("summary", {}) for folder in folders]
    every = dict.fromkeys(name for given in figures for name in given)
    names = [n for n in every if n in COMPARED or n.startswith(("exact@", "solved", "loss."))]
    names = [n for n in names if "x" not in n.removeprefix("exact")]
    head = ("figure", *(folder.name for folder in folders))
    return table(head, [(name, *(parts.written(f, name) for f in figures)) for name in names])
