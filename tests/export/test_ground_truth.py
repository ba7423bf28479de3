"""A case for circuit discovery: the model is the program's, and its edges are all that it needs."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from curta.app.command_line import main
from curta.compiler import Graph, compile
from curta.engine import load
from curta.errors import UserError
from curta.export.circuit import circuit
from curta.gallery.idioms import fetch
from tests.export.test_huggingface import model_of
from tests.support.environments import beside_this_one, run

torch = pytest.importorskip("torch")

from curta.app.build import answered, texts  # noqa: E402
from curta.export.ground_truth import (  # noqa: E402
    Prompt,
    encoded,
    in_residual,
    input_hook,
    named_edges,
    output_hook,
    rotation,
    write_ground_truth,
)
from curta.export.hooked import state_dict  # noqa: E402
from curta.export.positions import most_positions  # noqa: E402

RESIDUALS = ("plain", "rotated", "compressed")
SOME = ("parity", "dyck1", "addition", "sort", "count", "detect_pattern")
OPENED = (*SOME, "subleq")
EXAMPLE = Path(__file__).parents[2] / "examples" / "circuit_discovery.py"


def cases(name: str, most: int = 4) -> list[Prompt]:
    model = model_of(name)
    given = [text for text in texts(name, (), most_positions(model)) if len(text) < 20]
    return answered(model, given[:most])


# -- the slow, obvious evaluation, by parts -------------------------------------------------------


def contributions(
    state: dict[str, Any],
    ids: list[int],
    other: dict[str, Any] | None = None,
    edges: Collection[tuple[str, str]] = (),
) -> dict[str, Any]:
    """What every part writes, and the logits. Who reads gets `other` where there is no edge."""
    own = {
        "hook_embed": state["embed.W_E"][ids],
        "hook_pos_embed": state["pos_embed.W_pos"][: len(ids)],
    }
    later = torch.full((len(ids),) * 2, -torch.inf).double().triu(1)

    def read(target: str) -> Any:
        total = torch.zeros_like(own["hook_embed"])
        for source, written in before.items():
            kept = other is None or (source, target) in edges
            total = total + (written if kept or other is None else other[source])
        return total

    layers = sum(name.endswith("W_in") for name in state)
    for layer in range(layers):
        block, before = f"blocks.{layer}", dict(own)
        for head in range(len(state[f"{block}.attn.W_Q"])):
            query, key, value = (
                read(f"{block}.hook_{way}_input[{head}]")
                @ state[f"{block}.attn.W_{way.upper()}"][head]
                for way in "qkv"
            )
            mixed = (query @ key.T + later).softmax(dim=1) @ value
            own[f"{block}.attn.hook_result[{head}]"] = mixed @ state[f"{block}.attn.W_O"][head]
        before = dict(own)
        x = read(f"{block}.hook_mlp_in")
        gate, expand, contract = (state[f"{block}.mlp.W_{part}"] for part in ("gate", "in", "out"))
        own[f"{block}.hook_mlp_out"] = ((x @ gate).relu() * (x @ expand)) @ contract
    before = dict(own)
    return {**own, "logits": read(f"blocks.{layers - 1}.hook_resid_post") @ state["unembed.W_U"]}


def said(logits: Any, prompt: Prompt) -> list[int]:
    found: list[int] = logits[len(prompt.given) - 1 : -1].argmax(dim=1).tolist()
    return found


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("residual", RESIDUALS)
def test_every_residual_stream_says_what_the_program_says(name: str, residual: Any) -> None:
    model, prompts = model_of(name), cases(name)
    assert prompts
    encodings = [encoded(model, prompt) for prompt in prompts]
    state = in_residual(residual, model, state_dict(model), encodings)
    for prompt, (ids, given) in zip(prompts, encodings, strict=True):
        assert said(contributions(state, ids)["logits"], prompt) == ids[given:]


def test_plain_logits_are_those_of_the_level() -> None:
    model = model_of("addition")
    (prompt,) = cases("addition", 1)
    ids, _ = encoded(model, prompt)
    expected = load(model, "plain").transformer(torch.tensor([ids]))[0]  # type: ignore[attr-defined]
    torch.testing.assert_close(contributions(state_dict(model), ids)["logits"], expected)


# -- edges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SOME, "subtraction", "shuffle_dyck", "shift"])
def test_without_all_other_edges_the_answers_are_the_same(name: str) -> None:
    """All that a part reads along what is no edge comes from another text."""
    model = model_of(name)
    state, edges = state_dict(model), set(named_edges(model))
    encodings = [(prompt, *encoded(model, prompt)) for prompt in cases(name, 6)]
    assert len(encodings) > 1
    for (_, long, _), (prompt, ids, given) in pairwise(encodings):
        corrupt = (long * len(ids))[: len(ids)]
        other = contributions(state, corrupt)
        assert said(contributions(state, ids, other, edges)["logits"], prompt) == ids[given:]


def test_without_some_edges_they_are_not() -> None:
    """Those behind which something was cleared among them."""
    model = model_of("addition")
    state, edges = state_dict(model), named_edges(model)
    (other, _), (ids, given) = (encoded(model, prompt) for prompt in cases("addition")[::2])
    prompt = cases("addition")[2]
    corrupt = contributions(state, (other * len(ids))[: len(ids)])
    for removed in (
        lambda values: True,
        lambda values: all(value.endswith("(cleared)") for value in values),
        lambda values: "carry" in values,
    ):
        left = {pair for pair, values in edges.items() if not removed(values)}
        assert said(contributions(state, ids, corrupt, left)["logits"], prompt) != ids[given:]


def test_edges_are_those_of_the_circuit_and_of_what_was_cleared() -> None:
    model = model_of("addition")
    edges = named_edges(model)
    held = {slot["name"] for slot in model.plan["slots"]} | {"1"}
    values = {pair: [v for v in handed if v in held] for pair, handed in edges.items()}
    expected: dict[tuple[str, str], list[str]] = {}
    for edge in circuit(model)["edges"]:
        pair = output_hook(edge["source"]), input_hook(edge["target"], edge["input"], 3)
        if edge["value"] not in expected.setdefault(pair, []):
            expected[pair].append(edge["value"])
    assert {pair: handed for pair, handed in values.items() if handed} == expected
    assert all(
        v in held or v.removesuffix(" (cleared)") in held for vs in edges.values() for v in vs
    )


# -- residual streams -----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 6, 16, 111])
def test_into_and_out_again_is_nothing(width: int) -> None:
    into, out = rotation(width)
    assert set(into.unique().tolist()) <= {1.0, -1.0}
    assert torch.equal(into @ out, torch.eye(width).double())
    assert torch.equal(out.T * into.shape[1], into)


def test_a_stream_that_says_other_tokens_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where slots that round are mixed with others."""
    monkeypatch.setattr("curta.export.ground_truth.ROUNDS", "no unit")
    for residual in ("rotated", "compressed"):
        with pytest.raises(UserError, match=f"^{residual}: .*--residual plain"):
            write_ground_truth(model_of("sort"), tmp_path, residual, cases("sort"))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_sums_of_halves_keep_their_directions(tmp_path: Path) -> None:
    """They are rounded by less than 1.5 * 2^52."""
    graph = Graph(["a", "b", "c"])
    halves = graph.running_sum(graph.feature("halves", {"b": 0.5}))
    graph.emit(["a", "b", "c"], 2 * (halves - fetch(graph.position - 1, halves)))
    model = compile(graph, 100)
    (prompt,) = answered(model, [["a", "b", "b"]])
    write_ground_truth(model, tmp_path, "rotated", [replace(prompt, said=prompt.said[:9])])
    found = json.loads((tmp_path / "meta.json").read_text())["measured"]
    assert found["same_tokens"] == found["tokens"] == 9
    assert found["logit_difference"] < 1e-6


def test_a_model_without_heads_and_units(tmp_path: Path) -> None:
    graph = Graph(["a", "b"])
    graph.emit(["a", "b"], graph.is_token("a"))
    write_ground_truth(compile(graph), tmp_path)
    pairs = [("hook_embed", "blocks.0.hook_resid_post")]
    assert pickle.loads((tmp_path / "edges.pkl").read_bytes()) == pairs


# -- the command ----------------------------------------------------------------------------------


def test_the_command_writes_a_case(tmp_path: Path) -> None:
    command = ["build", "dyck1", "--emit", "ground-truth", "--residual", "rotated"]
    assert main([*command, "-o", str(tmp_path), "--prompt", "( ) =", "--prompt", "( ="]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        *("ll_model.pth", "ll_model_cfg.pkl", "edges.pkl", "meta.json", "circuit.json")
    }
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["prompts"] == [
        {"given": ["(", ")", "="], "said": ["yes", "."]},
        {"given": ["(", "="], "said": ["no", "."]},
    ]
    assert meta["measured"]["tokens"] == meta["measured"]["same_tokens"] == 4
    assert meta["measured"]["logit_difference"] < 1e-9
    edges = pickle.loads((tmp_path / "edges.pkl").read_bytes())
    assert edges == [(edge["source"], edge["target"]) for edge in meta["edges"]]
    assert edges[0] == ("hook_embed", "blocks.0.hook_v_input[0]")
    assert ("blocks.4.attn.hook_v[0]", "blocks.4.attn.hook_result[0]") in edges
    told = json.loads((tmp_path / "circuit.json").read_text())
    assert told == json.loads(json.dumps(circuit(model_of("dyck1"))))
    config = pickle.loads((tmp_path / "ll_model_cfg.pkl").read_bytes())
    state = torch.load(tmp_path / "ll_model.pth")
    heads, wide, narrow = (config[name] for name in ("n_heads", "d_model", "d_head"))
    assert state["embed.W_E"].shape == (config["d_vocab"], wide)
    assert state["pos_embed.W_pos"].shape == (config["n_ctx"], wide) == (512, meta["d_model"])
    for layer in range(config["n_layers"]):
        assert state[f"blocks.{layer}.attn.W_Q"].shape == (heads, wide, narrow)
        assert state[f"blocks.{layer}.attn.W_O"].shape == (heads, narrow, wide)
        assert state[f"blocks.{layer}.mlp.W_out"].shape == (config["d_mlp"], wide)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dyck1", "--emit", "c", "--residual", "rotated"], "--residual .* for --emit c"),
        (["dyck1", "--prompt", "( ="], "for --emit safetensors"),
        (["dyck1", "--emit", "ground-truth", "--prompt", "( q"], "unknown token 'q'"),
        (["dyck1", "--emit", "ground-truth", "--prompt", "( " * 600], "a prompt of 600"),
        (["machine", "--emit", "ground-truth"], "not of the machine"),
        (["own.py", "--emit", "ground-truth"], "own.py has no cases; give a prompt"),
    ],
)
def test_what_does_not_go_together_is_said(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("from curta.gallery.dyck1 import build\n")
    assert main(["build", *arguments, "-o", "made"]) == 2
    assert re.search(words, capsys.readouterr().err)
    assert not Path("made").exists()


# -- TransformerLens ------------------------------------------------------------------------------

SAME = """
import json, pickle, torch
from pathlib import Path
from transformer_lens import HookedTransformer, HookedTransformerConfig

def node(name):
    hook, _, index = name.partition("[")
    return hook, int(index.removesuffix("]")) if index else None

for folder in sorted(Path().iterdir()):
    # the steps of InterpBench's loader of models, and of its reader of edges
    config = HookedTransformerConfig.from_dict(pickle.load(open(folder / "ll_model_cfg.pkl", "rb")))
    config.device = "cpu"
    model = HookedTransformer(config)
    model.load_state_dict(torch.load(folder / "ll_model.pth", map_location="cpu"))
    edges = pickle.load(open(folder / "edges.pkl", "rb"))
    for hook, index in (node(end) for edge in edges for end in edge):
        assert hook in model.hook_dict, hook
        assert (index is not None) == (".attn." in hook or hook.endswith("_input"))
        assert index is None or index < config.n_heads, (hook, index)
    meta = json.loads((folder / "meta.json").read_text())
    assert [(edge["source"], edge["target"]) for edge in meta["edges"]] == edges
    for prompt in meta["prompts"]:
        ids = [meta["vocabulary"].index(token) for token in prompt["given"] + prompt["said"]]
        given, logits = len(prompt["given"]), model(torch.tensor([ids]))[0]
        assert logits.dtype == torch.float64
        assert logits[given - 1 : -1].argmax(dim=1).tolist() == ids[given:]
        print(folder.name, json.dumps([ids, logits.tolist()]))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return beside_this_one(tmp_path_factory.mktemp("hooked") / "env", "transformer-lens<4")


@pytest.mark.slow
def test_a_hooked_transformer_says_the_same(python: Path, tmp_path: Path) -> None:
    for name in OPENED:
        for residual in RESIDUALS:
            folder = tmp_path / f"{name}-{residual}"
            write_ground_truth(model_of(name), folder, residual, cases(name))  # type: ignore[arg-type]
    lines = [line.split(" ", 1) for line in run(python, SAME, tmp_path).splitlines()]
    assert len(lines) == len(RESIDUALS) * sum(len(cases(name)) for name in OPENED)
    for folder_name, found in lines:
        name, residual = folder_name.split("-")
        if residual == "plain":
            ids, logits = json.loads(found)
            plain = load(model_of(name), "plain").transformer  # type: ignore[attr-defined]
            expected = plain(torch.tensor([ids]))[0]
            torch.testing.assert_close(torch.tensor(logits).double(), expected)


@pytest.mark.slow
def test_the_example_scores_both_methods(python: Path, tmp_path: Path) -> None:
    code = f"sys.argv = ['', 'copy', 'dyck1']\nimport runpy\nrunpy.run_path({str(EXAMPLE)!r}, "
    table = run(python, f"{code}run_name='__main__')", tmp_path)
    for name in ("copy", "dyck1"):
        (line,) = (line for line in table.splitlines() if line.startswith(name))
        _, attribution, patching = (part.split() for part in line.split("|"))
        assert attribution[1] == "0.50"  # gradients of a saturated softmax
        assert 0.5 < float(attribution[0]) <= float(patching[0]) <= 1
