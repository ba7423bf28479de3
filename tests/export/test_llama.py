"""A compiled model as a Llama: opened by transformers' own class, the same tokens and logits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.app.command_line import main
from curta.compiler import Graph, at_least, compile
from curta.engine import load
from curta.errors import CertificateError, UserError
from curta.export import llama
from curta.export.llama import BEGIN, MOST_TOKENS, write_llama
from curta.gallery import NAMES, PROGRAMS
from tests.export.test_huggingface import model_of, narrow_model_of
from tests.support.environments import beside_this_one, run
from tests.support.slow import some

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
MOST = 60
NARROW = [name for name in NAMES if name != "subleq"]


def opened(folder: Path, **options: Any) -> Any:
    return transformers.LlamaForCausalLM.from_pretrained(folder, **options).eval()


def begun(name: str, text: str) -> list[int]:
    """The tokens of an input, BEGIN in front."""
    model = narrow_model_of(name)
    tokens = load(model, "evaluate").encode(PROGRAMS[name].encode(text))
    return [len(model.vocabulary), *tokens]


@pytest.mark.parametrize("name", some(5, NARROW))
def test_it_says_what_the_plain_level_says(name: str, tmp_path: Path) -> None:
    write_llama(narrow_model_of(name), tmp_path)
    model, plain = opened(tmp_path), load(narrow_model_of(name), "plain")
    for case in PROGRAMS[name].cases[:3]:
        ids = begun(name, case.input)
        if len(ids) < MOST_TOKENS - MOST:
            found = model.generate(torch.tensor([ids]), max_new_tokens=MOST)[0, len(ids) :]
            assert found.tolist() == list(plain.generate_ids(ids[1:], MOST))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["sort", "histogram", "prefix_fractions"])
def test_logits_and_streams_are_the_same_to_the_bit(
    name: str, attention: str, tmp_path: Path
) -> None:
    compiled = narrow_model_of(name)
    write_llama(compiled, tmp_path)
    model = opened(tmp_path, attn_implementation=attention)
    ids = begun(name, PROGRAMS[name].cases[0].input)
    with torch.inference_mode():
        found = model(torch.tensor([ids]), output_hidden_states=True)
    width, layers = compiled.plan["width"], len(compiled.plan["layers"])
    streams = load(compiled, "plain").residuals(ids[1:])
    for layer in range(layers):
        mine = found.hidden_states[len(found.hidden_states) - 1 - layers + layer]
        assert np.array_equal(mine[0, 1:, :width].numpy(), streams[:, 2 * layer])
    logits = streams[:, -1].astype(np.float32) @ compiled.weights["unembedding.weight"].T
    assert np.array_equal(found.logits[0, 1:, :-1].numpy(), logits)


def test_it_holds_to_the_last_token(tmp_path: Path) -> None:
    write_llama(narrow_model_of("majority"), tmp_path)
    ids = begun("majority", "abb" * (MOST_TOKENS // 3 - 2))
    with torch.inference_mode():
        found = opened(tmp_path)(torch.tensor([ids])).logits[0, 1:].argmax(-1).tolist()
    session = load(narrow_model_of("majority"), "hull").session()
    assert found == [session.feed(token) for token in ids[1:]]


def test_the_tokenizer_begins_and_rows_are_filled_up_on_the_left(tmp_path: Path) -> None:
    write_llama(narrow_model_of("addition"), tmp_path)
    words = transformers.AutoTokenizer.from_pretrained(tmp_path)
    model = opened(tmp_path)
    given = words(["58+67=", "1+2="], return_tensors="pt", padding=True)
    assert words.decode(given.input_ids[0][:2]) == f"{BEGIN} 5"
    said = words.batch_decode(model.generate(**given, max_new_tokens=20), skip_special_tokens=True)
    assert [text.partition("~")[2].replace(" ", "").partition(".")[0] for text in said] == [
        "125",
        "3",
    ]


def test_promises_and_lengths_that_a_llama_has_no_place_for(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--arithmetic float32"):
        write_llama(model_of("parity"), tmp_path)
    graph = Graph(["a", "b"])
    graph.emit(["a", "b"], graph.is_token("a"))
    with pytest.raises(UserError, match="counts to 2,048"):
        write_llama(compile(graph, 3000, arithmetic="float32"), tmp_path)
    named = Graph([BEGIN])
    named.emit([BEGIN], named.constant(0))
    with pytest.raises(UserError, match="rename it"):
        write_llama(compile(named, 10, arithmetic="float32"), tmp_path)


def test_what_would_not_be_exact_is_refused(tmp_path: Path) -> None:
    fine = Graph(["a", "b"])
    small = fine.feature("small", {"a": 2.0**-24, "b": 0})
    seen = fine.lookup(query=fine.position - 1, key=fine.position, value=small, missing="nearest")
    fine.emit(["a", "b"], fine.gate(seen, seen) * 2.0**48)
    model = compile(fine, 10, arithmetic="float32")
    with pytest.raises(CertificateError, match=r"steps of 2\*\*-24 is too fine for a Llama"):
        write_llama(model, tmp_path)
    large = Graph(["a", "b"])
    huge = large.feature("huge", {"a": 2.0**50, "b": 0})
    seen = large.lookup(query=large.position - 1, key=large.position, value=huge, missing="nearest")
    large.emit(["a", "b"], at_least(seen * 2.0**-50, 1))
    with pytest.raises(CertificateError, match="too large"):
        write_llama(compile(large, 10, arithmetic="float32"), tmp_path)


def test_a_wrong_count_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, "SEGMENTS", 1)
    with pytest.raises(CertificateError, match="from a whole number"):
        write_llama(narrow_model_of("parity"), tmp_path)


SAME = """
import torch
from transformers import LlamaForCausalLM
from transformer_lens.model_bridge import TransformerBridge

bridge = TransformerBridge.boot_transformers("llama", dtype=torch.float32)
model = LlamaForCausalLM.from_pretrained("llama").eval()
ids = torch.tensor([[model.config.bos_token_id, 1, 2, 3, 4, 1]])
with torch.inference_mode():
    logits, cache = bridge.run_with_cache(ids)
    assert torch.equal(logits, model(ids).logits)
    streams = model(ids, output_hidden_states=True).hidden_states
for layer in range(bridge.cfg.n_layers - 1):
    assert torch.equal(cache[f"blocks.{layer}.hook_resid_post"], streams[layer + 1])
print("same")
"""


@pytest.mark.slow
def test_transformer_lens_takes_it_for_any_llama(tmp_path: Path) -> None:
    python = beside_this_one(tmp_path / "lens", "transformer-lens>=4.3")
    write_llama(narrow_model_of("sort"), tmp_path / "llama")
    assert run(python, SAME, tmp_path).endswith("same\n")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["build", "dyck1", "--emit", "llama", "-o", str(tmp_path / "dyck1")]
    assert main(asked) == 2
    assert "build it with --arithmetic float32" in capsys.readouterr().err
    assert main([*asked, "--arithmetic", "float32"]) == 0
    assert opened(tmp_path / "dyck1").config.num_hidden_layers == 11
