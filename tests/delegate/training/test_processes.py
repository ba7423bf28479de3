"""Several processes train one adapter: the updates are those of one process, and runs go on."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft")

import torch
from safetensors.torch import load_file

from curta.delegate import models
from curta.delegate.data.data_set import Mix, build, read, write
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.sft import train
from curta.delegate.training.trainer import last_checkpoint
from tests.support.tiny_language_models import chat_tokenizer, model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning"),
]

SETTINGS = {"batch": 2, "warmup": 2, "rank": 4, "alpha": 8, "checkpoint": 2}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base model and a data set."""
    folder = tmp_path_factory.mktemp("processes")
    copy.deepcopy(model("grouped queries")).float().save_pretrained(folder / "base")
    chat_tokenizer().save_pretrained(folder / "base")
    made = build(Mix(train=60, valid=1, test=1, arithmetic=1.0, negatives=0.0))
    for part in made.parts.values():
        part[:] = [one for one in part if (one.question + one.answer).isascii()]
    write(made, folder / "data")
    return folder


def command(begun: Path, out: Path, **settings: Any) -> subprocess.Popen[str]:
    """The command in two processes, as `accelerate launch` starts them on two GPUs.

    On CPUs it starts several with MPI only, and one without, whatever `--num_processes` says.
    """
    given = {"learning_rate": 1e-2, **SETTINGS, **settings}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    words = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"),
        *("-m", "curta", "delegate", "train"),
        *("--model", str(begun / "base"), "--data", str(begun / "data"), "--out", str(out)),
        *options,
    ]
    return subprocess.Popen(
        words,
        env=os.environ
        | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "ACCELERATE_USE_CPU": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def launched(begun: Path, out: Path, **settings: Any) -> None:
    """The same, to its end."""
    said, errors = (process := command(begun, out, **settings)).communicate()
    assert process.returncode == 0, errors
    assert said.count("adapter: ") == 1


def killed(begun: Path, out: Path, **settings: Any) -> None:
    """The same, killed after its first checkpoint."""
    process = command(begun, out, **settings)
    while process.poll() is None and last_checkpoint(out) is None:
        time.sleep(0.01)
    process.terminate()  # the launcher ends its workers, which are in sessions of their own
    process.communicate()
    assert not (out / "adapter_model.safetensors").exists()


def losses(folder: Path) -> list[float]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def test_two_processes_do_what_one_does(begun: Path, tmp_path: Path) -> None:
    """One process with two passes in an update, two processes with one each: the same sums."""
    launched(begun, tmp_path / "two", steps=4)
    given, tokenizer = models.load(str(begun / "base"), device="cpu")
    examples = read(begun / "data" / "train.jsonl")
    alone = TrainingConfig(steps=4, accumulate=2, learning_rate=1e-2, **SETTINGS)
    train(given, tokenizer, examples, alone, tmp_path / "one")
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-4)
    one, two = (load_file(tmp_path / name / "adapter_model.safetensors") for name in ("one", "two"))
    assert set(one) == set(two)
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=1e-3, atol=1e-5)


def test_a_killed_run_of_two_processes_goes_on_to_the_same_adapter(
    begun: Path, tmp_path: Path
) -> None:
    """With dropout, which every process draws for itself."""
    settings = {"steps": 300, "dropout": 0.2}
    launched(begun, tmp_path / "whole", **settings)
    killed(begun, tmp_path / "killed", **settings)
    launched(begun, tmp_path / "killed", **settings)
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")
    files = [tmp_path / name / "adapter_model.safetensors" for name in ("whole", "killed")]
    assert files[0].read_bytes() == files[1].read_bytes()
