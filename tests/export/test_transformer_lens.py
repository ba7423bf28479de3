"""A folder for transformers, opened by TransformerLens: here, where it is installed, and in an
environment of its own.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from curta.engine import load
from curta.engine.model_cache import compile_cached
from curta.export import write_huggingface
from curta.gallery import PROGRAMS
from tests.support.environments import beside_this_one, run

torch = pytest.importorskip("torch")

NAMES = ("addition", "multiplication", "dyck1", "sort_records")
PAGE = Path(__file__).parents[2] / "docs" / "exports.md"

SAME = """
import torch
from transformers import AutoModelForCausalLM
from curta.export.transformer_lens import bridge

model = bridge(NAME)
folder = AutoModelForCausalLM.from_pretrained(NAME, trust_remote_code=True)
for ids in map(torch.tensor, PROMPTS):
    logits, cache = model.run_with_cache(ids)
    assert torch.equal(logits, folder(ids).logits)
    found = folder(ids, output_hidden_states=True, output_attentions=True)
    for layer in range(model.cfg.n_layers):
        assert torch.equal(cache[f"blocks.{layer}.hook_resid_post"], found.hidden_states[layer + 1])
        pattern = found.attentions[layer]
        assert torch.equal(cache["pattern", layer][:, : pattern.shape[1]], pattern)
        z, output = cache["z", layer], model.blocks[layer].attn.W_O
        told = torch.einsum("bphd,hdm->bpm", z, output)
        assert (told - cache["attn_out", layer]).abs().max() <= 1e-9 * (1 + told.abs().max())
    said = model.generate(ids, max_new_tokens=20, do_sample=False, verbose=False)
    expected = folder.generate(ids, max_new_tokens=20)
    assert torch.equal(said, expected), (said, expected)
print("same")
"""

PATCHED = """
from curta.export.transformer_lens import bridge

model = bridge("addition")
words = model.tokenizer(["58+67=", "51+64="], return_tensors="pt").input_ids
clean, other = words[:1], words[1:]
logits, cache = model.run_with_cache(clean)
begun = model(other)
assert not (begun == logits).all()
for layer in range(model.cfg.n_layers):
    name = f"blocks.{layer}.hook_resid_post"
    patched = model.run_with_hooks(other, fwd_hooks=[(name, lambda x, hook: cache[hook.name])])
    assert (patched == logits).all()

def nothing(x, hook):
    return 0 * x

pattern = model.run_with_hooks(clean, fwd_hooks=[("blocks.1.attn.hook_pattern", nothing)])
z = model.run_with_hooks(clean, fwd_hooks=[("blocks.1.attn.hook_z", nothing)])
assert (pattern == z).all()
assert not (pattern == logits).all()
print("patched")
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return beside_this_one(tmp_path_factory.mktemp("lens") / "env", "transformer-lens>=4.3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models")
    for name in NAMES:
        program = PROGRAMS[name]
        write_huggingface(compile_cached(program.build(), program.max_tokens), place / name)
    return place


def test_a_small_program_is_opened_here(tmp_path: Path) -> None:
    pytest.importorskip("transformer_lens", reason="TransformerLens is not installed")
    from curta.export.transformer_lens import bridge

    program = PROGRAMS["dyck1"]
    compiled = compile_cached(program.build(), program.max_tokens)
    write_huggingface(compiled, tmp_path)
    engine = load(compiled, "plain")
    prompt = engine.encode(program.encode("(()())"))
    ids = [*prompt, *engine.generate_ids(prompt, 2)]
    logits, cache = bridge(str(tmp_path)).run_with_cache(torch.tensor([ids]))
    assert logits[0, len(prompt) - 1 : -1].argmax(-1).tolist() == ids[len(prompt) :]
    streams = engine.residuals(ids)
    for layer in range(len(compiled.plan["layers"])):
        stream = cache[f"blocks.{layer}.hook_resid_post"][0].numpy()
        np.testing.assert_array_equal(stream, streams[:, 2 * layer + 2])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_logits_streams_and_patterns_are_those_of_the_folder(
    name: str, python: Path, folder: Path
) -> None:
    program = PROGRAMS[name]
    words = program.build().tokens
    prompts = [[[words[word] for word in program.encode(c.input)]] for c in program.cases[:2]]
    code = f"NAME, PROMPTS = {name!r}, {prompts}\n{SAME}"
    assert run(python, code, folder).endswith("same\n")


@pytest.mark.slow
def test_interventions_reach_what_comes_after(python: Path, folder: Path) -> None:
    assert run(python, PATCHED, folder).endswith("patched\n")


@pytest.mark.slow
def test_the_page_says_what_happens(python: Path, folder: Path) -> None:
    """The code of the page prints what its comments say."""
    (code,) = re.findall(
        r"```text\n(from curta.export.transformer_lens.*?)```", PAGE.read_text(), re.S
    )
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    assert expected
    said = run(python, code.replace("addition-hf", "addition"), folder)
    assert [line for line in said.splitlines() if line in expected] == expected
