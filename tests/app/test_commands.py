"""Every command: help without heavy imports, defaults that are the dataclasses', shapes of JSON."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from curta import __version__
from curta.app import doctor
from curta.app.command_line import main
from curta.app.commands import COMMANDS, EXTRAS, GROUPS, NEEDED, ROOMS, listed, module_of
from curta.app.parser import parse
from curta.options import MISSING, build, described_by, meanings_of, options_of, shown
from tests.support.commands_page import MARK, PAGE, differences, generated, modules, shape
from tests.support.slow import all_but

Capture = pytest.CaptureFixture[str]
LIGHT = """
import sys
from curta.app.command_line import main
try:
    sys.exit(main(sys.argv[1:]))
finally:
    heavy = {"torch", "jax", "numpy", "transformers", "rich", "argparse"} & set(sys.modules)
    print(sorted(heavy), file=sys.stderr)
"""


def said(capsys: Capture, *words: str) -> tuple[int, str, str]:
    try:
        code = main(words)
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


# -- help ---------------------------------------------


@pytest.mark.parametrize("name", ["", *GROUPS, *COMMANDS])
def test_help_works_and_imports_nothing_heavy(name: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", LIGHT, *name.split(), "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "[]\n")
    assert finished.stdout.startswith(f"usage: {f'curta {name}'.strip()} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_a_frozen_dataclass_and_a_function(name: str) -> None:
    module = import_module(module_of(name))
    assert list(signature(module.run).parameters) == ["options"]
    assert get_type_hints(module.run)["return"] is int
    for kind in (module.Options, getattr(module, "Report", module.Options)):
        assert kind.__dataclass_params__.frozen
        assert described_by(kind)[0]
        fields = {one.name for one in dataclasses.fields(kind)}
        assert meanings_of(kind).keys() <= fields, "no meaning is of something else"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_meaning_and_its_default_is_shown(name: str, capsys: Capture) -> None:
    module = import_module(module_of(name))
    out = " ".join(said(capsys, *name.split(), "--help")[1].split())
    for option in options_of(module.Options):
        assert option.meaning, option.name
        assert " ".join(option.explained.split()) in out
        if option.default not in (MISSING, None, (), "") and not option.is_flag:
            assert option.explained.endswith(f" ({shown(option.default, option.kind)})")
    for path, _, text in shape(module.Report) if hasattr(module, "Report") else ():
        assert text, path


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_not_given_is_as_the_dataclass_has_it(name: str) -> None:
    configuration = import_module(module_of(name)).Options
    options = options_of(configuration)
    needed = [one for one in options if one.default is MISSING]
    words = [word for one in needed for word in ([] if one.is_word else [one.flag]) + ["bash"]]
    given = {one.name: ("bash",) if one.is_many else "bash" for one in needed}
    made = build(configuration, given)
    assert parse(name, configuration, words) == made
    for option in options:
        if option.default is not MISSING and not option.part and not option.on_top:
            assert getattr(made, option.name) == option.default


@pytest.mark.parametrize("name", COMMANDS)
def test_a_default_that_is_written_is_the_default(name: str) -> None:
    configuration = import_module(module_of(name)).Options
    needed = {
        one.name: ("bash",) if one.is_many else "bash"
        for one in options_of(configuration)
        if one.default is MISSING
    }
    written, given = list[str](), dict(needed)
    for option in options_of(configuration):
        if option.name in needed:
            written += ["bash"] if option.is_word else [option.flag, "bash"]
        elif option.is_flag and (option.default or option.on_top):
            written.append(option.flag if option.default else f"--no-{option.flag[2:]}")
            given[option.name] = option.default
        elif not option.is_word and option.default not in (None, ()) and not option.is_flag:
            written += [option.flag, shown(option.default, option.kind)]
            given[option.name] = option.default
    assert parse(name, configuration, written) == build(configuration, given)


def test_options_of_one_name_have_one_default() -> None:
    """The second stage of training has some of the first one's."""
    for name, module in modules().items():
        defaults: dict[str, Any] = {}
        for part in dataclasses.fields(module.Options):
            kind = part.default_factory
            if isinstance(kind, type) and dataclasses.is_dataclass(kind):
                for one in options_of(kind):
                    assert defaults.setdefault(one.name, one.default) == one.default, name


def test_the_tables_are_about_commands() -> None:
    names = {*COMMANDS, *GROUPS}
    assert set(ROOMS) | set(NEEDED) <= names
    assert {extra for extras in NEEDED.values() for extra in extras} <= set(EXTRAS)
    assert doctor.OPTIONAL.keys() == EXTRAS.keys()
    assert set(listed()) == {name.split()[0] for name in COMMANDS}


def test_the_page_about_commands_is_what_they_are() -> None:
    assert PAGE.read_text().partition(MARK)[2] == generated() + "\n", (
        "python tests/support/commands_page.py writes docs/commands.md anew"
    )


# -- words ---------------------------------------------


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["galery"], "curta: there is no command galery: did you mean gallery? (see"),
        (["learn", "rn"], "curta learn: there is no command rn: did you mean run? (see"),
        (["learn"], "curta learn: COMMAND is missing (see"),
        (["calc", "evl", "1"], "curta calc: there is no command evl: did you mean eval? (see"),
        (["calc", "evla", "1"], "curta calc: there is no command evla: did you mean eval? (see"),
        (
            ["cache", "--claer"],
            "curta cache: there is no option --claer: did you mean --clear? (see",
        ),
        (["build", "parity"], "curta build: --output is missing (see"),
        (["build", "-o"], "curta build: -o needs a value (see"),
        (["cache", "--clear=yes"], "curta cache: --clear takes no value (see"),
        (["gallery", "a", "b", "c"], "curta gallery: c does not belong to anything (see"),
        (["completion", "sh"], "curta completion: SHELL sh: one of bash, zsh, fish (see"),
    ],
)
def test_mistakes_are_one_line(words: list[str], error: str, capsys: Capture) -> None:
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(error)
    assert err.count("\n") == 1


def test_ways_to_write_options() -> None:
    options = import_module("curta.app.build").Options
    wanted = options(name="x", output="-f", max_tokens=1000)
    for words in (
        "x -o -f --max-tokens 1000",
        "--max-tokens=1,000 x --output -f",
        "-o-f --max 1_000 -- x",
        "--out=-f --max-t=1000 x",
    ):
        assert parse("build", options, words.split()) == wanted
    assert parse("build", options, ["-1", "-o", "f"]).name == "-1"  # a number is no option


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_the_version(group: str, capsys: Capture) -> None:
    assert said(capsys, *group.split(), "--version") == (0, f"curta {__version__}\n", "")


# -- JSON ---------------------------------------------

LEARN = (
    "run addition --width 16 --layers 1 --heads 2 --feedforward 16 --steps 4 --batch 8 --chunk 4 "
    "--digits 1..2 --warmup 0 --test-samples 8 --test 16 --out learned"
)
JSON = {
    "run": ["run sum.wat --invoke sum 2 3 --level reference"],
    "resume": ["run sum.wat --invoke sum 2 3 --level reference --keep kept", "resume kept"],
    "verify": ["verify sum.wat --invoke sum --level hull -- 2 3"],
    "disasm": ["disasm sum.wat --proof"],
    "gallery": ["gallery parity 0111"],
    "build": ["build parity -o parity.safetensors"],
    "inspect": ["build parity -o parity.safetensors", "inspect parity.safetensors --verify"],
    "calc eval": ["calc eval 1/3 2+2 sqrt(2)"],
    "delegate data": [
        "delegate data --out data --train 20 --valid 2 --test 2 --negatives 0 --arithmetic 1"
    ],
    "cache": ["cache models hot"],
    "doctor": ["doctor"],
    "learn run": [f"learn {LEARN}"],
    "learn resume": ["learn resume learned"],
    "learn evaluate": ["learn evaluate learned --samples 8"],
    "learn ask": ["learn ask learned 57+24="],
    "learn sweep": ["learn sweep sweep.toml --out swept"],
}
"""Commands, the last of which is asked for figures. Runs stay for those that follow."""
ELSEWHERE = {
    "bake", "learn units", "learn profile", "delegate train", "delegate evaluate", "hybrid train",
    "hybrid evaluate", "fit",
}  # fmt: skip
"""Commands whose reports are looked at where the rest of them is tested."""
SWEEP = """
[base]
task = "addition"
steps = 4
width = 16
layers = 1
heads = 2
feedforward = 16
batch = 8
chunk = 4
digits = [1, 2]
warmup = 0
test_samples = 8
test = 16

[grid]
learning_rate = [1e-3]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    (folder / "sum.wat").write_text(
        """(module (func (export "sum") (param i32 i32) (result i32)
          (i32.add (local.get 0) (local.get 1))))"""
    )
    (folder / "sweep.toml").write_text(SWEEP)
    return folder


@pytest.mark.parametrize("name", all_but([name for name in JSON if name[:5] != "learn"], JSON))
def test_figures_are_as_the_page_says(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    if name.startswith("learn"):
        pytest.importorskip("jax")
    monkeypatch.chdir(folder)
    Path("kept").unlink(missing_ok=True)
    shutil.rmtree("data", ignore_errors=True)
    *before, last = JSON[name]
    for command in before:
        assert said(capsys, *command.split())[0] == 0
    command, *words = last.split(" -- ")
    given = [*command.split(), "--json", *(["--", *words[0].split()] if words else [])]
    code, out, err = said(capsys, *given)
    assert code == 0, err
    module = import_module(module_of(name))
    (line,) = (err if hasattr(module.Options, "stats") else out).splitlines()[-1:]
    assert list(differences(module.Report, json.loads(line))) == []
    if not hasattr(module.Options, "stats"):
        assert out.count("\n") == 1


def test_all_reports_are_looked_at() -> None:
    reports = {name for name, module in modules().items() if hasattr(module, "Report")}
    assert reports == {*JSON, *ELSEWHERE}, "a command with a Report has a row in JSON"


# -- shells and doctors ---------------------------------------------


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["ru"], {"run"}),
        (["learn", ""], {"run", "ask", "units"}),
        (["run", "--le"], {"--level"}),
        (["run", "--level", ""], {"native", "reference"}),
        (["run", "--level", "=", "hu"], {"hull"}),
        (["learn", "list", "t"], {"tasks"}),
        (["calc", "eval", "--backend", "m"], {"machine"}),
    ],
)
def test_what_can_follow(words: list[str], some: set[str], capsys: Capture) -> None:
    code, out, _ = said(capsys, "completion", "bash", "--", *words)
    found = [line.split("\t")[0] for line in out.splitlines()]
    assert code == 0
    assert some <= set(found)
    assert all(word.startswith(words[-1]) for word in found)
    assert said(capsys, "completion", "bash", "--", "run", "examples/")[1] == ""  # a file


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_for_shells(shell: str, tmp_path: Path, capsys: Capture) -> None:
    code, script, _ = said(capsys, "completion", shell)
    assert code == 0
    assert f"curta completion {shell} -- " in script
    if shutil.which(shell) is not None:
        file = tmp_path / "script"
        file.write_text(script)
        subprocess.run([shell, "-n", str(file)], check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "curta").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m curta "$@"\n')
    (tmp_path / "curta").chmod(0o755)
    script = said(capsys, "completion", "bash")[1]
    asked = 'COMP_WORDS=(curta gallery --level ""); COMP_CWORD=3; _curta; echo "${COMPREPLY[*]}"'
    finished = subprocess.run(
        ["bash", "-c", f'PATH="{tmp_path}:$PATH"\n{script}\nIFS=" "\n{asked}'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout == "evaluate plain hull native speculative\n"


def test_what_the_system_refuses_is_named(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").touch()
    out = str(tmp_path / "file" / "below")
    code, _, err = said(capsys, "delegate", "data", "--train", "5", "--out", out)
    assert code == 1
    assert err.startswith(f"curta: {tmp_path / 'file'}")
    assert err.count(": ") == 2


def test_the_doctor_finds_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert said(capsys, "doctor")[0] == 0
    monkeypatch.setenv("CURTA_CC", "no-such-compiler")
    monkeypatch.setenv("CURTA_CACHE", "/proc/nowhere")
    monkeypatch.setattr("curta.engine.toolchain.find_zig", lambda: None)
    monkeypatch.setattr("curta.app.doctor.missing", lambda extra: list(EXTRAS[extra]))
    monkeypatch.setattr("webbrowser.get", no_browser)
    code, out, _ = said(capsys, "doctor")
    assert code == 2
    lines = {line[9:24].strip(): line for line in out.splitlines()}
    for name, words in (
        ("C compiler", "no-such-compiler"),
        ("zig", "pip install ziglang"),
        ("cache", "set CURTA_CACHE"),
    ):
        assert lines[name].startswith("MISSING ")
        assert words in lines[name]
    for name, words in (
        ("torch", "pip install 'curta[torch]'"),
        ("learn", "pip install 'curta[learn]'"),
        ("browser", "open reports on another machine"),
    ):
        assert lines[name].startswith("missing ")
        assert words in lines[name]
    code, out, _ = said(capsys, "doctor", "--json")
    assert (code, json.loads(out)["well"]) == (2, False)


def no_browser() -> None:
    import webbrowser

    raise webbrowser.Error("none")


def test_what_the_server_is_installed_with_is_what_it_is_missed_for() -> None:
    declared = tomllib.loads(
        (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    )
    wanted = declared["project"]["optional-dependencies"]["web"]
    names = {each.partition(">")[0].replace("-", "_") for each in wanted}
    assert set(EXTRAS["web"]) == names
