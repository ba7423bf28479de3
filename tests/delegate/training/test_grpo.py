"""The second stage: what is put behind calls is masked, rewards go up, a stopped run goes on."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from safetensors.torch import load_file
from transformers import LogitsProcessorList
from trl import GRPOTrainer

from curta.app.command_line import main
from curta.delegate import models
from curta.delegate.data.data_set import Mix, build, row, write
from curta.delegate.data.example import Example
from curta.delegate.interception.events import CallResult
from curta.delegate.interception.generator import CalcGenerator, Output
from curta.delegate.interception.protocol import Protocol
from curta.delegate.training import grpo
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.grpo import (
    GrpoConfig,
    improve,
    questions,
    rollouts,
    trainer_arguments,
)  # fmt: skip
from curta.delegate.training.rewards import JUDGES
from curta.delegate.training.run_folder import Report
from curta.delegate.training.sft import train
from curta.delegate.training.trainer import last_checkpoint, step_of
from curta.errors import DataError, DivergedError, UserError
from tests.support.tiny_language_models import Push, chat_tokenizer, model

pytestmark = [
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning"),
]

EXAMPLES = [
    one
    for one in build(Mix(train=80, valid=1, test=1, arithmetic=0.7, negatives=0.3)).train
    if (one.question + one.answer).isascii()
]
CONFIG = GrpoConfig(
    steps=4,
    batch=2,
    group=4,
    max_new_tokens=8,
    learning_rate=1e-2,
    warmup=1,
    checkpoint=2,
)


@pytest.fixture(scope="module")
def first_stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base model and an adapter of it."""
    folder = tmp_path_factory.mktemp("stage")
    copy.deepcopy(model("grouped queries")).float().save_pretrained(folder / "base")
    chat_tokenizer().save_pretrained(folder / "base")
    given, tokenizer = models.load(str(folder / "base"), device="cpu")
    short = TrainingConfig(
        steps=2, batch=4, warmup=1, rank=4, alpha=8, special_tokens=True, open="[[", close="]]"
    )
    train(given, tokenizer, EXAMPLES, short, folder / "adapter")
    return folder


def run(first_stage: Path, out: Path, config: GrpoConfig = CONFIG, **given: Any) -> Any:
    base, tokenizer = models.load(str(first_stage / "base"), device="cpu")
    config = dataclasses.replace(config, adapter=str(first_stage / "adapter"))
    return improve(base, tokenizer, EXAMPLES, config, out, **given)


def letters(output: Output, wanted: str | None, category: str) -> float:
    """A toy: how much of an answer is digits."""
    return sum(each.isdigit() for each in output.text) / max(len(output.text), 1)


def test_what_the_model_did_not_choose_is_masked() -> None:
    generator = CalcGenerator(model("grouped queries"), chat_tokenizer(), format="prompted")
    options = {
        "max_new_tokens": 60,
        "do_sample": True,
        "logits_processor": LogitsProcessorList([Push()]),
    }
    torch.manual_seed(1)
    found = rollouts(generator, ["a", "ab, 12 c"] * 8, [1], **options)
    decode = generator.tokenizer.decode
    injected = 0
    for one in found:
        assert len(one.tokens) == len(one.own)
        assert one.output.text.startswith(decode(list(one.tokens)).removesuffix("<end>"))
        chosen = [t for t, own in zip(one.tokens, one.own, strict=True) if own]
        assert " = " not in decode(chosen)  # which is always put there
        others = decode([t for t, own in zip(one.tokens, one.own, strict=True) if not own])
        answers = [f" = {call.answer}" for call in one.output.calls if isinstance(call, CallResult)]
        for answer in answers[:-1]:  # the last one may be cut
            before, found_there, others = others.partition(answer)
            assert found_there, (before, answer)
            injected += 1
    assert injected >= 3


def test_masked_tokens_move_nothing(
    first_stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradient of TRL's loss: something where the model chose, nothing anywhere else."""
    seen: list[torch.Tensor] = []
    whole = GRPOTrainer._get_per_token_logps_and_entropies

    def pushed(generator: CalcGenerator, prompts: Any, ends: Any, **options: Any) -> Any:
        options["logits_processor"] = LogitsProcessorList([Push()])
        usual = CalcGenerator(generator.model, generator.tokenizer, protocol=Protocol())
        return rollouts(usual, prompts, ends, **options)

    def listened(*given: Any, **more: Any) -> Any:
        found = whole(*given, **more)
        found[0].retain_grad()
        seen.append(found[0])
        return found

    masks: list[dict[str, torch.Tensor]] = []
    loss = GRPOTrainer._compute_loss
    monkeypatch.setattr(
        GRPOTrainer,
        "_compute_loss",
        lambda trainer, given, inputs: masks.append(inputs) or loss(trainer, given, inputs),
    )
    monkeypatch.setattr(GRPOTrainer, "_get_per_token_logps_and_entropies", listened)
    monkeypatch.setattr(grpo, "rollouts", pushed)
    wide = dataclasses.replace(CONFIG, steps=1, group=8, max_new_tokens=50)
    run(first_stage, tmp_path, wide, judges={"right": letters})
    (logps,) = seen
    (inputs,) = masks
    moved = logps.grad != 0
    chosen = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    put_there = (inputs["completion_mask"] * (1 - inputs["tool_mask"])).bool()
    tokens = inputs["completion_ids"]
    said = chat_tokenizer().decode(tokens[put_there].tolist())
    assert " = " in said
    assert " = " not in chat_tokenizer().decode(tokens[chosen].tolist())
    assert not moved[put_there].any()
    assert moved[chosen].float().mean() > 0.9


def test_rows_are_cut_where_they_end() -> None:
    """Some behind the end token, which is the model's choice, others where there is no room."""
    generator = CalcGenerator(model("grouped queries"), chat_tokenizer(), format="prompted")
    pushed = LogitsProcessorList([Push()])
    torch.manual_seed(1)
    found = rollouts(
        generator,
        ["a", "ab, 12 c"] * 8,
        [1],
        max_new_tokens=20,
        do_sample=True,
        logits_processor=pushed,
    )
    for one in found:
        assert len(one.tokens) == len(one.own) == one.output.tokens
        assert 1 not in one.tokens[:-1]
        assert one.output.ended == (one.tokens[-1] == 1 and bool(one.own[-1]))
        assert len(one.tokens) <= 20
    assert {one.output.ended for one in found} == {True, False}


@pytest.mark.slow
def test_an_adapter_goes_on_by_rewards(first_stage: Path, tmp_path: Path) -> None:
    reports: list[Report] = []
    trained = run(
        first_stage, tmp_path / "out", judges={"right": letters}, on_report=reports.append
    )
    assert [report.step for report in reports] == [1, 2, 3, 4]
    assert all(report.loss == report.loss for report in reports)
    changed = [name for name, one in trained.named_parameters() if one.requires_grad]
    assert changed
    assert all("lora_" in name or "trainable_tokens" in name for name in changed)
    saved, begun = (
        load_file(one / "adapter_model.safetensors")
        for one in (tmp_path / "out", first_stage / "adapter")
    )
    assert set(saved) == set(begun)
    assert not [
        name for name in saved if "lora_B" in name and torch.equal(saved[name], begun[name])
    ]
    out = tmp_path / "out"
    for name in ("adapter_config.json", "adapter_model.safetensors", "training.json"):
        assert (out / name).is_file(), name
    held = json.loads((out / "training.json").read_text())
    assert held["seed"] == 0
    assert held["adapter"] == str(first_stage / "adapter")
    lines = (out / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4]
    assert (out / "curta.json").read_bytes() == (first_stage / "adapter/curta.json").read_bytes()
    before, after = (
        (one / "adapter_model.safetensors").stat().st_size for one in (first_stage / "adapter", out)
    )
    assert before == after
    loaded, tokenizer = models.load(str(first_stage / "base"), adapter=out, device="cpu")
    assert CalcGenerator(loaded, tokenizer).protocol.open == "[["


def test_the_command_goes_on_with_an_adapter(
    first_stage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = build(Mix(train=8, valid=1, test=1, arithmetic=1.0, negatives=0.0))
    write(made, tmp_path / "data")
    (tmp_path / "data" / "train.jsonl").write_text(
        "".join(json.dumps(row(one)) + "\n" for one in EXAMPLES[:8])
    )
    words = ["delegate", "train", "--stage=grpo", f"--model={first_stage / 'base'}"]
    words += [f"--data={tmp_path / 'data'}", f"--out={tmp_path / 'out'}"]
    assert main(words) == 2
    assert "add --adapter" in capsys.readouterr().err
    words += [f"--adapter={first_stage / 'adapter'}", "--steps=1", "--group=2", "--right=2"]
    assert main([*words, "--max-new-tokens=4"]) == 0
    said = capsys.readouterr()
    assert "training: 1/1 reward" in said.err
    assert f"adapter: {tmp_path / 'out'}" in said.out
    held = json.loads((tmp_path / "out" / "training.json").read_text())
    assert (held["right"], held["group"], held["max_new_tokens"]) == (2.0, 2, 4)


def test_rewards_go_up(first_stage: Path, tmp_path: Path) -> None:
    reports: list[Report] = []
    longer = dataclasses.replace(CONFIG, steps=18, group=8, learning_rate=3e-2, checkpoint=100)
    run(first_stage, tmp_path, longer, judges={"right": letters}, on_report=reports.append)
    begin = sum(report.reward for report in reports[:5]) / 5
    end = sum(report.reward for report in reports[-5:]) / 5
    assert end > begin + 0.2, (begin, end)


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_adapter(first_stage: Path, tmp_path: Path) -> None:
    run(first_stage, tmp_path / "whole")

    class StoppedError(Exception):
        pass

    def stop(report: Report) -> None:
        if report.step == 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        run(first_stage, tmp_path / "stopped", on_report=stop)
    (tmp_path / "stopped/checkpoints/checkpoint-9").mkdir()  # killed while it was written
    reached = last_checkpoint(tmp_path / "stopped")
    assert reached is not None
    assert step_of(reached) == 2
    run(first_stage, tmp_path / "stopped")
    files = [tmp_path / name / "adapter_model.safetensors" for name in ("whole", "stopped")]
    assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(DataError, match="other settings"):
        run(first_stage, tmp_path / "stopped", dataclasses.replace(CONFIG, group=2))


@pytest.mark.slow
def test_a_pull_to_the_first_adapter_keeps_only_the_second(
    first_stage: Path, tmp_path: Path
) -> None:
    run(first_stage, tmp_path, dataclasses.replace(CONFIG, steps=2, pull=0.1))
    assert not (tmp_path / "ref").exists()
    models.load(str(first_stage / "base"), adapter=tmp_path, device="cpu")


def test_questions_are_asked_in_an_order_of_their_own(tmp_path: Path) -> None:
    asked = questions(EXAMPLES, CONFIG, 1)
    assert len(asked) == 8
    assert asked[:] == questions(EXAMPLES, CONFIG, 1)[:]
    assert asked[:] != questions(EXAMPLES, dataclasses.replace(CONFIG, seed=1), 1)[:]
    with pytest.raises(DataError, match="fewer than an update asks: 2"):
        questions(EXAMPLES[:1], CONFIG, 1)
    assert trainer_arguments(CONFIG, JUDGES, tmp_path).reward_weights == [1.0, 0.1, -0.2, -0.2]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"group": 1}, "group = 1"),
        ({"steps": 0}, "steps = 0"),
        ({"temperature": 0.0}, "temperature = 0.0"),
        ({"right": -1.0}, "right = -1.0"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict, why: str) -> None:
    with pytest.raises(UserError, match=why):
        dataclasses.replace(CONFIG, **changes)


def test_a_run_that_diverges_says_so(first_stage: Path, tmp_path: Path) -> None:
    wild = dataclasses.replace(CONFIG, steps=20, learning_rate=1e30, warmup=0, clip=1e30)
    with pytest.raises(DivergedError, match="lower learning_rate"):
        run(first_stage, tmp_path, wild)


def test_without_trl_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "curta.delegate.training.grpo"
    monkeypatch.delitem(sys.modules, name, raising=False)
    for loaded in [each for each in sys.modules if each.partition(".")[0] == "trl"]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "trl", None)
    with pytest.raises(UserError, match=r"pip install 'curta\[grpo\]'"):
        importlib.import_module(name)


def test_examples_are_of_both_kinds() -> None:
    assert {isinstance(one, Example) and one.value is None for one in EXAMPLES} == {True, False}
