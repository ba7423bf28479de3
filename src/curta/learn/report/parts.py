"""What reports are made of: sections about one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np

from curta.learn.evaluation.intervals import short
from curta.learn.experiment import Experiment
from curta.learn.folder import RunFolder
from curta.learn.options import described_changes
from curta.learn.report import plots
from curta.learn.report.plots import Series
from curta.pages.html import (
    Html,
    details,
    figure,
    heading,
    paragraph,
    section,
    table,
    text,
    tokens,
)

MAIN = (
    "exact.", "loss.", "token.", "perplexity.", "length@", "solved_seeds", "steps@", "reached@",
)  # fmt: skip
"""Figures that are shown at once; the others can be opened."""

POINTS = 400
"""The most points that a curve is drawn with."""


def written(figures: Mapping[str, Any], name: str) -> str:
    """A figure with its interval, or a dash."""
    given = figures.get(name)
    if given is None:
        return "–"
    if given["low"] == given["high"]:
        return short(given["value"])
    return f"{short(given['value'])} [{short(given['low'])}, {short(given['high'])}]"


def what_was_trained(folder: RunFolder) -> Html:
    """In words and in a table."""
    experiment, around = folder.experiment, folder.surroundings
    evaluation = folder.evaluation or {}
    lines = folder.metrics
    rows: list[tuple[str, str]] = list(description(experiment))
    if "parameters" in evaluation:
        rows.append(("parameters", f"{evaluation['parameters']:,}"))
    if lines:
        last = lines[-1]
        rate = median(line["steps_per_second"] for line in lines)
        rows.append(
            ("trained", f"{last['step']:,} steps in {last['seconds']:.0f} s, median {rate:.3g}/s")
        )
    versions = ", ".join(f"{n} {v}" for n, v in around.get("versions", {}).items() if v)
    rows.append(("on", f"{around.get('machine', '?')}, {around.get('device', '?')}; {versions}"))
    return section(
        "What was trained",
        table((), rows),
        details("all options", Html(f"<pre>{text(experiment.to_json())}</pre>")),
    )


def description(experiment: Experiment) -> list[tuple[str, str]]:
    """An experiment in readable lines."""
    model, data, how = experiment.model, experiment.sampling, experiment.training
    drawn = (
        f"operands from {data.values[0]} to {data.values[1]}"
        if data.values
        else f"operands of {data.digits[0]} to {data.digits[1]} digits"
    )
    loops = f", applied {model.loops} times" if model.loops > 1 else ""
    seeds = range(how.seed, how.seed + how.seeds)
    return [
        ("task", f"{experiment.task}, format {experiment.format}"),
        ("positions", experiment.positions),
        (
            "model",
            f"{model.layers} layers of width {model.width}{loops}, {model.heads} heads, "
            f"feed-forward {model.feedforward}",
        ),
        ("data", f"{drawn}; {data.test_share:.0%} of all problems kept for the test"),
        (
            "training",
            f"{how.steps:,} steps of {how.batch} rows, {how.optimiser}, learning rate "
            f"{how.learning_rate:g} ({how.schedule}), loss over {how.loss}",
        ),
        ("seeds", ", ".join(map(str, seeds))),
        ("differs from the defaults in", described_changes(experiment) or "nothing"),
    ]


def results(folder: RunFolder) -> Html:
    """The figures, the main ones at once."""
    evaluation, title = folder.evaluation, f"Results {folder.measured}".strip()
    if evaluation is None:
        return section(title, paragraph("Not evaluated yet."))
    figures = evaluation["summary"]
    main = {n: f for n, f in figures.items() if n.startswith(MAIN)}
    rest = {n: f for n, f in figures.items() if n not in main and not n.startswith("walk.")}
    count = len(evaluation["seeds"])
    return section(
        title,
        paragraph(
            f"Means over {count} seed{'s' if count != 1 else ''} with 95% intervals: t over seeds, "
            "for shares at least as wide as Wilson's over the different questions among the "
            "samples (fewer where some were asked more often than others); success rates by Wilson."
        ),
        paragraph(kept_from_training(folder.experiment)),
        unmeasured(evaluation),
        figure_table(main),
        details("all figures", figure_table(rest)),
    )


def kept_from_training(experiment: Experiment) -> str:
    """Which figures are of problems that training never drew."""
    if not experiment.sampling.test_share:
        return (
            "No problem is kept from training: figures of trained lengths are of problems that "
            "training draws as well."
        )
    return (
        f"{experiment.sampling.test_share:.0%} of all problems, chosen by a hash of the question, "
        "are never trained on; test figures, and those of trained lengths, are of these."
    )


def unmeasured(evaluation: Mapping[str, Any]) -> Html:
    """Lengths that nothing is known about: all of their few problems belong to training."""
    empty = [cell["sizes"] for cell in evaluation["cells"] if not cell["samples"]]
    if not empty:
        return Html("")
    lengths = ", ".join(" and ".join(map(str, sizes)) for sizes in empty)
    return paragraph(
        f"No problem to test with was found among operands of these digits: {lengths}."
    )


def figure_table(figures: Mapping[str, Any]) -> Html:
    """Name, mean with interval, median, seeds."""
    return table(
        ("figure", "mean [95%]", "median", "each seed", "interval"),
        [
            (
                name,
                written(figures, name),
                short(one["median"]),
                " ".join(short(seed) for seed in one["seeds"]),
                one["interval"],
            )
            for name, one in figures.items()
        ],
    )


def curves(folders: Sequence[RunFolder]) -> Html:
    """Loss and exact match while training: median over seeds, the band from least to most."""
    panels: list[tuple[str, str, list[Series]]] = [
        ("step", "loss", []),
        ("step", "exact match in training", []),
    ]
    for folder in folders:
        lines = folder.metrics
        lines = lines[:: max(1, len(lines) // POINTS)]
        for (_, _, series), name in zip(panels, ("loss", "exact"), strict=True):
            if lines:
                series.append(curve(folder.name, lines, name, each=len(folders) == 1))
    svg = plots.lines(panels, logarithmic=(True, False))
    return section(
        "Learning curves",
        figure(svg, "Median over seeds; the band goes from the lowest seed to the highest."),
    )


def curve(label: str, lines: list[dict[str, Any]], name: str, *, each: bool) -> Series:
    """One line of a learning curve."""
    values = np.array([line[name] for line in lines])
    many = values.shape[1] > 1
    return Series(
        label=label,
        x=[line["step"] for line in lines],
        y=list(np.median(values, axis=1)),
        low=list(values.min(axis=1)) if many else (),
        high=list(values.max(axis=1)) if many else (),
        each=values.T.tolist() if each and many else (),
    )


def by_length(folders: Sequence[RunFolder]) -> Html:
    """Exact match of operands of equal length, with intervals."""
    series, trained = [], None
    for folder in folders:
        evaluation = folder.evaluation
        if evaluation is None:
            continue
        for index, loops in enumerate(evaluation["loops"]):
            alone = len(evaluation["loops"]) == 1
            label = folder.name if alone else f"{folder.name}, {loops} loops"
            if len(folders) == 1:
                label = f"{loops} loops"
            series.append(diagonal(evaluation, index, label))
        trained = trained or trained_range(evaluation)
    series = [one for one in series if len(one.x)]
    panel = ("digits of each operand", "exact match", series)
    svg = plots.lines([panel], shaded=trained, shares=True)
    return section(
        "Exact match by length",
        figure(svg, "Mean over seeds with 95% intervals; the trained lengths are shaded."),
    )


def diagonal(evaluation: Mapping[str, Any], index: int, label: str) -> Series:
    """Cells whose operands are all of one length."""
    cells = [
        cell for cell in evaluation["cells"] if cell["samples"] and len(set(cell["sizes"])) == 1
    ]
    cells.sort(key=lambda cell: cell["sizes"][0])
    shares = [cell["exact"][index] for cell in cells]
    return Series(
        label=label,
        x=[cell["sizes"][0] for cell in cells],
        y=[share["value"] for share in shares],
        low=[share["low"] for share in shares],
        high=[share["high"] for share in shares],
    )


def trained_range(evaluation: Mapping[str, Any]) -> tuple[int, int] | None:
    """From the shortest length that was trained to the longest."""
    sizes = [size for cell in evaluation["cells"] if cell["trained"] for size in cell["sizes"]]
    return (min(sizes), max(sizes)) if sizes else None


def grids(folders: Sequence[RunFolder]) -> Html:
    """Heatmaps, where all pairs of lengths were measured."""
    parts = []
    for folder in folders:
        evaluation = folder.evaluation
        if evaluation is None or not is_grid(evaluation):
            continue
        digits = sorted({size for cell in evaluation["cells"] for size in cell["sizes"]})
        maps = [
            (f"{loops} loops" if len(evaluation["loops"]) > 1 else "", grid(evaluation, index))
            for index, loops in enumerate(evaluation["loops"])
        ]
        rows = [maps[start : start + 3] for start in range(0, len(maps), 3)]
        if len(folders) > 1:
            parts.append(heading(folder.name))
        trained = trained_range(evaluation)
        parts += [figure(plots.heatmaps(row, digits, trained), "") for row in rows]
    return section("Exact match by the lengths of both operands", *parts)


def is_grid(evaluation: Mapping[str, Any]) -> bool:
    """Whether there are cells off the diagonal."""
    return any(len(cell["sizes"]) == 2 and len(set(cell["sizes"])) == 2
               for cell in evaluation["cells"])  # fmt: skip


def grid(evaluation: Mapping[str, Any], index: int) -> np.ndarray:
    """Shares by the digits of a (rows) and b (columns)."""
    digits = sorted({size for cell in evaluation["cells"] for size in cell["sizes"]})
    values = np.full((len(digits), len(digits)), np.nan)
    for cell in evaluation["cells"]:
        if cell["samples"]:
            row, column = (digits.index(size) for size in cell["sizes"])
            values[row, column] = cell["exact"][index]["value"]
    return values


def errors(folder: RunFolder) -> Html:
    """Where answers go wrong, and with how many carries."""
    evaluation = folder.evaluation
    if evaluation is None:
        return Html("")
    own = evaluation["loops"].index(evaluation["own_loops"])
    parts = []
    for name, found in evaluation["errors"].items():
        places = list(zip(map(str, found["place"]), found["place_wrong"][own], strict=True))
        carries = list(zip(map(str, found["carries"]), found["carries_exact"][own], strict=True))
        parts.append(heading({"trained": "trained lengths", "longer": "longer ones"}.get(
            name, "operands outside of the trained range")))  # fmt: skip
        svg = plots.bars(
            [
                ("tokens before the end of the answer", "share that is wrong", places),
                ("carries", "exact match", carries),
            ]
        )
        parts.append(figure(svg, "Each token behind the right ones before it; 0 is the end token."))
    return section("Errors", *parts)


def walks(folders: Sequence[RunFolder]) -> Html:
    """Operations by rows, lengths of numbers by columns."""
    parts = []
    for folder in folders:
        evaluation = folder.evaluation or {}
        cells = evaluation.get("walks", [])
        if not cells:
            continue
        operations = dict.fromkeys(cell["operation"] for cell in cells)
        lengths = sorted({cell["digits"] for cell in cells})
        figures = evaluation["summary"]
        rows = [
            (one, *(written(figures, f"walk.{one}@{length}") for length in lengths))
            for one in operations
        ]
        if len(folders) > 1:
            parts.append(heading(folder.name))
        head = ("steps by the model, bookkeeping outside", *(f"{n} digits" for n in lengths))
        parts.append(table(head, rows))
        steps = fmean(step for cell in cells for step in cell["steps"]) / cells[0]["samples"]
        parts.append(paragraph(f"{cells[0]['samples']} of each, of {steps:,.0f} steps on average."))
    if not parts:
        return Html("")
    words = (
        "Long numbers, each step asked of the model: the share of results that are exactly right. "
        "Which symbols a step is asked with, and where its result goes, is the walk's bookkeeping: "
        "code outside of the model, that makes no mistakes."
    )
    return section("Walks", paragraph(words), *parts)


def sample_answers(folder: RunFolder) -> Html:
    """Answers, right and wrong."""
    evaluation = folder.evaluation
    if evaluation is None:
        return Html("")
    rows = [
        (
            sample["kind"],
            tokens(sample["prompt"]),
            tokens(sample["said"], right=sample["exact"]),
            "" if sample["exact"] else tokens(sample["right"]),
        )
        for sample in evaluation["samples"]
    ]
    right = fmean(sample["exact"] for sample in evaluation["samples"]) if rows else 0
    return section(
        "Answers",
        paragraph(f"Of the first seed, decoded greedily; {right:.0%} of these are right."),
        table(("from", "question", "said", "right would be"), rows),
    )


def data(folder: RunFolder) -> Html:
    """What the training data is like."""
    evaluation = folder.evaluation
    if evaluation is None or not evaluation["data"]:
        return Html("")
    counts = evaluation["data"]
    svg = plots.bars(
        [
            (
                "digits of a number in the question",
                "numbers",
                list(counts["number_digits"].items()),
            ),
            ("tokens of a row", "rows", list(counts["row_tokens"].items())),
            ("carries of a+b", "rows", list(counts["carries"].items())),
        ]
    )
    return section(
        "Data",
        paragraph(
            f"{counts['problems']} problems as training draws them, in rows of {counts['width']} "
            "tokens."
        ),
        figure(svg, ""),
    )
