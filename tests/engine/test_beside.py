"""What another process does, and how it ends."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

from curta.engine import beside


def test_it_ends_with_what_a_function_returns() -> None:
    process = beside.begin(len, "abc")
    assert process is not None
    assert process.wait() == len("abc")


def test_it_imports_nothing_from_where_this_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pickle.py", "curta.py"):
        (tmp_path / name).write_text("raise SystemExit('taken for another one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    process = beside.begin(len, "abc")
    assert process is not None
    assert process.wait() == len("abc")


def test_where_no_more_can_be_begun_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere")
    assert beside.begin(len, "abc") is None


def test_a_compiler_ends_with_what_it_works_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes where somebody would read, as long as it lives."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    compiler = tmp_path / "python"
    compiler.write_text(f"#!/bin/sh\ncat > /dev/null\n(echo begun; exec sleep 600) > {pipe}\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(compiler))
    process = beside.begin(len, "abc")
    assert process is not None
    with pipe.open() as said:
        assert said.readline() == "begun\n"
        beside.stop(process)
        assert select.select([said], [], [], 60)[0], "it lives on"
        assert said.read() == ""
