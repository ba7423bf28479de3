"""A profile as a table, and as a page with the roofline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from curta.errors import FileError
from curta.learn.evaluation.intervals import short
from curta.learn.experiment import Experiment
from curta.learn.folder import write
from curta.learn.profile import Profile
from curta.learn.report import plots
from curta.learn.report.parts import description
from curta.pages.html import Html, figure, page, paragraph, section, table
from curta.pages.pictures import COLOURS, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = tuple[str, ...]

PARTS = {
    "data": "drawing a batch of problems and writing them as rows",
    "forward": "the loss of a batch",
    "forward and backward": "the loss and its gradient; what a step has beside is the optimiser",
}


def size_rows(profile: Profile) -> list[Row]:
    """What is computed: name, figure, meaning."""
    line = profile.roofline
    return [
        ("parameters", f"{profile.parameters:,}", "numbers that are trained"),
        ("tokens", f"{profile.tokens:,}", "of a step: rows times their width, fill included"),
        ("device", line.device, "what all of this ran on, one seed at a time"),
        ("arithmetic", f"{line.flops / 1e9:.1f} GFLOP/s", "the best rate of a large product seen"),
        ("memory", f"{line.bandwidth / 1e9:.1f} GB/s", "the best rate of a large copy seen"),
        (
            "ridge",
            f"{line.ridge:.1f} FLOP/byte",
            "programs with fewer operations per byte wait for memory, those with more compute",
        ),
    ]


def step_rows(profile: Profile) -> Iterator[Row]:
    """Name, a figure for each way to compile the step, meaning."""
    steps = profile.steps
    yield (
        "compile time",
        *(f"{step.compile_seconds:.2f} s" for step in steps),
        "from Python to a program, no cache",
    )
    yield (
        "step time",
        *(milliseconds(step.step_seconds) for step in steps),
        "the median of one update of one seed",
    )
    yield (
        "fastest to slowest",
        *(f"{milliseconds(step.spread[0])} to {milliseconds(step.spread[1])}" for step in steps),
        "its spread; other work on the machine shows here",
    )
    yield (
        "steps/s",
        *(short(1 / step.step_seconds) for step in steps),
        "one seed, called from Python step by step",
    )
    yield (
        "memory",
        *(f"{step.peak_bytes / 1e6:.1f} MB" for step in steps),
        "arguments, results and temporary arrays of the program",
    )
    yield (
        "operations",
        *(f"{step.flops / 1e6:.1f} MFLOP" for step in steps),
        "of a step, as XLA counts them where nothing is scanned",
    )
    yield (
        "intensity",
        *(f"{step.intensity:.2f} FLOP/byte" for step in steps),
        "operations per byte read or written, caches included",
    )
    yield (
        "of the roofline",
        *(f"{step.attained(profile.roofline):.0%}" for step in steps),
        "the rate against the best one at this intensity; above 100% caches served the bytes",
    )


def part_rows(profile: Profile) -> list[Row]:
    """Name, time, meaning."""
    return [(name, milliseconds(time), PARTS[name]) for name, time in profile.parts.items()]


def milliseconds(seconds: float) -> str:
    """A short time."""
    return f"{1e3 * seconds:.3g} ms"


def headings(profile: Profile) -> tuple[str, ...]:
    """Above `step_rows`."""
    return ("a step", *(f"{step.name} layers" for step in profile.steps), "")


def write_profile(profile: Profile, experiment: Experiment, out: Path) -> None:
    """The page."""
    sections = [
        section("What was profiled", table((), description(experiment))),
        section("Machine and model", table((), size_rows(profile))),
        section("Training step", table(headings(profile), step_rows(profile))),
        section(
            "Roofline",
            figure(
                roofline(profile),
                "Operations a second over operations per byte. No program lies above the line, "
                "unless its bytes come from caches.",
            ),
        ),
        section(
            "Parts of a step",
            paragraph("Medians; each part is compiled by itself."),
            table((), part_rows(profile)),
            figure(bars(profile), ""),
        ),
    ]
    text = page(f"Profile of {experiment.name}", "Time, memory and arithmetic of a step", sections)
    write_page(out, text)


def write_page(out: Path, text: str) -> None:
    """A page where the user wants it."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write(out, text)
    except OSError as error:
        raise FileError(
            f"{out} cannot be written ({error.strerror}): choose another --output"
        ) from error


def roofline(profile: Profile) -> str:
    """What the machine can do, and where the steps lie below it."""
    line = profile.roofline
    points = [(step.name, step.intensity, step.rate) for step in profile.steps]
    reach = [line.ridge, *(intensity for _, intensity, _ in points)]
    x = np.geomspace(min(reach) / 8, max(reach) * 8, 100)

    def draw(axes: Sequence[Axes]) -> None:
        (ax,) = axes
        ax.plot(x, [line.bound(value) for value in x], color="#8888", lw=1.6)
        for number, (name, intensity, rate) in enumerate(points):
            colour = COLOURS[number]
            ax.plot([intensity], [rate], "o", color=colour, label=name, markersize=5)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("operations per byte")
        ax.set_ylabel("operations a second")
        ax.legend(loc="best", fontsize=8)

    return drawn(draw, 1, (6.4, 3.2))


def bars(profile: Profile) -> Html:
    """The parts beside the whole step."""
    whole = [(f"step, {step.name}", 1e3 * step.step_seconds) for step in profile.steps]
    parts = [(name, 1e3 * time) for name, time in profile.parts.items()]
    return Html(plots.bars([("", "milliseconds", parts + whole)]))
