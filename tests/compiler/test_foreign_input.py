"""Files that others wrote, prompts that are no prompts, and the transformer without curta."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import curta.engine.transformer as transformer
from curta.compiler import Model, compile, load_model
from curta.compiler.model import digest, model_from_parts
from curta.compiler.verify import verify
from curta.engine import LEVELS, Level, load
from curta.errors import CurtaError, FileError, TokenError
from tests.support.agreement import carrying


def counting() -> Model:
    graph, x = carrying([0, 1, 2])
    graph.emit(["t0", "t1", "t2"], graph.running_sum(x) - 2)
    return compile(graph, 64)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_a_language_model_is_no_curta_model(dtype: torch.dtype, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"weight": torch.zeros(4, dtype=dtype)}, path)
    with pytest.raises(FileError, match="not one that curta wrote"):
        load_model(path)


# -- metadata that somebody edited, with the digest made again ----

Edit = Callable[[dict[str, Any]], object]


def renamed(part: str, value: object) -> Edit:
    return lambda content: content["certificate"].update({part: value})


def graph_part(part: str, value: object) -> Edit:
    return lambda content: content["graph"].update({part: value})


EDITS: dict[str, Edit] = {
    "more tokens": renamed("max_tokens", 10**6),
    "no tokens": renamed("max_tokens", 0),
    "more through softmax": renamed("softmax_tokens", 10**6),
    "no promises": renamed("promises", ["everything"]),
    "no graph": lambda content: content.pop("graph"),
    "other vocabulary": lambda content: content["plan"].update(vocabulary=["x", "y", "z"]),
    "other stops": graph_part("stops", [1]),
    "token twice": graph_part("tokens", ["a", "a", "b"]),
    "unknown node": graph_part("nodes", [["Unknown", 1]]),
    "empty plan": lambda content: content.update(plan={}),
    "no plan": lambda content: content.pop("plan"),
    "names as a list": graph_part("names", []),
    "length as text": renamed("max_tokens", "many"),
    "family of no node": graph_part("families", [[[0, 1, 2], 99, 0, 0, None]]),
    "feature of texts": graph_part("nodes", [["TokenFeature", ["a", "b", "c"]]]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_an_edit_with_a_new_digest_comes_to(edit: str) -> None:
    model = counting()
    path_free = json.loads(json.dumps(content_of(model)))
    EDITS[edit](path_free)
    path_free["digest"] = digest(model.weights, path_free)
    with pytest.raises(FileError):
        verify(model_from_parts("edited", model.weights, {"curta": json.dumps(path_free)}))


def content_of(model: Model) -> dict[str, Any]:
    from curta.compiler.serialize import graph_to_json

    return {
        "version": 1,
        "graph": graph_to_json(model.graph),
        "plan": model.plan,
        "certificate": model.certificate.as_json(),
    }


def test_what_no_edit_comes_to() -> None:
    model = counting()
    content = content_of(model)
    content["digest"] = digest(model.weights, json.loads(json.dumps(content)))
    verify(model_from_parts("same", model.weights, {"curta": json.dumps(content)}))


def test_metadata_without_an_end() -> None:
    with pytest.raises(FileError, match="metadata cannot be read"):
        model_from_parts("deep", {}, {"curta": "[" * 100_000})


# -- the transformer by itself --------

ALONE = """
import sys
sys.modules["curta"] = None
import torch
from transformer import Transformer
print(*Transformer.from_file("model.safetensors").generate([2, 1, 0, 1], 12))
"""


def test_the_transformer_needs_nothing_of_curta(tmp_path: Path) -> None:
    model = counting()
    model.save(tmp_path / "model.safetensors")
    shutil.copy(transformer.__file__, tmp_path / "transformer.py")
    finished = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    expected = load(model, "evaluate").run([2, 1, 0, 1], 12).tolist()
    assert [int(token) for token in finished.stdout.split()] == expected


# -- prompts ----

WRONG: dict[str, Any] = {
    "empty": [],
    "negative": [-1],
    "too large": [3],
    "too long": [0] * 65,
    "names instead of ids": ["t0"],
    "digits as text": ["1", "2"],
    "fractions": [1.7],
    "nested": [[0, 1]],
    "beyond int64": [2**70],
    "nothing": None,
}


@pytest.mark.parametrize("prompt", WRONG)
@pytest.mark.parametrize("level", LEVELS)
def test_prompts_that_are_no_prompts(level: Level, prompt: str) -> None:
    engine = load(counting(), level)
    with pytest.raises(TokenError):
        engine.run(WRONG[prompt], 1)


@pytest.mark.parametrize("level", LEVELS)
def test_prompts_of_names(level: Level) -> None:
    engine = load(counting(), level)
    assert [*engine.generate(("t2", "t1"), 1)] == ["t1"]
    assert [*engine.generate(iter(["t2", "t1"]), 0)] == []
    for wrong, message in ((["no"], "unknown token 'no'"), ("t2", "is one string"), ([], "empty")):
        with pytest.raises(CurtaError, match=message):
            engine.generate(wrong, 1)
    with pytest.raises(CurtaError, match="max_new_tokens=-1"):
        engine.generate(["t0"], -1)
