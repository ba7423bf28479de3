"""`examples/check_trace.py`, in a Python that cannot import curta: what it accepts and refuses."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from curta.app.command_line import main
from curta.engine import load, save_trace
from curta.engine.model_cache import compile_cached
from curta.gallery import PROGRAMS
from curta.machine.bake import bake
from tests.support.model_page import function

CHECKER = Path(__file__).parents[2] / "examples" / "check_trace.py"
PYTHON = [sys.executable, "-I", "-W", "error"]
ONE_AFTER_ANOTHER = """
import contextlib, io, json, runpy, sys
sys.modules["curta"] = None
checker, runs = json.load(sys.stdin)
found = []
for files in runs:
    sys.argv = [checker, *files]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(checker, run_name="__main__")
        except SystemExit as end:
            found.append([end.code, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""
ECHO = """
(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (func (export "_start") (local i32)
    (loop $next
      (local.set 0 (call $read))
      (if (i32.ge_s (local.get 0) (i32.const 0)) (then
        (call $write (i32.const 1) (local.get 0))
        (br $next))))))
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the checker ended, and its one line."""

    code: int
    line: str

    def __repr__(self) -> str:
        return f"{self.code} {self.line}"


def check(*runs: tuple[Path, Path]) -> list[Verdict]:
    """The verdicts on models and traces, all in one process, which has no curta."""
    given = json.dumps([str(CHECKER), [[str(path) for path in files] for files in runs]])
    finished = subprocess.run(
        [*PYTHON, "-c", ONE_AFTER_ANOTHER], input=given, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    verdicts = []
    for code, out, err in json.loads(finished.stdout):
        silent, said = (out, err) if code == 2 else (err, out)
        assert silent == ""
        (line,) = said.splitlines()
        verdicts.append(Verdict(code, line))
    return verdicts


@dataclass(frozen=True)
class Files:
    """A model file and a trace file, as what they consist of."""

    weights: dict[str, Any]
    content: Any
    """The model's metadata, as JSON."""
    trace: dict[str, Any]
    about: dict[str, str]

    def write(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        model, trace = folder / "model.safetensors", folder / "trace.safetensors"
        metadata = {"curta": text(self.content)}
        model.write_bytes(safetensors.numpy.save(self.weights, metadata=metadata))
        trace.write_bytes(safetensors.numpy.save(self.trace, metadata=self.about))
        return model, trace

    def signed(self) -> Files:
        """The same trace, claimed of the model as it is now."""
        digest = function("digest")(self.weights, text(self.content))
        return replace(self, about={**self.about, "model": digest})

    def with_weight(self, name: str, value: Any) -> Files:
        return replace(self, weights={**self.weights, name: value}).signed()

    def with_trace(self, **tensors: Any) -> Files:
        return replace(self, trace={**self.trace, **tensors})

    def with_content(self, part: str, entry: str, value: Any) -> Files:
        return replace(self, content={**self.content, part: {**self.content[part], entry: value}})


def text(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"))


def trace_of(name: str, case: int, folder: Path) -> tuple[Path, Path]:
    """What a program of the gallery says to one of its inputs."""
    program = PROGRAMS[name]
    model = compile_cached(program.build(), program.max_tokens)
    folder.mkdir(parents=True)
    engine = load(model, "evaluate")
    prompt = program.encode(program.cases[case].input)
    said = list(engine.generate(prompt))
    files = folder / "model.safetensors", folder / "trace.safetensors"
    model.save(files[0])
    given = [1] * len(prompt) + [0] * len(said)
    save_trace(files[1], model, engine.encode([*prompt, *said]), given)
    return files


def read(model: Path, trace: Path) -> Files:
    weights, metadata = function("read")(model)
    return Files(weights, json.loads(metadata["curta"]), *function("read")(trace))


@pytest.fixture(scope="module")
def addition(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return read(*trace_of("addition", 0, tmp_path_factory.mktemp("gallery") / "addition"))


def test_it_has_nothing_of_curta() -> None:
    source = CHECKER.read_text()
    assert len(source.splitlines()) <= 300
    nodes = list(ast.walk(ast.parse(source)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    foreign = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    assert foreign == {"numpy", "safetensors"}


def test_as_a_command(addition: Files, tmp_path: Path) -> None:
    right = addition.write(tmp_path / "right")
    wrong = changed(addition, -1, 0).write(tmp_path / "wrong")
    absent = (right[0], tmp_path / "absent.safetensors")
    codes = [
        subprocess.run([*PYTHON, str(CHECKER), *files], capture_output=True, check=False).returncode
        for files in (right, wrong, absent)
    ]
    assert codes == [0, 1, 2]


# -- what is right ----------------------------------------


def accepts(runs: Sequence[tuple[Path, Path]]) -> None:
    verdicts = dict(zip(runs, check(*runs), strict=True))
    assert {files: verdict for files, verdict in verdicts.items() if verdict.code} == {}


def test_the_gallery(tmp_path: Path) -> None:
    accepts([trace_of(name, 0, tmp_path / name) for name in PROGRAMS])


@pytest.mark.slow
def test_all_cases_of_the_gallery(tmp_path: Path) -> None:
    cases = [(name, n) for name, program in PROGRAMS.items() for n in range(len(program.cases))]
    accepts([trace_of(name, case, tmp_path / f"{name}-{case}") for name, case in cases])


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("echo.wat").write_text(ECHO)
    return tmp_path


SAVED = ["--stats", "none", "--stdin", "some words", "--save-trace", "trace.safetensors"]


@pytest.mark.usefixtures("echo")
@pytest.mark.slow
def test_the_machine() -> None:
    files = Path("model.safetensors"), Path("trace.safetensors")
    assert main(["build", "machine", "-o", str(files[0])]) == 0
    assert main(["run", "echo.wat", "--level", "hull", *SAVED]) == 0
    found = read(*files)
    claimed = np.flatnonzero(found.trace["given"] == 0)
    within = claimed[:-1][np.diff(claimed) == 1]  # no given token behind it
    wrong = changed(found, int(within[-1]), 7)
    accepted, refused = check(files, wrong.write(Path("wrong")))
    assert accepted.code == 0
    assert accepted.line.startswith(f"all {len(claimed):,} tokens are what the model says (")
    assert refused.code == 1
    assert f"position {within[-1]}: " in refused.line


@pytest.mark.slow
@pytest.mark.usefixtures("echo")
def test_a_baked_program_in_several_chapters() -> None:
    files = Path("baked.safetensors"), Path("trace.safetensors")
    bake("echo.wat").save(files[0])
    options = ["--level", "hull", "--chapter-tokens", "60"]
    assert main(["run", str(files[0]), *options, *SAVED]) == 0
    trace, _ = function("read")(files[1])
    assert len(trace["starts"]) > 1
    (verdict,) = check(files)
    assert verdict.code == 0
    assert f"in {len(trace['starts'])} sequences" in verdict.line


# -- what is wrong ----------------------------------------


def changed(files: Files, place: int, token: int) -> Files:
    tokens = files.trace["tokens"].copy()
    tokens[place] = token
    return files.with_trace(tokens=tokens)


@pytest.mark.parametrize("name", ["addition", "dyck1", "subleq"])
def test_every_wrong_token_is_found(name: str, tmp_path: Path) -> None:
    """At every claimed place of a trace, with three wrong tokens for each right one."""
    files = read(*trace_of(name, 0, tmp_path / "right"))
    names, tokens = files.content["plan"]["vocabulary"], files.trace["tokens"].tolist()
    runs, lines = [], []
    for place in np.flatnonzero(files.trace["given"] == 0).tolist():
        right = tokens[place]
        for wrong in {(right + n) % len(names) for n in (1, 2, -1)} - {right}:
            runs.append(changed(files, place, wrong).write(tmp_path / f"{place}-{wrong}"))
            said = f"has {names[wrong]!a} ({wrong}), the model says {names[right]!a} ({right})"
            lines.append(f"{runs[-1][1]}, sequence 0, position {place}: the trace {said}")
    assert check(*runs) == [Verdict(1, line) for line in lines]


def infinite(files: Files) -> Files:
    weight = files.weights["embedding.weight"].copy()
    weight[0, 0] = np.inf
    return files.with_weight("embedding.weight", weight)


def scaled(files: Files, name: str, factor: float) -> Files:
    return files.with_weight(name, files.weights[name] * factor)


def guarded(files: Files, **parts: Any) -> Files:
    """With one promise: slot 0, the constant, is 1."""
    guard = {"name": "one", "period": 0, "terms": [[0, 1]], "low": 1, "high": 1, **parts}
    return files.with_content("plan", "guards", [guard]).signed()


FIRST = "layers.0.attention"
WRONG: dict[str, tuple[Callable[[Files], Files], int, str]] = {
    # whoever edits a model has another one
    "stops": (lambda f: f.with_content("plan", "stops", [0]), 2, "another model"),
    "guards": (lambda f: f.with_content("plan", "guards", []), 2, "another model"),
    "limit": (
        lambda f: f.with_content("certificate", "softmax_tokens", 2**30),
        2,
        "another model",
    ),
    "weights": (
        lambda f: replace(scaled(f, "unembedding.weight", 2.0), about=f.about),
        2,
        "another model",
    ),
    "upper case": (
        lambda f: replace(f, about={**f.about, "model": f.about["model"].upper()}),
        2,
        "another model",
    ),
    # a trace of the model as it was edited
    "said by others": (lambda f: scaled(f, "unembedding.weight", -1.0), 1, "the model says"),
    "no longer a stop": (
        lambda f: f.with_content("plan", "stops", []).signed().with_trace(given=alternating(f)),
        2,
        "a given token out of turn",
    ),
    "too long": (
        lambda f: f.with_content("certificate", "softmax_tokens", 17).signed(),
        2,
        "sequence 0 is longer than 17 tokens",
    ),
    "broken promise": (lambda f: guarded(f, high=0.5, low=0), 2, "position 0: the promise 'one'"),
    "period": (lambda f: guarded(f, period=99), 2, "makes no sense"),
    "slot": (lambda f: guarded(f, terms=[[-1, 1]]), 2, "makes no sense"),
    "terms": (lambda f: guarded(f, terms=[0, 1]), 2, ""),
    "bounds": (lambda f: guarded(f, low="0"), 2, ""),
    "stop 34": (lambda f: f.with_content("plan", "stops", [34]).signed(), 2, "tokens do not fit"),
    "no vocabulary": (
        lambda f: f.with_content("plan", "vocabulary", []).signed(),
        2,
        "tokens do not fit",
    ),
    "version": (
        lambda f: replace(f, content={**f.content, "version": 2}).signed(),
        2,
        "its format has version 2, not 1",
    ),
    "content": (lambda f: replace(f, content=[]).signed(), 2, "it is not a model file"),
    "not finite": (infinite, 2, "not finite"),
    "overflow": (lambda f: scaled(f, "embedding.weight", 1e300), 2, "numbers are too large"),
    "huge feature": (
        lambda f: f.with_weight("position.offset", f.weights["position.offset"] + 2**62),
        2,
        "a feature of the positions is too large",
    ),
    "divisor": (
        lambda f: f.with_weight("position.divisor", f.weights["position.divisor"] * 0),
        2,
        "out of range",
    ),
    "head width": (
        lambda f: f.with_weight(f"{FIRST}.head_width", np.array(5)),
        2,
        "heads of width 5 do not fit",
    ),
    "float32": (
        lambda f: f.with_weight(
            "unembedding.weight", f.weights["unembedding.weight"].astype(np.float32)
        ),
        2,
        "is not float64",
    ),
    "another tensor": (lambda f: f.with_weight("bias", np.zeros(1)), 2, "should be no tensor"),
    # traces
    "int64": (lambda f: f.with_trace(tokens=f.trace["tokens"].astype("i8")), 2, "is not int32"),
    "bool": (lambda f: f.with_trace(given=f.trace["given"] == 1), 2, "is not uint8"),
    "empty": (
        lambda f: f.with_trace(tokens=np.zeros(0, "i4"), given=np.zeros(0, "u1")),
        2,
        "do not start where they should",
    ),
    "no sequence": (lambda f: f.with_trace(starts=np.zeros(0, "i8")), 2, "do not start"),
    "late start": (lambda f: f.with_trace(starts=np.array([1])), 2, "do not start"),
    "starts": (lambda f: f.with_trace(starts=np.array([0, 3, 3])), 2, "do not start"),
    "short": (lambda f: f.with_trace(given=f.trace["given"][1:]), 2, "has a size 17"),
    "token 34": (lambda f: changed(f, 0, 34), 2, "tokens that are unknown"),
    "token -1": (lambda f: changed(f, 0, -1), 2, "tokens that are unknown"),
    "nobody": (lambda f: f.with_trace(given=f.trace["given"] * 0), 2, "out of turn"),
    "out of turn": (lambda f: f.with_trace(given=alternating(f)), 2, "out of turn"),
    "trace 2": (lambda f: replace(f, about={**f.about, "curta": "trace 2"}), 2, "format 1"),
}


def alternating(files: Files) -> Any:
    return np.arange(len(files.trace["given"]), dtype="u1") % 2 ^ 1


def test_what_is_wrong_is_said_in_one_line(addition: Files, tmp_path: Path) -> None:
    assert addition.content["plan"]["guards"]
    assert len(addition.trace["tokens"]) == 18
    assert len(addition.content["plan"]["vocabulary"]) == 34
    runs = [make(addition).write(tmp_path / name) for name, (make, *_) in WRONG.items()]
    right = addition.signed().write(tmp_path / "right")
    expected = {name: code for name, (_, code, _) in WRONG.items()} | {"right": 0}
    verdicts = dict(zip([*WRONG, "right"], check(*runs, right), strict=True))
    assert {name: verdict.code for name, verdict in verdicts.items()} == expected
    for name, (_, _, words) in WRONG.items():
        assert words in verdicts[name].line, name
        assert str(tmp_path / name) in verdicts[name].line


def test_a_file_that_is_none(addition: Files, tmp_path: Path) -> None:
    model, trace = addition.write(tmp_path / "right")
    broken = tmp_path / "broken"
    broken.mkdir()
    pairs = [(model, tmp_path), (tmp_path / "absent", trace), (trace, trace), (model, model)]
    for number, share in enumerate([0, 4, 8, 100, -40, -1]):
        for path, place in ((model, 0), (trace, 1)):
            cut = broken / f"{number}-{path.name}"
            cut.write_bytes(path.read_bytes()[:share])
            pairs.append((cut, trace) if place == 0 else (model, cut))
    assert [verdict.code for verdict in check(*pairs)] == [2] * len(pairs)


def test_a_promise_has_to_hold_where_nothing_is_claimed(addition: Files, tmp_path: Path) -> None:
    """Also behind the last claim; but not at the last token, which nobody reads."""
    claims = np.ones(18, dtype="u1")
    claims[8] = 0
    stops = [int(addition.trace["tokens"][8])]
    files = addition.with_content("plan", "stops", stops).with_trace(given=claims)
    slot = int(np.flatnonzero(files.weights["position.weight"].any(axis=1))[0])
    x = next(function("streams")(files.weights, files.trace["tokens"]))[:, slot]
    largest = np.maximum.accumulate(x)
    assert largest[15] > largest[14]
    both = [
        guarded(files, terms=[[slot, 1]], low=float(x.min()), high=float(largest[end]))
        for end in (14, 16)
    ]
    verdicts = check(*[one.write(tmp_path / f"{n}") for n, one in enumerate(both)])
    assert [verdict.code for verdict in verdicts] == [2, 0]
    assert "position 15: the promise 'one' is broken" in verdicts[0].line
