"""Ask all systems all questions; the folder holds what was asked of whom, and answers as they came.

`config.json` holds systems and options, `questions.jsonl` the questions, `answers.jsonl` a line
for each answer. A killed evaluation goes on from there, if it is the same evaluation.

Systems that differ only in what computes their calls are not generated twice where that is
provably the same: greedy decoding is a function of the tokens so far, so an answer stays what it
is if the other backend would have put the same text behind each of its calls. That is asked of
the backend, call by call; all other questions are generated again.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.delegate.data.example import PROTOCOL
from curta.delegate.evaluation.suites import Question
from curta.delegate.evaluation.systems import Open, System, Writes
from curta.delegate.interception.events import CallResult, Outcome, calculation
from curta.errors import DataError

if TYPE_CHECKING:
    from curta.delegate.interception.generator import Output

Listener = Callable[[str, int, int], None]
"""Hears how many of all questions a system has answered."""


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


def call_of(call: Outcome) -> Call:
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


def evaluate(
    config: Config,
    questions: Sequence[Question],
    folder: Folder,
    opened: Open,
    *,
    on_progress: Listener = lambda system, done, total: None,
) -> Answers:
    """The answers of all systems; those that are in the folder already are not asked for again.
    Batches are the same if it was killed before.
    """
    folder.begin(config, questions)
    answers = folder.answers()
    for number, system in enumerate(config.systems):
        source = source_of(system, config.systems[:number])
        if source is not None:
            answers |= folder.append(same_answers(system, source, questions, answers))
        generated = [
            one
            for one in questions
            if (given := answers.get((system.name, one.name))) is None or given.source is None
        ]
        write: Writes | None = None
        for batch in batches(generated, config.batch):
            if any((system.name, one.name) not in answers for one in batch):
                write = write or opened(system)
                answers |= folder.append(generate(system, batch, write))
            done = sum(one == system.name for one, _ in answers)
            on_progress(system.name, done, len(questions))
    return answers


def source_of(system: System, before: Sequence[System]) -> System | None:
    """A system before this one that differs in the backend only."""
    if system.backend is None:
        return None
    alike = (one for one in before if (one.weights, one.format) == (system.weights, system.format))
    return next((one for one in alike if one.backend is not None), None)


def same_answers(
    system: System, source: System, questions: Sequence[Question], answers: Answers
) -> Iterator[Answer]:
    """Answers of the source that this system provably gives too."""
    for question in questions:
        there = answers[source.name, question.name]
        if (system.name, question.name) not in answers and all(
            system.injected(call.expression) == source.injected(call.expression)
            for call in there.calls
        ):
            yield dataclasses.replace(there, system=system.name, source=source.name, seconds=0.0)


def generate(system: System, batch: Sequence[Question], write: Writes) -> list[Answer]:
    begun = time.perf_counter()
    outputs = write([question.text for question in batch])
    seconds = (time.perf_counter() - begun) / len(batch)
    return [
        answer_of(output, system, question, seconds=seconds)
        for question, output in zip(batch, outputs, strict=True)
    ]


def batches(questions: Sequence[Question], size: int) -> Iterator[list[Question]]:
    """Questions of like length together, the longest first."""
    ordered = sorted(questions, key=lambda one: (-len(one.text), one.name))
    for begin in range(0, len(ordered), size):
        yield ordered[begin : begin + size]
