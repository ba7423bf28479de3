"""Ask all systems all questions.

Systems that differ only in what computes their calls are not generated twice where that is
provably the same: greedy decoding is a function of the tokens so far, so an answer stays what it
is if the other backend would have put the same text behind each of its calls. That is asked of
the backend, call by call; all other questions are generated again.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence

from curta.delegate.evaluation.record import Answer, Answers, Config, Folder, answer_of
from curta.delegate.evaluation.suites import Question
from curta.delegate.evaluation.systems import Open, System, Writes

Listener = Callable[[str, int, int], None]
"""Hears how many of all questions a system has answered."""


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
    """One batch."""
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
