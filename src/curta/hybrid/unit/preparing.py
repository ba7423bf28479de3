"""Questions drawn, and the residual stream read for them: once, and kept in a folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from curta.delegate.data import data_set
from curta.delegate.data.example import Example
from curta.hybrid.unit.config import Drawing
from curta.hybrid.unit.features import Features, Label, features, label
from curta.hybrid.unit.questions import KINDS, Question, Split, questions
from curta.hybrid.unit.router import Layers
from curta.hybrid.unit.saved import Settings

OnProgress = Callable[[str, float, float], None]
CANDIDATES = 8
"""Places in the language model, evenly apart, that are read; two of them are chosen."""


@dataclass(frozen=True)
class Part:
    """Questions of one split, and what was read of them."""

    features: Features
    questions: tuple[Question, ...]

    @property
    def asked(self) -> tuple[Features, Sequence[Question]]:
        return self.features, self.questions

    @property
    def labelled(self) -> tuple[Features, Sequence[Label]]:
        return self.features, [label(question) for question in self.questions]


@dataclass(frozen=True)
class Prepared:
    """All that training needs."""

    training: Part
    validation: Part
    base: str
    origin: str

    def settings(self, layers: Layers, threshold: float) -> Settings:
        """What the router is used with."""
        return Settings(self.base, self.origin, layers, threshold)


def prepare(
    base: str, drawing: Drawing, folder: Path, device: str | None, *, on_progress: OnProgress
) -> Prepared:
    """Read what is not in the folder yet, or was read for other questions or another model."""
    from curta.delegate import models

    origin = models.origin(base)
    written = json.dumps([base, origin, dataclasses.asdict(drawing)])
    about = folder / "features" / "about.json"
    same = about.is_file() and about.read_text(encoding="utf-8") == written
    model = tokenizer = None
    parts = []
    splits: tuple[tuple[Split, int], ...] = (("train", 1), ("valid", 4))
    for split, divisor in splits:
        asked = drawn(drawing, split, divisor)
        file = folder / "features" / f"{split}.safetensors"
        if same and file.is_file():
            parts.append(Part(Features.load(file), asked))
            continue
        if model is None:
            model, tokenizer = models.load(base, device=device)
        read = features(
            model, tokenizer, [one.text for one in asked],
            candidates(model.config.get_text_config().num_hidden_layers),
            on_progress=partial(on_progress, split),
        )  # fmt: skip
        read.save(file)
        parts.append(Part(read, asked))
    about.write_text(written, encoding="utf-8")
    write_examples(parts[0].questions, folder / "examples")
    return Prepared(parts[0], parts[1], base, origin)


def write_examples(asked: Sequence[Question], folder: Path) -> None:
    """Those with an answer, as `curta delegate train --no-calls` takes them."""
    folder.mkdir(exist_ok=True)
    examples = [
        Example(one.text, one.value, one.value, one.wording.kind, one.wording.name)
        for one in asked
        if one.value is not None
    ]
    lines = [json.dumps(data_set.row(one)) for one in examples]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def drawn(drawing: Drawing, split: Split, divisor: int) -> tuple[Question, ...]:
    """The questions of a split."""
    return tuple(
        one
        for kind in KINDS
        for one in questions(split, (kind,), drawing.counts[kind] // divisor, drawing.seed)
    )


def candidates(blocks: int) -> tuple[int, ...]:
    """Of so many blocks, early ones and late ones; the last one among them."""
    count = min(CANDIDATES, blocks)
    return tuple(sorted({max(1, round(blocks * (at + 1) / count)) for at in range(count)}))
