"""Fine-tuning: it learns, only adapters change, and a run that was stopped ends the same."""

from __future__ import annotations

import copy
import dataclasses
import json
import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("peft")

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from huggingface_hub import ModelCard
from transformers import TrainingArguments

from curta.delegate.data.data_set import Mix, build
from curta.delegate.data.example import Example
from curta.delegate.interception.protocol import Protocol
from curta.delegate.training import sft
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.encoding import Encoded, Encoder, batch
from curta.delegate.training.run_folder import Metrics, Report, card
from curta.delegate.training.sft import (
    Learner,
    encode,
    in_order,
    loss_of,
    targets,
    train,
    with_adapter,
)
from curta.delegate.training.trainer import arguments, in_precision, last_checkpoint, step_of
from curta.errors import DataError, UserError
from tests.support.tiny_language_models import chat_tokenizer, model

# peft asks transformers for something that has another name by now.
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")

EXAMPLES = [
    one
    for one in build(Mix(train=60, valid=1, test=1, arithmetic=1.0, negatives=0.0)).train
    if (one.question + one.answer).isascii()
]
CONFIG = TrainingConfig(
    steps=8, batch=4, learning_rate=1e-2, warmup=2, rank=4, alpha=8, dropout=0.1, checkpoint=4
)


def encoded(examples: list[Example] = EXAMPLES, config: TrainingConfig = CONFIG) -> list[Encoded]:
    return encode(examples, Encoder(chat_tokenizer(), config))


def fresh(family: str = "grouped queries") -> torch.nn.Module:
    return copy.deepcopy(model(family)).float()


def adapter(folder: Path) -> bytes:
    return (folder / "adapter_model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that came to its end. Nobody writes in it."""
    folder = tmp_path_factory.mktemp("trained")
    train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, folder)
    return folder


@pytest.fixture
def own(trained: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(trained, tmp_path / "own")


def test_the_loss_falls_and_only_adapters_change(tmp_path: Path) -> None:
    before = fresh()
    reports: list[Report] = []
    longer = dataclasses.replace(CONFIG, steps=30, dropout=0.0)
    trained = train(before, chat_tokenizer(), EXAMPLES, longer, tmp_path, on_report=reports.append)
    assert [report.step for report in reports] == list(range(1, 31))
    assert reports[-1].loss < 0.8 * reports[0].loss
    changed = [name for name, one in trained.named_parameters() if one.requires_grad]
    assert changed
    assert all("lora_" in name for name in changed)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == list(range(1, 31))


def test_a_stopped_run_goes_on_to_the_same_adapter(trained: Path, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(report: Report) -> None:
        if report.step == 6:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, tmp_path, on_report=stop)
    train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, tmp_path)
    assert adapter(tmp_path) == adapter(trained)
    losses = [
        [json.loads(line)["loss"] for line in (at / "metrics.jsonl").read_text().splitlines()]
        for at in (tmp_path, trained)
    ]
    assert losses[0] == losses[1]


def test_a_run_goes_on_with_as_many_processes(own: Path) -> None:
    held = json.loads((own / "training.json").read_text())
    (own / "training.json").write_text(json.dumps(held | {"processes": 2}))
    with pytest.raises(DataError, match=r"other settings \(processes; "):
        train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, own)


def test_a_checkpoint_that_was_cut_off_is_none(own: Path) -> None:
    whole = last_checkpoint(own)
    assert whole is not None
    assert step_of(whole) == CONFIG.steps
    cut = shutil.copytree(whole, whole.with_name("checkpoint-9"))
    state = cut / "trainer_state.json"
    state.write_text(state.read_text()[:-2])
    assert last_checkpoint(own) == whole


def test_a_training_that_was_refused_leaves_its_folder_to_others(tmp_path: Path) -> None:
    for longest in (8, 9):
        short = dataclasses.replace(CONFIG, longest=longest)
        with pytest.raises(DataError, match="fewer than a batch"):
            train(fresh(), chat_tokenizer(), EXAMPLES, short, tmp_path)
    train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, tmp_path)


def test_settings_that_were_not_there_count_as_they_are_by_default(own: Path) -> None:
    held = json.loads((own / "training.json").read_text())
    assert held["seed"] == 0
    del held["special_tokens"]
    (own / "training.json").write_text(json.dumps(held))
    train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, own)
    other = dataclasses.replace(CONFIG, special_tokens=True)
    with pytest.raises(DataError, match="other settings"):
        train(fresh(), chat_tokenizer(), EXAMPLES, other, own)


def test_everything_is_counted_while_it_is_encoded() -> None:
    heard: list[tuple[int, int]] = []
    encoder = Encoder(chat_tokenizer())
    encode(EXAMPLES, encoder, lambda done, total: heard.append((done, total)))
    assert heard == [(number, len(EXAMPLES)) for number in range(1, len(EXAMPLES) + 1)]


@pytest.mark.slow
def test_many_examples_are_encoded_by_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = encoded()
    monkeypatch.setattr(sft, "CHUNK", len(EXAMPLES) // 3)
    assert encoded() == alone


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_compiles_the_blocks_and_learns_what_a_processor_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, tmp_path / "gpu")
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    AcceleratorState._reset_state(reset_partial_state=True)
    train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, tmp_path / "cpu")
    gpu, cpu = ([one["loss"] for one in Metrics(tmp_path / at).rows()] for at in ("gpu", "cpu"))
    assert gpu == pytest.approx(cpu, rel=1e-2)


def test_both_forms_of_an_adapter_learn_the_same_examples_in_the_same_order() -> None:
    """Also those whose form with calls is too long, and whose form without is not."""
    lengths = sorted(one.ordered_by for one in encoded())
    short = dataclasses.replace(CONFIG, longest=lengths[len(lengths) // 2])
    with_calls = encoded(config=short)
    inline = encoded(config=dataclasses.replace(short, calls=False))
    assert 0 < len(with_calls) < len(EXAMPLES)
    assert [one.tokens for one in with_calls] != [one.tokens for one in inline]

    def order(forms: list[Encoded]) -> list[str]:
        """The questions of the first updates."""
        twenty = dataclasses.replace(CONFIG, steps=20)
        return [
            chat_tokenizer().decode(one.tokens).split("\n")[0] for one in in_order(forms, twenty)
        ]

    assert order(with_calls) == order(inline)


def test_how_many_are_left_out_is_told(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    lengths = sorted(one.ordered_by for one in encoded())
    short = dataclasses.replace(CONFIG, longest=lengths[-1] - 1, steps=1)
    train(
        fresh(), chat_tokenizer(), EXAMPLES, short, tmp_path,
        on_left_out=lambda count, total: heard.append((count, total)),
    )  # fmt: skip
    assert heard == [(lengths.count(lengths[-1]), len(EXAMPLES))]


def test_examples_that_are_held_back_are_measured_and_change_nothing(
    trained: Path, tmp_path: Path
) -> None:
    held_back, few = EXAMPLES[:10], EXAMPLES[:4]
    assert Metrics(trained).validation is None
    for name, given, steps in (("many", held_back, [8]), ("few", few, [4, 8])):
        out = tmp_path / name
        train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, out, validation=given)
        assert adapter(out) == adapter(trained)
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        measured = {row["step"]: row["validation"] for row in rows if "validation" in row}
        assert list(measured) == steps, "at checkpoints only where it is cheap"
        assert Metrics(out).validation == measured[8] > 0
        # The run is over: nothing is measured again, and what was said can be said again.
        train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, out, validation=given)
        assert Metrics(out).validation == measured[8]


def test_the_loss_is_the_mean_over_tokens_however_they_are_batched() -> None:
    held_back = encoded(EXAMPLES[:7])
    tiny, accelerator = fresh().eval(), Accelerator()
    whole = tiny(**batch(held_back)).loss
    for size in (1, 3, 7):
        measured = loss_of(tiny, accelerator, held_back, size)
        assert measured == pytest.approx(float(whole.detach()), rel=1e-5)
        assert tiny.training


def test_training_in_float32_has_a_base_in_float32(tmp_path: Path) -> None:
    half = fresh().bfloat16()
    assert in_precision(half, "bfloat16").dtype == torch.bfloat16
    config = dataclasses.replace(CONFIG, steps=1)
    trained = train(half, chat_tokenizer(), EXAMPLES, config, tmp_path)
    assert {one.dtype for one in trained.parameters()} == {torch.float32}


def test_what_was_trained_is_noted(tmp_path: Path) -> None:
    def train_on(origin: str) -> None:
        tiny = fresh()
        tiny.weights_origin = origin  # type: ignore[assignment]
        train(tiny, chat_tokenizer(), EXAMPLES, CONFIG, tmp_path)

    train_on("Hub, revision a, bfloat16")
    held = json.loads((tmp_path / "training.json").read_text())
    assert held["source"] == "Hub, revision a, bfloat16"
    with pytest.raises(DataError, match=r"other settings \(source; "):
        train_on("package tiny (Q4_1), float32")


@pytest.mark.parametrize("calls", [True, False])
def test_an_adapter_says_what_it_is(calls: bool, tmp_path: Path) -> None:
    tiny = fresh()
    tiny.name_or_path = "someone/Tiny"  # type: ignore[assignment]
    config = dataclasses.replace(CONFIG, steps=1, calls=calls)
    train(tiny, chat_tokenizer(), EXAMPLES, config, tmp_path, validation=EXAMPLES[:2])
    held = json.loads((tmp_path / "adapter_config.json").read_text())
    assert held["base_model_name_or_path"] == "someone/Tiny"
    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.base_model == "someone/Tiny"
    assert ("<<calc: 87*24>>" in card.text) == calls
    assert "| validation |" in card.text
    assert "| learning_rate | 0.01 |" in card.text
    assert "More Information Needed" not in card.text


def test_a_card_that_somebody_wrote_on_is_not_overwritten(tmp_path: Path) -> None:
    config, file = dataclasses.replace(CONFIG, steps=1), tmp_path / "README.md"
    train(fresh(), chat_tokenizer(), EXAMPLES, config, tmp_path)
    made = file.read_text()
    train(fresh(), chat_tokenizer(), EXAMPLES, config, tmp_path)
    assert file.read_text() == made
    for written in ("mine", made + "And more.", made.replace("calculator", "slide rule")):
        file.write_text(written)
        with pytest.raises(DataError, match="move it away, or choose another --out"):
            train(fresh(), chat_tokenizer(), EXAMPLES, config, tmp_path)
        assert file.read_text() == written
    file.unlink()
    train(fresh(), chat_tokenizer(), EXAMPLES, config, tmp_path)
    assert file.read_text() == made


def test_a_card_can_be_read_whatever_stands_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "llama: a 'MODEL'"
    folder.mkdir()
    measured = [{"step": n, "loss": float(n)} for n in range(1, 21)]
    text = card(str(folder), Protocol(open="<|c|>"), {"open": "<|c|>"}, measured)
    assert ModelCard(text).data.base_model is None  # a folder is nowhere on the Hub
    assert "# llama: a 'MODEL', taught to call" in text
    command = next(line for line in text.splitlines() if line.startswith("    curta"))
    assert str(folder) in shlex.split(command)
    assert "| open | <\\|c\\|> |" in text
    assert "| loss | 19.5 |" in text
    assert "<|c|> 87*24>>" in text
    assert ModelCard(card("null", Protocol(), {}, [])).data.base_model == "null"


def test_passes_of_an_update_are_one_batch(tmp_path: Path) -> None:
    """Passes with different numbers of learned tokens, beside all of them in one pass."""
    by_length = sorted(encoded(), key=len)
    rows = [*by_length[:2], *by_length[-2:]]
    found = []
    for accumulate in (1, 2):
        config = dataclasses.replace(
            CONFIG, steps=1, accumulate=accumulate, dropout=0.0, warmup=0, learning_rate=1.0
        )
        given = arguments(
            TrainingArguments, config, tmp_path, optim="sgd", train_sampling_strategy="sequential",
            per_device_train_batch_size=4 // accumulate, remove_unused_columns=False,
        )  # fmt: skip
        torch.manual_seed(0)
        adapted = with_adapter(fresh(), config)
        learner = Learner(model=adapted, args=given, train_dataset=rows, data_collator=batch)
        loss = learner.train().training_loss
        found.append((loss, [p.detach().clone() for p in adapted.parameters() if p.requires_grad]))
    (loss, whole), (parted_loss, parted) = found
    assert loss == pytest.approx(parted_loss, rel=1e-5)
    for a, b in zip(whole, parted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_a_process_trains_with_one_gpu(tmp_path: Path) -> None:
    """The trainer would split each batch over all that it sees."""

    class Several:
        n_gpu = property(lambda self: self._n_gpu)

        def __init__(self, **given: object) -> None:
            self._n_gpu = 4

    assert arguments(Several, CONFIG, tmp_path).n_gpu == 1


def test_where_adapters_go() -> None:
    all_layers = targets(fresh("linear attention"), CONFIG)
    without = targets(fresh("linear attention"), dataclasses.replace(CONFIG, mode="mlp"))
    assert any("linear_attn" in name for name in all_layers)
    assert without
    assert not any("linear_attn" in name for name in without)
    last = targets(fresh(), dataclasses.replace(CONFIG, last_blocks=1))
    assert last
    assert all(".1." in name for name in last)
    assert not any("lm_head" in name for name in all_layers)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"longest": 5}, "have at most 5 tokens"),
        ({"learning_rate": float("nan")}, "learning_rate = nan"),
        ({"warmup": -1}, "warmup = -1: must be at least 0"),
        ({"mode": "half"}, "mode = 'half': one of full, mlp"),
        ({"dropout": 1.0}, "dropout = 1.0"),
    ],
)
def test_what_cannot_be_trained_is_refused(changes: dict, why: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=why):
        train(fresh(), chat_tokenizer(), EXAMPLES, dataclasses.replace(CONFIG, **changes), tmp_path)


def test_a_folder_of_other_settings_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "training.json").write_text("{}")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    with pytest.raises(DataError, match="other settings"):
        train(fresh(), chat_tokenizer(), EXAMPLES, CONFIG, tmp_path)
