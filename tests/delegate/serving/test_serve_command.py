"""`curta serve`, from its options to Ctrl-C."""

from __future__ import annotations

import copy
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("uvicorn")

from curta.app.command_line import main, read
from curta.delegate.serving.limits import Limits
from curta.errors import UserError
from tests.support.tiny_language_models import chat_tokenizer, model, tools_tokenizer

SCRIPT = "import sys; from curta.app.entry import main; sys.exit(main())"
IMPORTS = """
import sys
import curta.app.command_line, curta.delegate.commands.serve
heavy = {"torch", "transformers", "starlette", "uvicorn"} & set(sys.modules)
assert not heavy, heavy
"""


def test_limits_are_options() -> None:
    _, options = read("serve", ["--model", "m", "--queue", "3"])
    assert options.limits == Limits(queue=3)
    with pytest.raises(UserError, match=r"^prompt_step = 0: must be at least 1"):
        Limits(prompt_step=0)


def test_the_calculator_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import curta.delegate.interception.generator  # noqa: F401 (has a calculator of its own)
    from curta.delegate import calculator, models

    asked: list[object] = []
    exact = calculator.Calculator()
    monkeypatch.setattr(
        models, "load", lambda *given, **options: (model("grouped queries"), chat_tokenizer())
    )
    monkeypatch.setattr(
        calculator,
        "Calculator",
        lambda name: asked.append(name) or exact,
    )
    _, options = read("serve", ["--model", "m", "--backend", "machine", "--device", "cpu"])
    assert options.generator().calculator is exact
    assert asked == ["machine"]


def test_tools_and_formats_are_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from curta.delegate import models

    monkeypatch.setattr(
        models, "load", lambda *given, **options: (model("grouped queries"), tools_tokenizer())
    )
    describe = f"{Path(__file__).parent.parent}/tools/statistics_tool.py:describe"
    _, options = read("serve", ["--model", "m", "--tool", describe])
    made = options.generator()
    assert [tool.name for tool in made.tools] == ["calculate", "describe"]
    assert "m writes the model's own tool calls (<tool_call>)" in capsys.readouterr().err
    _, options = read("serve", ["--model", "m", "--format", "inline"])
    assert options.generator().calling.format.name == "inline calls"
    _, options = read("serve", ["--model", "m", "--tool", "absent.c"])
    with pytest.raises(UserError, match=r"there is no file absent\.c"):
        options.generator()


@pytest.mark.parametrize(
    ("words", "is_kept", "said"),
    [
        ([], True, "writes inline calls\n"),
        (["--tool", "TOOL"], True, "inline calls of the calculator; for other tools name a larger"),
        (["--format", "prompted"], False, "without curta's adapter, which was taught inline calls"),
        (["--adapter", "none"], False, "writes calculations in the model's own words\n"),
    ],
)
def test_the_adapter_that_comes_along_is_used_for_inline_calls(
    words: list[str],
    is_kept: bool,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from curta.delegate import models
    from curta.delegate.interception.protocol import Protocol

    def load(name: str, *, adapter: Path | None, device: str | None) -> tuple[object, object]:
        asked.append(adapter)
        made = model("grouped queries")
        if adapter is not None:
            monkeypatch.setattr(made, "calculator_protocol", Protocol(), raising=False)
        return made, chat_tokenizer()

    asked: list[Path | None] = []
    monkeypatch.setattr(models, "load", load)
    describe = f"{Path(__file__).parent.parent}/tools/statistics_tool.py:describe"
    _, options = read("serve", [describe if word == "TOOL" else word for word in words])
    options.generator()
    assert asked == [models.BUNDLED[models.SMOLLM2] if is_kept else None]
    assert said in capsys.readouterr().err


def test_tools_need_a_marker_that_can_have_their_names() -> None:
    from curta.delegate.interception.generator import CalcGenerator
    from curta.delegate.interception.protocol import Protocol
    from curta.delegate.tools import tools_of

    file = f"{Path(__file__).parent.parent}/tools/statistics_tool.py"
    with pytest.raises(UserError, match="leave out --tool, or the adapter"):
        CalcGenerator(
            model("grouped queries"),
            chat_tokenizer(),
            protocol=Protocol(open="[[", close="]]"),
            tools=tools_of([f"{file}:describe"]),
        )


@pytest.mark.parametrize(
    ("option", "value"),
    [("batch", "0"), ("queue", "-1"), ("time-limit", "0"), ("time-limit", "nan")],
)
def test_limits_that_are_none(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--model", "m", f"--{option}", value]) == 2
    assert f"{option.replace('-', '_')} = {value}" in capsys.readouterr().err


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--model", "m", "--port", port]) == 2
    assert f"--port {port}" in capsys.readouterr().err


def test_a_model_that_there_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--model", str(tmp_path), "--port", "0"]) == 2
    assert "no model of this name" in capsys.readouterr().err


def test_packages_that_are_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["serve", "--model", "m", "--port", "0"]) == 2
    assert "pip install 'curta[delegate,web]'" in capsys.readouterr().err


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr


@pytest.mark.slow
def test_the_command_says_where_it_listens_and_ends_with_control_c(tmp_path: Path) -> None:
    copy.deepcopy(model("grouped queries")).float().save_pretrained(tmp_path)
    chat_tokenizer().save_pretrained(tmp_path)
    command = ["serve", "--model", str(tmp_path), "--port", "0", "--served-name", "tiny"]
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *command], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[2]
            line = process.stdout.readline()
            assert line.startswith(f"curl {address}/chat/completions")
            body = line.partition(" -d '")[2].rstrip("'\n")
            asked = urllib.request.Request(
                f"{address}/chat/completions", body.encode(), method="POST"
            )
            with urllib.request.urlopen(asked) as answer:
                assert json.load(answer)["model"] == "tiny"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
