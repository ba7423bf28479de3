"""Many runs that differ in some options: every combination, or random ones.

[base]                          # options of all runs
task = "addition"
steps = 500

[grid]                          # every combination
positions = ["abacus", "rope"]
width = [32, 64]

[random]                        # or instead, so many at random
runs = 10
seed = 0
width = [32, 64]                                        # one of these
learning_rate = {low = 1e-4, high = 1e-2, log = true}   # from a range
"""

from __future__ import annotations

import itertools
import math
import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.errors import ExperimentError
from curta.learn import cluster as through_ray
from curta.learn import runs
from curta.learn.experiment import Experiment
from curta.learn.folder import RunFolder, make, safe
from curta.learn.options import with_options
from curta.learn.runs import Listener
from curta.options import shown


@dataclass(frozen=True)
class SweepPlan:
    """The experiments of a sweep, each named by what is different about it."""

    experiments: tuple[Experiment, ...]


def read(file: Path) -> SweepPlan:
    """The experiments that a TOML file describes, all of them checked."""
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExperimentError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{file}: not TOML ({error})") from error
    unknown = [name for name in given if name not in ("base", "grid", "random")]
    if unknown:
        raise ExperimentError(f"{file}: [{unknown[0]}] is none of [base], [grid] and [random]")
    if ("grid" in given) == ("random" in given):
        raise ExperimentError(f"{file}: write either [grid] or [random], to say what varies")
    combine = grid if "grid" in given else drawn
    combinations = combine(given["grid"] if "grid" in given else given["random"], file)
    different = [one for at, one in enumerate(combinations) if one not in combinations[:at]]
    return plan(given.get("base", {}), different)


def plan(base: Mapping[str, Any], combinations: list[dict[str, Any]]) -> SweepPlan:
    """An experiment for each combination, on top of the base."""
    experiments = []
    for changes in combinations:
        name = " ".join(f"{option}={short(value)}" for option, value in changes.items())
        made = with_options(Experiment(), {**base, **changes, "name": name or "sweep"})
        runs.check(made)
        experiments.append(made)
    return SweepPlan(tuple(experiments))


def short(value: Any) -> str:
    """A value as part of a name."""
    return f"{value:.3g}" if isinstance(value, float) else shown(value)


def grid(given: Mapping[str, Any], file: Path) -> list[dict[str, Any]]:
    """Every combination, the last option changing fastest."""
    if not given:
        raise ExperimentError(f"{file}: [grid] is empty: name options, each with a list of values")
    for name, values in given.items():
        if not isinstance(values, list) or not values:
            raise ExperimentError(f"{file}: [grid] {name} = {values!r}: write a list of values")
    return [dict(zip(given, values, strict=True)) for values in itertools.product(*given.values())]


def drawn(given: Mapping[str, Any], file: Path) -> list[dict[str, Any]]:
    """So many combinations at random."""
    ranges = {name: value for name, value in given.items() if name not in ("runs", "seed")}
    count, generator = given.get("runs"), random.Random(given.get("seed", 0))
    if not ranges:
        raise ExperimentError(f"{file}: [random] names no option: say what varies")
    if not isinstance(count, int) or count < 1:
        raise ExperimentError(f"{file}: [random] runs = {count!r}: say how many, at least 1")
    return [
        {name: value(generator, name, among, file) for name, among in ranges.items()}
        for _ in range(count)
    ]


def value(generator: random.Random, name: str, among: Any, file: Path) -> Any:
    """One of a list, or from a range; whole if both ends are."""
    if isinstance(among, list) and among:
        return generator.choice(among)
    if not isinstance(among, dict) or not {"low", "high"} <= set(among) <= {"low", "high", "log"}:
        raise ExperimentError(
            f"{file}: [random] {name} = {among!r}: write a list, or {{low = , high = , log = }}"
        )
    low, high, logarithmic = among["low"], among["high"], among.get("log", False)
    if not low <= high or (logarithmic and low <= 0):
        raise ExperimentError(f"{file}: [random] {name}: from {low} to {high} is not a range")
    if logarithmic:
        found = math.exp(generator.uniform(math.log(low), math.log(high)))
    else:
        found = generator.uniform(low, high)
    if isinstance(low, int) and isinstance(high, int):
        return min(max(round(found), low), high)
    return min(max(found, float(low)), float(high))


def run(
    plan: SweepPlan, path: Path, listener: Listener | None = None, *, cluster: bool = False
) -> None:
    """One after the other, or all at once through Ray; what is done already is left as it is."""
    from curta.learn.report.page import write_comparison

    if cluster:
        through_ray.check()
    make(path)
    folders = [folder_of(path, number, one) for number, one in enumerate(plan.experiments, 1)]
    if cluster:
        through_ray.run(folders, listener or Listener())
    else:
        for folder in folders:
            runs.run(folder, listener)
    write_comparison(folders, path / "report.html")


def folder_of(path: Path, number: int, experiment: Experiment) -> RunFolder:
    """The folder of a run, as it is if it is there already."""
    place = path / f"{number:03}-{safe(experiment.name)[:80]}"
    if not (place / "experiment.json").is_file():
        return RunFolder.create(place, experiment)
    folder = RunFolder.open(place)
    if folder.experiment != experiment:
        raise ExperimentError(f"{place} is a run of another experiment: choose another --out")
    return folder


def table(path: Path) -> str:
    """What the runs came to, best first."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from curta.learn.evaluation.summary import HARDEST, main_figures
    from curta.learn.report.parts import written

    found = [(folder, folder.figures) for folder in runs.runs_in(path)]
    names = list(dict.fromkeys(name for _, figures in found for name in main_figures(figures)))
    hardest = next((f"exact.{n}" for n in HARDEST if f"exact.{n}" in names), None)
    if hardest is not None:
        found.sort(key=lambda pair: -pair[1].get(hardest, {"value": 0})["value"])
    shown_table = Table("run", *names, box=box.SIMPLE)
    for folder, figures in found:
        shown_table.add_row(folder.name, *(written(figures, name) for name in names))
    console = Console(width=200, no_color=True)
    with console.capture() as capture:
        console.print(shown_table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
