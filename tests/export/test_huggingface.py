"""A folder for transformers, read with it: the tokens and logits of the plain level."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from curta.app.command_line import main
from curta.compiler import Graph, Model, compile
from curta.engine import load
from curta.engine.model_cache import compile_cached
from curta.export import write_huggingface
from curta.gallery import NAMES, PROGRAMS
from tests.support.slow import some

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
MOST = 60


@cache
def model_of(name: str) -> Model:
    program = PROGRAMS[name]
    return compile_cached(program.build(), program.max_tokens)


def opened(folder: Path, **options: Any) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, trust_remote_code=True, **options
    ).eval()


def said(model: Any, ids: Sequence[int], count: int = MOST, **options: Any) -> list[int]:
    found = model.generate(torch.tensor([ids]), max_new_tokens=count, **options)
    return found[0, len(ids) :].tolist()


@pytest.mark.parametrize("name", some(10, [name for name in NAMES if name != "division"]))
def test_it_says_what_the_plain_level_says(name: str, tmp_path: Path) -> None:
    write_huggingface(model_of(name), tmp_path)
    model, plain = opened(tmp_path), load(model_of(name), "plain")
    assert model.dtype == torch.float64
    for case in PROGRAMS[name].cases[:2]:
        prompt = plain.encode(PROGRAMS[name].encode(case.input))
        expected = list(plain.generate_ids(prompt, MOST))
        assert said(model, prompt) == expected


def test_what_it_does_not_know_it_does_not_take(tmp_path: Path) -> None:
    write_huggingface(model_of("reverse"), tmp_path)
    model = opened(tmp_path)
    with pytest.raises(TypeError, match="memory"):
        model(torch.tensor([[1, 2]]), memory="what transformers will call its cache some day")
    first = model(torch.tensor([[1, 2]]), use_cache=True)
    assert model(torch.tensor([[1]]), past_key_values=first["cache"]).cache.get_seq_length() == 3
    assert len(model(torch.tensor([[1, 2]]), return_dict=False)[0][0]) == 2


@cache
def narrow_model_of(name: str) -> Model:
    return compile_cached(PROGRAMS[name].build(), 2048, arithmetic="float32")


@pytest.mark.parametrize("name", some(4, [name for name in NAMES if name != "subleq"]))
def test_models_in_float32(name: str, tmp_path: Path) -> None:
    write_huggingface(narrow_model_of(name), tmp_path)
    model, plain = opened(tmp_path), load(narrow_model_of(name), "plain")
    assert model.dtype == torch.float32
    prompt = plain.encode(PROGRAMS[name].encode(PROGRAMS[name].cases[0].input))
    assert said(model, prompt) == list(plain.generate_ids(prompt, MOST))
    with torch.autocast("cpu"), pytest.raises(ValueError, match="products are rounded"):
        said(model, prompt)
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(ValueError, match="is what is proved"):
            said(model, prompt)
    finally:
        torch.set_float32_matmul_precision("highest")
    with pytest.raises(ValueError, match="exact in float32"):
        said(model.double(), prompt)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_logits_and_streams_are_those_of_the_plain_level(attention: str, tmp_path: Path) -> None:
    write_huggingface(model_of("addition"), tmp_path)
    model = opened(tmp_path, attn_implementation=attention)
    plain = load(model_of("addition"), "plain")
    ids = torch.tensor([plain.encode(PROGRAMS["addition"].encode("58 + 67"))])
    found = model(ids, output_hidden_states=True, output_attentions=attention == "eager")
    expected = plain.transformer(ids)
    expected -= expected.amax(dim=-1, keepdim=True)
    assert (found.logits - expected).abs().max() <= 1e-9 * expected.abs().max()
    assert len(found.hidden_states) == len(model.model.layers) + 1
    if attention == "eager":
        assert (found.attentions[0].sum(-1) - 1).abs().max() < 1e-12


def test_a_batch_padded_on_the_left_says_what_each_says_alone(tmp_path: Path) -> None:
    write_huggingface(model_of("addition"), tmp_path)
    model = opened(tmp_path)
    words = transformers.AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=True)
    encode = PROGRAMS["addition"].encode
    texts = ["".join(encode(text)) for text in ("1 + 1", "99999 + 1", "123 + 4567")]
    alone = [said(model, words(text).input_ids) for text in texts]
    inputs = words(texts, padding=True, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    together = model.generate(**inputs, max_new_tokens=MOST)[:, inputs["input_ids"].shape[1] :]
    for own, row in zip(alone, together.tolist(), strict=True):
        assert row[: len(own)] == own


def test_the_tokenizer_has_the_words_and_nothing_else(tmp_path: Path) -> None:
    write_huggingface(model_of("dyck1"), tmp_path)
    words = transformers.AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=True)
    ids = words("(()").input_ids
    assert [model_of("dyck1").vocabulary[n] for n in ids] == ["(", "(", ")"]
    assert words("( ( )").input_ids == ids
    assert words.decode(ids).replace(" ", "") == "(()"
    with pytest.raises(Exception, match="WordLevel"):
        words("(x)")


def counting(longest: int, limit: int) -> Model:
    graph = Graph(["a", "b"])
    graph.emit(["a", "b"], graph.is_token("b"))
    graph.assume(graph.running_sum(graph.is_token("b")).named("number of bs"), 0, limit)
    return compile(graph, longest)


def test_where_nothing_is_proved_it_stops(tmp_path: Path) -> None:
    write_huggingface(counting(8, 3), tmp_path)
    model = opened(tmp_path)
    assert said(model, [0, 1], 2) == [1, 1]
    with pytest.raises(ValueError, match=r"number of bs leaves \[0, 3\]"):
        said(model, [0, 1], 5)
    with pytest.raises(ValueError, match="proved exact for 8 tokens"):
        said(model, [0] * 6, 4)
    with pytest.raises(ValueError, match="exact in float64"):
        opened(tmp_path, dtype=torch.float32)(torch.tensor([[0]]))


@pytest.mark.slow
def test_the_command_writes_it_and_it_needs_nothing_of_curta(tmp_path: Path) -> None:
    assert main(["build", "dyck1", "--emit", "hf", "-o", str(tmp_path / "dyck1")]) == 0
    code = (
        "import sys; sys.modules['curta'] = None\n"
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
        "words = AutoTokenizer.from_pretrained('dyck1', trust_remote_code=True)\n"
        "model = AutoModelForCausalLM.from_pretrained('dyck1', trust_remote_code=True)\n"
        "ids = words('(())', return_tensors='pt').input_ids\n"
        "print(words.decode(model.generate(ids, max_new_tokens=20)[0, ids.shape[1]:]))"
    )
    command = [sys.executable, "-c", code]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split()[-1:] != []
    held = json.loads((tmp_path / "dyck1" / "config.json").read_text())
    assert held["auto_map"]["AutoModelForCausalLM"] == "modeling_curta.CurtaForCausalLM"
