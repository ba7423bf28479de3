"""Contributions add up to what they contribute to, and circuit-tracer reads the file."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from curta.app.command_line import main
from curta.compiler import Graph, compile
from curta.engine import load
from curta.export.attribution import Attribution, Numbers, Place, attribution, write_attribution
from curta.export.circuit import CONSTANT
from curta.gallery import PROGRAMS
from curta.gallery.idioms import fetch, table
from tests.export.test_huggingface import model_of
from tests.support.environments import beside_this_one, run

torch = pytest.importorskip("torch")
NAMES = (
    *("addition", "dyck1", "sort", "reverse", "multiplication", "prefix_fractions"),
    *("parity", "counter"),
)

READ = """
import json
from circuit_tracer.frontend.graph_models import Model

held = json.load(open("graph.json"))
read = Model.model_validate(held)
assert [json.loads(node.model_dump_json()) for node in read.nodes] == held["nodes"]
assert read.links == held["links"]
assert read.metadata.model_dump().items() <= held["metadata"].items()
print(len(read.nodes))
"""


def prompt_of(name: str, more: int) -> list[int]:
    """The first case, and some of what is said."""
    program, plain = PROGRAMS[name], load(model_of(name), "plain")
    prompt = plain.encode(program.encode(program.cases[0].input))
    return [*prompt, *plain.generate_ids(prompt, more)]


@pytest.mark.parametrize("name", NAMES)
def test_streams_and_the_token_are_those_of_the_plain_level(name: str) -> None:
    ids = prompt_of(name, 2)
    graph, plain = Attribution(model_of(name), ids), load(model_of(name), "plain")
    halves = plain.transformer.half_layers(torch.tensor([ids]), plain.transformer.new_cache())
    for ours, theirs in zip(graph.run.streams, halves, strict=True):
        np.testing.assert_allclose(ours, theirs[0].numpy(), rtol=1e-14, atol=0)
    assert graph.token == next(iter(plain.generate_ids(ids, 1)))


@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up(name: str) -> None:
    """To a logit and to what a head writes without their constants; to a product, once by each of
    its factors.
    """
    graph = Attribution(model_of(name), prompt_of(name, 0))
    totals: defaultdict[Place, float] = defaultdict(float)
    for (_, target), weight in graph.links.items():
        totals[target] += weight
    assert graph.root in totals
    for target in graph.places:
        part = graph.parts[target.part]
        if part.kind in ("embedding", "position"):
            assert target not in totals
            continue
        stream = graph.run.streams[part.half - 1]
        assert totals[target] == pytest.approx(expected(graph, target, stream), rel=1e-9, abs=1e-9)


def expected(graph: Attribution, target: Place, stream: Numbers) -> float:
    weights = graph.model.weights
    free = stream.copy()
    free[:, CONSTANT] = 0
    if target.part == "logits":
        return float(free[-1] @ weights["unembedding.weight"][graph.token])
    layer, place = target.part.split(".")
    name, place = f"layers.{layer[1:]}", int(place[1:])
    if target.slot >= 0:
        width = graph.model.plan["layers"][int(layer[1:])]["head_width"]
        rows = slice(place * width, (place + 1) * width)
        value = weights[f"{name}.attention.value.weight"][rows]
        output = weights[f"{name}.attention.output.weight"][target.slot, rows]
        return float(graph.run.patterns[target.part][target.position] @ free @ value.T @ output)
    gate, expand = (
        weights[f"{name}.feed_forward.{way}.weight"][place] for way in ("gate", "expand")
    )
    at, its = stream[target.position], free[target.position]
    opened = float(at @ gate > 0)
    return float(opened * (at @ expand * (its @ gate) + at @ gate * (its @ expand)))


def test_reversing_is_told_in_three_nodes() -> None:
    """The token that is fetched, the head that fetches it, and what is said."""
    graph = attribution(model_of("reverse"), prompt_of("reverse", 0), "reverse")
    token, head, logit = graph["nodes"]
    assert (token["layer"], head["clerp"].split(",")[0], logit["feature_type"]) == (
        *("E", "a1.h0", "logit"),
    )
    assert token["clerp"] == model_of("reverse").vocabulary[logit["feature"]]
    assert [(link["source"], link["target"]) for link in graph["links"]] == [
        (token["node_id"], head["node_id"]),
        (head["node_id"], logit["node_id"]),
    ]


def test_influences_of_what_everything_passes_through_are_whole() -> None:
    graph = Attribution(model_of("addition"), prompt_of("addition", 1))
    influences = graph.influences()
    assert influences[graph.root] == 1
    tokens = [influences[place] for place in graph.places if place.half == 0]
    assert sum(tokens) == pytest.approx(1)


def test_a_model_without_heads_and_units() -> None:
    graph = Graph(["a", "b"])
    graph.emit(["a", "b"], graph.is_token("a"))
    found = attribution(compile(graph), [0], "a")
    assert [node["layer"] for node in found["nodes"]] == ["E", "3"]


def test_contributions_that_cancel_out() -> None:
    """x * (10 - x) does not grow with x where x is 5."""
    graph = Graph([str(number) for number in range(26)])
    x = fetch(graph.position, table(graph, "x", [str(number) for number in range(10)]))
    graph.emit([str(number) for number in range(26)], graph.gate(x, 10 - x))
    found = Attribution(compile(graph), [5])
    assert (found.token, 0 in found.links.values()) == (25, True)
    assert all(np.isfinite(share) for share in found.influences().values())


def test_a_prompt_that_breaks_a_promise_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, path = tmp_path / "own.py", tmp_path / "graph.json"
    own.write_text(
        "from curta.compiler import Graph\n"
        "def build():\n"
        "    graph = Graph(['a', 'b'])\n"
        "    graph.emit('ab', graph.assume(graph.running_sum(graph.is_token('b')), 0, 1))\n"
        "    return graph\n"
    )
    command = ["build", str(own), "--emit", "attribution", "-o", str(path), "--prompt"]
    assert main([*command, "a b a"]) == 0
    path.unlink()
    assert main([*command, "a b b"]) != 0
    assert "promised in [0, 1]" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.slow
def test_circuit_tracer_reads_it(tmp_path: Path) -> None:
    python = beside_this_one(tmp_path / "env", "--no-deps", "circuit-tracer>=0.5")
    write_attribution(
        model_of("addition"), prompt_of("addition", 1), "sum", tmp_path / "graph.json"
    )
    nodes = json.loads((tmp_path / "graph.json").read_text())["nodes"]
    assert int(run(python, READ, tmp_path)) == len(nodes)


def test_the_command_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "sum.json"
    command = ["build", "addition", "--emit", "attribution", "-o", str(path)]
    assert main(command) == 0
    first = json.loads(path.read_text())
    assert first == attribution(model_of("addition"), prompt_of("addition", 0), "sum")
    assert main([*command, "--prompt", "5 1 + 6 4 ="]) == 0
    assert json.loads(path.read_text())["metadata"]["prompt"] == "5 1 + 6 4 ="


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--prompt", "1 + 1 =", "--prompt", "2 + 2 ="], "give one --prompt"),
        (["--prompt", "1 + one"], "unknown token 'one'"),
        (["--prompt", ""], "the prompt is empty"),
        (["--prompt", " ".join(["1"] * 512)], "at most 511"),
        (["--max-tokens", "4"], "no case of addition has room in 4 tokens"),
        (["--residual", "rotated"], "--residual is for --emit ground-truth"),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sum.json"
    command = ["build", "addition", "--emit", "attribution", "-o", str(path)]
    assert main([*command, *options]) == 2
    assert words in capsys.readouterr().err
    assert not path.exists()
