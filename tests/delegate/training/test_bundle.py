"""The adapter that comes with curta: what its card says, that it fits, and what it answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft")

import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file

from curta.delegate import models
from curta.delegate.options import SMOLLM2
from curta.delegate.training import bundle
from tests.delegate.training import bundled_answers
from tests.support.packaged_model import PACKAGES, needs_packaged_model

PLACE = models.BUNDLED[SMOLLM2]


def test_the_card_is_that_of_the_weights() -> None:
    card = (PLACE / "README.md").read_text("utf-8")
    weights = (PLACE / bundle.WEIGHTS).read_bytes()
    assert f"SHA-256 {hashlib.sha256(weights).hexdigest()}." in card
    assert len(weights) < 10e6
    assert "GSM8K" in card
    assert "MIT licence" in card
    assert ModelCard(card).data.license == "mit"


def test_a_card_of_a_run_that_is_not_over(tmp_path: Path) -> None:
    """Nothing was measured on held-back questions yet, and updates behind the checkpoint are none
    of what was taken.
    """
    checkpoint = tmp_path / "checkpoints" / "checkpoint-2"
    checkpoint.mkdir(parents=True)
    (checkpoint / "trainer_state.json").write_text("{\n}\n")
    (tmp_path / "training.json").write_text('{"source": "a folder"}')
    rows = ({"step": step, "loss": loss} for step, loss in enumerate((3, 2, 1), 1))
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / bundle.WEIGHTS).write_bytes(b"weights")
    card = bundle.card(tmp_path, tmp_path)
    assert "| step | 2 |\n| loss | 2 |\n" in card
    assert "| source | a folder |" in card
    assert f"SHA-256 {hashlib.sha256(b'weights').hexdigest()}." in card
    assert "validation |" not in card
    assert ModelCard(card).data.license == "mit"
    assert ModelCard(card).data.base_model == SMOLLM2


def test_it_is_what_the_committed_settings_make() -> None:
    settings = json.loads((PLACE / "adapter_config.json").read_text("utf-8"))
    assert settings["base_model_name_or_path"] == SMOLLM2
    assert settings["r"] == bundle.CONFIG.rank
    assert settings["lora_alpha"] == bundle.CONFIG.alpha * bundle.STRENGTH
    assert models.plain_settings(PLACE) == settings  # so it is merged without PEFT
    held = load_file(PLACE / bundle.WEIGHTS)
    assert {one.dtype for one in held.values()} == {torch.bfloat16}
    layers = {name.partition(".lora_")[0] for name in held}
    assert len(layers) == len(held) / 2
    assert {name.rpartition(".")[2] for name in layers} == set(settings["target_modules"])
    assert {int(name.split(".")[4]) for name in layers} == set(range(30))


def test_the_command_makes_data_and_trains_by_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(bundle.data, "run", given.append)
    monkeypatch.setattr(bundle.train, "run", given.append)
    monkeypatch.setattr(bundle, "write", lambda run, place: None)
    monkeypatch.setattr(bundle, "card", lambda place, run, evaluations: "a card")
    monkeypatch.setattr(models, "BUNDLED", {SMOLLM2: tmp_path})
    assert bundle.main([str(tmp_path / "made"), "--gsm8k", "train.jsonl"]) == 0
    made, trained = given
    assert (made.out, made.mix, made.gsm8k) == (trained.data, bundle.MIX, "train.jsonl")
    assert (trained.first_stage, trained.model) == (bundle.CONFIG, SMOLLM2)
    assert (tmp_path / "README.md").read_text() == "a card"


def test_which_adapter_is_meant() -> None:
    assert models.chosen_adapter(SMOLLM2, None) == PLACE
    assert models.chosen_adapter(SMOLLM2, "none") is None
    assert models.chosen_adapter(SMOLLM2, "mine") == Path("mine")
    assert models.chosen_adapter("some/model", None) is None


def test_tests_with_the_packaged_model_ask_for_its_package() -> None:
    assert models.PACKAGED[SMOLLM2][0] in PACKAGES


@pytest.mark.slow
@needs_packaged_model
def test_it_answers_as_recorded() -> None:
    """With the packaged model; `python -m tests.delegate.training.bundled_answers` records anew."""
    assert bundled_answers.answers() == bundled_answers.recorded()
