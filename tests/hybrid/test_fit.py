"""Holes and blanks are fitted to examples, and what is found is right in the weights."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from curta.app.command_line import main
from curta.compiler import Graph, compile
from curta.engine import load
from curta.errors import CurtaError
from curta.gallery.own import run_file
from curta.hybrid.fit import UNKNOWN, Example, Hole, Problem, answers, fit
from curta.hybrid.fit_config import FitConfig

PROGRAMS = Path(__file__).parents[2] / "examples" / "fit_programs.py"
SHORT = FitConfig(steps=150, seeds=8)
COOL = FitConfig(steps=30, seeds=6, batch=32)


@pytest.fixture(scope="module")
def problems() -> object:
    return run_file(PROGRAMS)


@pytest.mark.parametrize(
    ("name", "size", "config"),
    [
        ("kernel", 1, SHORT),
        ("table", 3, COOL),
        ("interpreter", 2, COOL),
        pytest.param("automaton", 2, COOL, marks=pytest.mark.slow),
    ],
)
def test_what_is_found_is_right_in_the_weights(
    problems: object, name: str, size: int, config: FitConfig
) -> None:
    problem: Problem = getattr(problems, name)(size)
    best = fit(problem, config).best
    assert best.right == 1
    engine = load(compile(best.graph(problem), 200), "native")
    for example in problem.examples:
        prompt = [best.tokens.get(token, token) for token in example.prompt]
        said = list(engine.generate(prompt, len(example.said)))
        assert all(a in (b, UNKNOWN) for a, b in zip(example.said, said, strict=True))


def test_the_same_seed_finds_the_same(problems: object) -> None:
    problem: Problem = problems.kernel(2)  # type: ignore[attr-defined]
    config = FitConfig(steps=30, seeds=3, seed=5)
    assert fit(problem, config).solutions == fit(problem, config).solutions


def test_a_hidden_program_answers_its_examples(problems: object) -> None:
    """The examples of an automaton are those of some table: graph and prompt go together."""
    problem: Problem = problems.automaton(2)  # type: ignore[attr-defined]
    graph = problem.build()
    names = list(problem.blanks)
    tables = [{}]
    for name in names:
        tables = [{**table, name: may} for table in tables for may in problem.blanks[name]]
    right = [
        table for table in tables if all(answers(graph, one, table) for one in problem.examples)
    ]
    assert right


def test_numbers_are_multiples_of_their_step() -> None:
    def build() -> Graph:
        graph = Graph(["a", "b", "c"])
        graph.emit(["a", "b", "c"], graph.declare("n") * 4)
        return graph

    hole = Hole(0, 1, Fraction(1, 4))
    found = fit(Problem(build, [Example(("a",), ("b",))], {"n": hole}), SHORT)
    assert found.best.numbers == {"n": (Fraction(1, 4),)}
    assert found.solved == len(found.solutions) == SHORT.seeds


def test_a_hole_may_have_a_number_for_each_token() -> None:
    def build() -> Graph:
        graph = Graph(["a", "b", "c", "d"])
        graph.emit(["a", "b", "c", "d"], graph.declare("next"))
        return graph

    examples = [Example((token,), (after,)) for token, after in zip("abc", "bcb", strict=True)]
    found = fit(Problem(build, examples, {"next": Hole(0, 3, tokens=("a", "b", "c"))}), SHORT)
    assert found.best.numbers == {"next": (1, 2, 1)}


def letter(*names: str) -> Graph:
    graph = Graph(["a", "b"])
    graph.emit(["a", "b"], sum(map(graph.declare, names), graph.constant(0)))
    return graph


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (Problem(letter, [Example(("a",), ("b",))], {"n": Hole(0, 1)}), "declared and not defined"),
        (Problem(lambda: letter("n"), [Example(("a",), ("b",))]), "to be fitted: nothing"),
        (Problem(lambda: letter("n"), [], {"n": Hole(0, 1)}), "at least one example"),
        (
            Problem(lambda: letter("n"), [Example(("z",), ("b",))], {"n": Hole(0, 1)}),
            "unknown token 'z'",
        ),
        (
            Problem(lambda: letter("n"), [Example(("a",), ())], {"n": Hole(0, 1)}),
            "nothing is said",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused(problem: Problem, said: str) -> None:
    with pytest.raises(CurtaError, match=said):
        fit(problem, SHORT)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fit", f"{PROGRAMS}:kernel", "--size", "1", "--steps", "150", "--json"]
    assert main([*words, "-o", str(tmp_path / "kernel.safetensors")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["right"] == 1
    assert set(report["numbers"]) == {"a0", "b0"}
    (said,) = load(tmp_path / "kernel.safetensors").generate(["3", "="], 1)
    assert said.isdigit()
    for name, said in (
        (str(PROGRAMS), "FILE.py:NAME"),
        (f"{PROGRAMS}:absent", "has no function absent"),
        (f"{PROGRAMS}:kernel_graph", "missing 1 required"),
    ):
        assert main(["fit", name]) == 2
        assert said in capsys.readouterr().err


def test_a_hole_has_room() -> None:
    for low, high, step in ((5, -5, 1), (0, 1, 0), (float("nan"), 1, 1)):
        with pytest.raises(CurtaError, match="a hole from"):
            Hole(low, high, Fraction(step))
