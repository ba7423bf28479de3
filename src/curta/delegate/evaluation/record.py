"""An evaluation's folder: what was asked of whom, and the answers as they came.

`config.json` holds systems and options, `questions.jsonl` the questions, `answers.jsonl` a line
for each answer. A killed evaluation goes on from there, if it is the same evaluation.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.delegate.data.example import PROTOCOL
from curta.delegate.evaluation.suites import Question
from curta.delegate.interception.events import CallRejected, CallResult, calculation
from curta.errors import DataError

if TYPE_CHECKING:
    from curta.delegate.evaluation.systems import System
    from curta.delegate.interception.generator import Output


@dataclass(frozen=True)
class Call:
    """A call that a model began.

    closed: whether it came to its end, so that it was evaluated
    answer: what it was answered; nothing if it has no result
    error:  what it was told instead of a result, in a word or two
    """

    expression: str
    closed: bool
    answer: str | None
    microseconds: float = 0.0
    error: str | None = None

    def failed(self, wanted: str | None) -> bool:
        """Whether it came to nothing that was asked for: an error may be the right answer."""
        return self.answer is None and (self.error is None or self.error != wanted)


@dataclass(frozen=True)
class Answer:
    """What a system said to a question.

    text:    calls in it are written as in the data, whatever markers the model has
    tokens:  of the answer, results of calls among them
    seconds: its share of the time that its batch took
    ended:   whether the model ended it; not so if it used all the tokens that it might
    source:  another system that was shown to say the same; nothing if it was generated
    """

    system: str
    question: str
    text: str
    calls: tuple[Call, ...]
    tokens: int
    seconds: float
    ended: bool
    source: str | None = None


Answers = dict[tuple[str, str], Answer]
"""By the names of system and question."""


def answer_of(output: Output, system: System, question: Question, *, seconds: float) -> Answer:
    """A generated output as it is kept."""
    return Answer(
        system.name,
        question.name,
        output.written(PROTOCOL),
        tuple(map(call_of, output.calls)),
        output.tokens,
        seconds,
        output.ended,
    )


def call_of(call: CallResult | CallRejected) -> Call:
    """A call as it is kept."""
    expression = calculation(call)
    if isinstance(call, CallResult):
        return Call(expression, True, call.answer, call.microseconds)
    brief = getattr(call.error, "brief", None)
    return Call(expression, call.error is not None, None, call.microseconds, brief)


@dataclass(frozen=True)
class Config:
    """What an evaluation is; a folder holds one."""

    systems: tuple[System, ...]
    max_new_tokens: int
    batch: int
    seed: int = 0


@dataclass(frozen=True)
class Folder:
    """Where an evaluation lies."""

    path: Path

    @property
    def answers_file(self) -> Path:
        """A line for each answer."""
        return self.path / "answers.jsonl"

    @property
    def report_file(self) -> Path:
        """The page."""
        return self.path / "report.html"

    def begin(self, config: Config, questions: Sequence[Question]) -> None:
        """Write down what the evaluation is, or see that it is the one that lies here."""
        contents = {
            "config.json": json.dumps(dataclasses.asdict(config), indent=1) + "\n",
            "questions.jsonl": lines(questions),
        }
        for name, written in contents.items():
            file = self.path / name
            if file.is_file() and file.read_text("utf-8") != written:
                raise DataError(
                    f"--out {self.path}: another evaluation lies there ({name} differs): choose "
                    "another folder, or give the same options"
                )
        others = self.path.exists() and not (self.path / "config.json").is_file()
        if others and (not self.path.is_dir() or any(self.path.iterdir())):
            raise DataError(f"--out {self.path}: something else lies there: choose another folder")
        self.path.mkdir(parents=True, exist_ok=True)
        for name, written in contents.items():
            (self.path / name).write_text(written, encoding="utf-8")

    def append(self, answers: Iterable[Answer]) -> Answers:
        """Keep answers, all in one go."""
        kept = by_names(answers)
        with self.answers_file.open("a", encoding="utf-8") as file:
            file.write(lines(kept.values()))
        return kept

    def answers(self) -> Answers:
        """All that were kept. A last line that was cut off is taken away."""
        if not self.answers_file.is_file():
            return {}
        whole, _, rest = self.answers_file.read_text("utf-8").rpartition("\n")
        if rest:
            self.answers_file.write_text(whole + "\n" if whole else "", encoding="utf-8")
        rows = (json.loads(line) for line in whole.split("\n") if line)
        return by_names(
            Answer(**row | {"calls": tuple(Call(**call) for call in row["calls"])}) for row in rows
        )


def by_names(answers: Iterable[Answer]) -> Answers:
    """Answers by the names of system and question."""
    return {(one.system, one.question): one for one in answers}


def lines(rows: Iterable[Any]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(dataclasses.asdict(one), ensure_ascii=False) + "\n" for one in rows)
