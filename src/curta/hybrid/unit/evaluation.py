"""A unit beside other systems, on the same questions, by what `delegate` has for evaluating.

A question that a unit routes is recorded with a call, which nobody sees in its answer; so a false
route is a false call, and verdicts, comparisons and pages are those of `delegate`. Questions are of
wordings that training had (with numbers drawn anew) and of wordings that it did not have. Which of
them a question is of decides its luck, so intervals here come from drawing *wordings* again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from curta.delegate.data.example import PROTOCOL
from curta.delegate.evaluation.figures import Figures
from curta.delegate.evaluation.report import write_report
from curta.delegate.evaluation.running import Config, Folder, Listener, evaluate
from curta.delegate.evaluation.suites import NEGATIVES, Question
from curta.delegate.evaluation.systems import (
    System,
    Writes,
    digest,
    generator,
    named,
    opener,
    writer,
)  # fmt: skip
from curta.delegate.interception.events import CallStarted, TextDelta
from curta.delegate.interception.generator import Output
from curta.errors import DataError
from curta.hybrid.unit import questions as drawn
from curta.hybrid.unit.config import Asking
from curta.hybrid.unit.model import ABOUT, Routes, UnitModel, is_unit

SUITES: dict[str, tuple[drawn.Split, drawn.Kind]] = {
    "seen": ("train", "wordings"),
    "held out": ("test", "wordings"),
    "stories seen": ("train", "problems"),
    "stories held out": ("test", "problems"),
    NEGATIVES: ("test", "others"),
    "beyond": ("test", "beyond"),
}
"""Which split of which kind of wording; in the last two nothing should fire."""

SEED = "evaluation"
"""Of the numbers; those of training have another one."""


def asked(counts: dict[str, int]) -> list[Question]:
    """So many questions of each suite."""
    found = []
    for suite, count in counts.items():
        split, kind = SUITES[suite]
        for number, one in enumerate(drawn.questions(split, kind, count, SEED)):
            operation = one.wording.operation
            category = operation.program if operation else kind
            wording = one.wording.name
            name = f"{suite}/{wording}/{number}"
            found.append(Question(name, suite, one.text, one.value, category, wording))
    return found


def unit(folder: str, model: str, origin: str | None) -> System:
    """A unit as one of the systems, `FOLDER` or `NAME=FOLDER`."""
    name, place = named("--unit", folder, ABOUT)
    return System(name, model, place, None, digest(place, "*.safetensors"), origin)


def opened(
    system: System, max_new_tokens: int, device: str | None, *, routes_alone: bool
) -> Writes:
    """A unit, perhaps asked for its routes only; or any other system, as `delegate` opens it."""
    if system.adapter is None or not is_unit(Path(system.adapter)):
        return opener(max_new_tokens, device)(system)
    model = UnitModel.from_pretrained(system.model, unit=system.adapter, device=device)
    return unit_writer(model, 1 if routes_alone else max_new_tokens)


def unit_writer(model: UnitModel, max_new_tokens: int) -> Writes:
    """Answers as `delegate` has them written, behind what was computed and not said."""
    generating = generator(model, model.tokenizer, None)

    def write(questions: Sequence[str]) -> list[Output]:
        routes: Routes = []
        outputs = writer(generating, max_new_tokens, on_routes=routes.extend)(questions)
        for row, call in enumerate(routes):
            if call is not None:
                shown = CallStarted(PROTOCOL.open), call, TextDelta("\n")
                outputs[row] = replace(outputs[row], events=(*shown, *outputs[row].events))
        return outputs

    return write


def compare(
    systems: Sequence[System], asking: Asking, folder: Path, batch: int, max_new_tokens: int,
    device: str | None, *, opened: Callable[..., Writes] = opened, on_progress: Listener,
) -> dict[Path, Figures]:  # fmt: skip
    """Questions are asked of all systems, other texts of those that compute something; what came of
    it, by the page that shows it.
    """
    if not systems:
        raise DataError("there is nobody to ask: give --unit, --adapter, --inline or --untrained")
    texts = {NEGATIVES: asking.texts, "beyond": asking.beyond}
    computing = [each for each in systems if each.backend or is_unit(Path(each.adapter or ""))]
    found: dict[Path, Figures] = {}
    for name, those, counts in (
        ("questions", systems, asking.questions), ("texts", computing, texts)
    ):  # fmt: skip
        questions = asked(counts)
        if not those or not questions:
            continue
        config = Config(tuple(those), max_new_tokens=max_new_tokens, batch=batch)
        kept = Folder(folder / name)
        open_system = partial(
            opened, max_new_tokens=max_new_tokens, device=device, routes_alone=name == "texts"
        )
        answers = evaluate(config, questions, kept, open_system, on_progress=on_progress)
        found[kept.report_file] = write_report(kept, config, questions, answers)
    return found
