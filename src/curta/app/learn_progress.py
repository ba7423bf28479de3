"""How a run is going, on the standard error: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from curta.learn.runs import Listener

if TYPE_CHECKING:
    from rich.progress import TaskID

    from curta.learn.experiment import Experiment
    from curta.learn.folder import RunFolder
    from curta.learn.training.loop import Report

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Shows what a `Listener` hears."""

    def __init__(self) -> None:
        self.name = ""
        self.last_line = 0.0
        self.bar = None
        self.task: TaskID | None = None
        self.listener = Listener(
            begins=self.begins, trains=self.trains, evaluates=self.evaluates, ends=self.ends
        )
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self.bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed:.0f}/{task.total:.0f}"),
                TextColumn("{task.fields[words]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )

    def __enter__(self) -> Progress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def begins(self, folder: RunFolder) -> None:
        """A run begins; compiling comes first, and takes a while."""
        self.name = folder.name
        self.task = None
        steps = folder.experiment.training.steps
        if self.bar is None:
            self.line(f"{self.name}: {steps} steps, in {folder.path}")
        else:
            self.task = self.bar.add_task(self.name, total=steps, words="compiling")

    def trains(self, report: Report, experiment: Experiment) -> None:
        """A chunk of steps is done."""
        steps = experiment.training.steps
        loss = sum(report.loss) / len(report.loss)
        exact = sum(report.exact) / len(report.exact)
        words = f"loss {loss:.4f}  exact {exact:.2%}  {report.steps_per_second:.3g} steps/s"
        self.show(report.step, steps, words)

    def evaluates(self, done: int, total: int) -> None:
        """Some rows are judged."""
        if self.bar is not None and self.task is not None and self.bar.tasks[-1].total != total:
            self.task = self.bar.add_task(f"{self.name} evaluation", total=total, words="")
        self.show(done, total, "evaluated")

    def ends(self, folder: RunFolder) -> None:
        """A run is over."""
        self.task = None

    def show(self, done: int, total: int, words: str) -> None:
        """On the bar, or as a line if the last one is a while ago or this is the end."""
        if self.bar is not None:
            if self.task is None:
                self.task = self.bar.add_task(self.name, total=total, words="")
            self.bar.update(self.task, completed=done, total=total, words=words)
        elif done == total or time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.line(f"{self.name}: {done}/{total} {words}")

    def line(self, words: str) -> None:
        """One line, at once."""
        self.last_line = time.monotonic()
        print(words, file=sys.stderr, flush=True)
