"""The exported model in PyTorch says what the JAX model says."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from curta.engine.hull import CausalAttention, attach
from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.config import Sampling
from curta.learn.evaluation.decode import generate
from curta.learn.experiment import Experiment, Setup
from curta.learn.export import torch_module
from curta.learn.export.write import EXPORTED, arrays, export
from curta.learn.language import Rows
from curta.learn.models.config import ModelConfig
from curta.learn.models.transformer import Transformer
from curta.learn.positions.base import Positions
from curta.learn.training.state import new_model
from tests.support.filled_models import filled
from tests.support.slow import some
from tests.support.written_rows import places_of, written_rows

TINY = ModelConfig(width=8, layers=2, heads=2, feedforward=12)


def setup(**options: object) -> Setup:
    experiment = Experiment(positions="learned", model=TINY, sampling=Sampling(digits=(1, 3)))
    return Setup(experiment.with_(**options))


def trained(here: Setup) -> Transformer:
    """A model as training might leave it."""
    return filled(lambda: new_model(here, key=jax.random.key(0)))


def drawn(here: Setup, count: int = 4) -> Rows:
    texts = ("57+24=18#", "999+1=0001#", "0+0=0#", "7+305=213#")
    return written_rows(here.language, texts[:count], width=here.sampler.width)


def exported(here: Setup, model: Transformer, path: Path) -> torch_module.Transformer:
    export(model, here, path / "model.safetensors")
    return torch_module.load(path / "model.safetensors")


def jax_logits(here: Setup, model: Transformer, rows: Rows) -> np.ndarray:
    places = places_of(here, rows)
    return np.asarray(eqx.filter_jit(model)(rows.tokens, places))


def torch_logits(there: torch_module.Transformer, rows: Rows) -> np.ndarray:
    """Row by row, because the prompts have different lengths."""
    each = [
        there(torch.tensor(tokens[None]), prompt_length=int(prompt))[0].detach().numpy()
        for tokens, prompt in zip(np.array(rows.tokens), rows.prompt_length, strict=True)
    ]
    return np.stack(each)


CASES: dict[str, dict[str, object]] = {
    "none": {"positions": "none", "norm": "post", "activation": "relu"},
    "sinusoidal": {"positions": "sinusoidal", "norm": "none", "activation": "bilinear"},
    "learned": {"positions": "learned(offset=3)", "activation": "gated", "tied": False},
    "abacus": {"positions": "abacus(offset=9)", "loops": 3, "injection": True},
    "coupled": {"positions": "coupled", "layers": 1},
    "coupled_both": {"positions": "coupled", "format": "reversed_both", "layers": 1},
    "aligned": {"positions": "aligned(reach=1)", "layers": 1},
    "rope": {"positions": "rope", "head_width": 5, "loops": 2},
    "alibi": {"positions": "alibi", "heads": 4, "norm": "post"},
    "t5": {"positions": "t5(buckets=6, furthest=9)"},
    "fire": {"positions": "fire(threshold=5)", "norm": "none"},
    "combined": {"positions": 'combined(first="abacus", second="fire")'},
    "compiled": {
        "positions": "compiled(heads='first second origin_first-1 multiplier', others='fire')",
        "heads": 5,
        "width": 10,
    },
    "compiled_trained": {
        "positions": "compiled(heads='last last_but_one mark-1 token-1 multiplicand "
        "origin_second', others='rope', frozen=False, sharpness=1)",
        "heads": 8,
    },
    "whole": {"positions": "rope", "format": "whole(places=4)", "layers": 1},
}


@pytest.mark.parametrize("name", some(5, CASES))
def test_logits_are_the_same(name: str, tmp_path: Path) -> None:
    here = setup(**CASES[name])
    model, rows = trained(here), drawn(here)
    there = exported(here, model, tmp_path)
    ours, theirs = jax_logits(here, model, rows), torch_logits(there, rows)
    np.testing.assert_allclose(theirs, ours, atol=1e-4 * max(1, np.abs(ours).max()))
    assert ours.std() > 0.1
    said = there.most_likely(torch.tensor(ours)).numpy()
    np.testing.assert_array_equal(said, model.most_likely(jnp.asarray(ours)))


def test_every_scheme_is_exported() -> None:
    """A scheme that is new in the lab has to be taught to the PyTorch module, or named here."""
    assert set(catalogue.parts(Positions)) == set(EXPORTED)
    assert {str(case["positions"]).split("(")[0] for case in CASES.values()} | {
        "randomised"
    } == set(EXPORTED)


def test_randomised_places_have_to_be_given(tmp_path: Path) -> None:
    here = setup(positions='randomised(of="learned", range=64)')
    model, rows = trained(here), drawn(here)
    there = exported(here, model, tmp_path)
    with pytest.raises(ValueError, match="give places="):
        torch_logits(there, rows)
    places = places_of(here, rows)
    theirs = there(torch.tensor(np.array(rows.tokens)), torch.tensor(np.array(places)))
    ours = jax_logits(here, model, rows)
    np.testing.assert_allclose(theirs.detach().numpy(), ours, atol=1e-4 * np.abs(ours).max())


@pytest.mark.parametrize(
    "options",
    [
        {"positions": 'combined(first="coupled", second="fire")', "loops": 2, "injection": True},
        {"format": "whole(places=4)", "positions": "rope"},
    ],
    ids=["digits", "whole"],
)
def test_it_says_what_greedy_decoding_says(options: dict[str, object], tmp_path: Path) -> None:
    """There with a cache and places of half-written rows, here by reading all again."""
    here = setup(pauses=2, **options)
    model, rows = trained(here), drawn(here)
    there = exported(here, model, tmp_path)
    decoded = generate(model, here, rows)
    alphabet = here.language.alphabet
    for tokens, prompt in zip(np.asarray(decoded), rows.prompt_length, strict=True):
        expected = alphabet.decode(tokens[int(prompt) :]).removesuffix("#")
        question = alphabet.decode(tokens[: int(prompt) - 2])
        assert there.say(question) == expected


def test_text_is_read_as_the_lab_reads_it(tmp_path: Path) -> None:
    for options, text in (({"format": "reversed(base=100)"}, "0712+99="), ({}, "12+345=")):
        here = setup(**options)
        there = exported(here, trained(here), tmp_path)
        tokens = here.language.alphabet.encode(text)
        assert there.encode(text) == tokens
        assert there.decode(tokens) == text
        with pytest.raises(ValueError, match="'1x': the symbols of this model are # 0"):
            there.encode("1x")


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    here = setup()
    path = tmp_path / "model.safetensors"
    export(trained(here), here, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]
    named = load_file(path)
    other = tmp_path / "other.safetensors"
    save_file(named, other)
    with pytest.raises(ValueError, match="not a model of curta's lab"):
        torch_module.load(other)
    save_file(named, other, metadata={"curta_learn": json.dumps({"version": 99})})
    with pytest.raises(ValueError, match="version 99 of the format, this file reads 1"):
        torch_module.load(other)
    assert set(named) == set(torch_module.load(path).state_dict())


def test_a_scheme_of_the_users_own_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "from curta.learn.positions.base import Positions\n\n"
        "@dataclass(frozen=True)\nclass Mine(Positions):\n"
        "    name = 'mine'\n    about = 'none of those'\n"
    )
    here = setup(positions=str(file))
    with pytest.raises(ExperimentError, match="positions mine cannot be exported"):
        export(trained(here), here, tmp_path / "model.safetensors")


def test_the_module_stands_alone() -> None:
    """Neither JAX nor the rest of curta is needed where the file is copied to."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(Path(torch_module.__file__).read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).split(".")[0])
    assert imported - sys.stdlib_module_names == {"torch", "safetensors"}


def test_hull_caches_answer_its_attention(tmp_path: Path) -> None:
    """Heads of width 2; with every key among the k best, the answer is that of the softmax."""
    here = setup(positions="abacus", heads=4, head_width=2, loops=2, injection=True)
    model, rows = trained(here), drawn(here, 2)
    there = exported(here, model, tmp_path)
    tokens = torch.tensor(np.array(rows.tokens))
    places = there.places(tokens)
    with torch.inference_mode():
        softmax = there(tokens, places)
        for index in range(len(there.attentions)):
            there.attentions[index] = CausalAttention()
        there.eval()
        with attach(there, mode="topk", k=tokens.shape[1]) as hulls:
            torch.testing.assert_close(there(tokens, places), softmax, atol=1e-4, rtol=1e-4)
            with hulls.stream():
                steps = [
                    there(tokens[:, at : at + 1], places[:, at : at + 1])
                    for at in range(tokens.shape[1])
                ]
        torch.testing.assert_close(torch.cat(steps, dim=1), softmax, atol=1e-4, rtol=1e-4)
        with attach(there, mode="hard"):
            hard = there(tokens, places)
    assert not torch.allclose(hard, softmax, atol=1e-2), "one key is not a softmax over all"


def test_arrays_are_in_full_precision() -> None:
    here = setup()
    model = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), trained(here))
    assert {value.dtype for value in arrays(model).values()} == {np.dtype(np.float32)}
