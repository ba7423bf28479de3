"""Markers as tokens of their own: only new rows change, and an adapter knows its markers."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft")

import torch
from safetensors.torch import load_file

from curta.delegate import models
from curta.delegate.data.data_set import Mix, build
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.protocol import Protocol
from curta.delegate.markers import Markers, as_tokens, make_room, read_markers
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.encoding import Encoder
from curta.delegate.training.sft import train
from curta.errors import DataError, UserError
from tests.support.tiny_language_models import chat_tokenizer, model

pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")

FRESH = Protocol(open="<calc>", close="</calc>")
CONFIG = TrainingConfig(
    steps=2,
    batch=4,
    learning_rate=1e-2,
    warmup=1,
    rank=4,
    alpha=8,
    special_tokens=True,
    open=FRESH.open,
    close=FRESH.close,
)
FAMILIES = ("grouped queries", "alternating windows", "learned positions")
"""Their heads are: a matrix of its own, tied, tied."""


def examples() -> list:
    made = build(Mix(train=30, valid=1, test=1, arithmetic=1.0, negatives=0.0)).train
    return [one for one in made if (one.question + one.answer).isascii()]


def base(folder: Path, family: str) -> Path:
    """A model on disk."""
    copy.deepcopy(model(family)).float().save_pretrained(folder)
    chat_tokenizer().save_pretrained(folder)
    return folder


def logits(one: Any, tokens: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return one(input_ids=torch.tensor([tokens])).logits


def test_a_marker_that_exists_keeps_its_row() -> None:
    """`>>` and `<<calc:` are tokens of this vocabulary already."""
    given = chat_tokenizer()
    widened, markers = as_tokens(given, Protocol())
    assert len(widened) == len(given)
    assert markers.tokens == {one: given.convert_tokens_to_ids(one) for one in ("<<calc:", ">>")}
    assert markers.new == []
    room = copy.deepcopy(model("grouped queries"))
    before = copy.deepcopy(room.state_dict())
    make_room(room, markers)
    assert all(torch.equal(before[name], one) for name, one in room.state_dict().items())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_new_marker_begins_as_the_mean_and_nothing_else_changes(family: str) -> None:
    given = chat_tokenizer()
    count = len(given)
    widened, markers = as_tokens(given, FRESH)
    assert len(given) == count
    assert markers.new == [count, count + 1]
    assert widened.encode("a<calc> 1</calc>.", add_special_tokens=False).count(count) == 1
    room = copy.deepcopy(model(family)).float()
    before = [
        end.weight.detach().clone()
        for end in (room.get_input_embeddings(), room.get_output_embeddings())
    ]
    make_room(room, markers)
    for old, end in zip(
        before, (room.get_input_embeddings(), room.get_output_embeddings()), strict=True
    ):
        assert torch.equal(end.weight[:count], old)
        torch.testing.assert_close(end.weight[count:], old.mean(dim=0).expand(2, -1))


def test_rows_that_a_model_has_to_spare_are_used() -> None:
    room = copy.deepcopy(model("grouped queries")).float()
    count = len(chat_tokenizer())
    room.resize_token_embeddings(count + 5, mean_resizing=False)
    make_room(room, as_tokens(chat_tokenizer(), FRESH)[1])
    rows = room.get_input_embeddings().weight
    assert len(rows) == count + 5
    torch.testing.assert_close(rows[count], rows[:count].mean(dim=0))


@pytest.mark.parametrize("family", FAMILIES)
def test_an_adapter_comes_back_with_its_tokens_and_its_protocol(
    family: str, tmp_path: Path
) -> None:
    name = str(base(tmp_path / "base", family))
    given, tokenizer = models.load(name, device="cpu")
    trained = train(given, tokenizer, examples(), CONFIG, tmp_path / "adapter")
    loaded, widened = models.load(name, adapter=tmp_path / "adapter", device="cpu")

    saved = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    hidden = loaded.get_input_embeddings().weight.shape[1]
    assert max(len(one) for key, one in saved.items() if "lora" not in key) == 2
    assert all(one.numel() < len(widened) * hidden for one in saved.values())

    encoded = Encoder(widened, TrainingConfig(open=FRESH.open, close=FRESH.close))(examples()[0])
    assert encoded is not None
    tokens = list(encoded.tokens)
    assert set(read_markers(tmp_path / "adapter").new) <= set(tokens)
    near = {"rtol": 1e-3, "atol": 1e-4}  # sums of float32, in whatever order threads make of them
    torch.testing.assert_close(logits(trained, tokens), logits(loaded, tokens), **near)

    rows = loaded.get_input_embeddings().weight
    untrained = models.load(name, device="cpu")[0].get_input_embeddings().weight
    assert torch.equal(rows[: len(untrained)], untrained)
    mean = untrained[: len(tokenizer)].mean(dim=0)
    assert not torch.allclose(rows[len(tokenizer)], mean)

    generator = CalcGenerator(loaded, widened)
    assert generator.protocol == FRESH
    events: list = []
    row = generator.row(events.append)
    for token in widened.encode("a <calc> 6*7</calc>", add_special_tokens=False):
        fed = row.take(token, 99)
    assert widened.decode(fed).endswith(" = 42")


def test_markers_may_change_without_new_tokens(tmp_path: Path) -> None:
    name = str(base(tmp_path / "base", "grouped queries"))
    plain = dataclasses.replace(CONFIG, special_tokens=False, open="[[", close="]]")
    given, tokenizer = models.load(name, device="cpu")
    train(given, tokenizer, examples(), plain, tmp_path / "adapter")
    loaded, same = models.load(name, adapter=tmp_path / "adapter", device="cpu")
    assert CalcGenerator(loaded, same).protocol == plain.protocol
    assert len(same) == len(tokenizer)
    assert CalcGenerator(loaded, same, protocol=FRESH).protocol == FRESH


def test_an_adapter_of_another_tokenizer_is_refused(tmp_path: Path) -> None:
    name = str(base(tmp_path / "base", "grouped queries"))
    given, tokenizer = models.load(name, device="cpu")
    train(given, tokenizer, examples(), CONFIG, tmp_path / "adapter")
    file = tmp_path / "adapter" / "curta.json"
    held = json.loads(file.read_text())
    file.write_text(json.dumps(held | {"vocabulary": 5}))
    with pytest.raises(DataError, match="choose the model that the adapter was trained on"):
        models.load(name, adapter=tmp_path / "adapter", device="cpu")
    file.write_text("{}")
    with pytest.raises(DataError, match="not what stands beside an adapter"):
        models.load(name, adapter=tmp_path / "adapter", device="cpu")
    file.unlink()
    assert read_markers(tmp_path / "adapter") == Markers()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"open": ""}, "open = ''"),
        ({"close": "> >"}, "close = '> >'"),
        ({"open": "##", "close": "##"}, "two markers that differ"),
    ],
)
def test_markers_that_cannot_be_are_refused(changes: dict, why: str) -> None:
    with pytest.raises(UserError, match=why):
        dataclasses.replace(CONFIG, **changes)
