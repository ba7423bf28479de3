"""Sources in a folder of their own, and what the compiler is started for."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from curta.machine import toolchain
from curta.machine.libc.build import PIECES

HELLO = """\
#include <assert.h>
#include <stdio.h>
#include "answer.h"
int main(int count, char **words) {
    assert(count < 3);
    printf("%s %d %.3f\\n", words[0], ANSWER, 1.5);
    return count;
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hello.c").write_text(HELLO)
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    long_ago(tmp_path / "hello.c", tmp_path / "answer.h")
    return tmp_path


SECONDS = itertools.count(1_000_000_000)


def long_ago(*paths: Path) -> None:
    """Files that were changed this very moment are not trusted to be what was compiled. Every
    change has a time of its own: zig looks at nothing else.
    """
    for path in paths:
        second = next(SECONDS)
        os.utime(path, (second, second))


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the compiler was started for; not what it linked again, with fewer pieces of libc."""
    started: list[str] = []
    original = toolchain.run

    def run(command, environment, watcher):  # type: ignore[no-untyped-def]
        if {str(path) for piece in PIECES for path in piece.objects} <= set(command):
            started.append(" ".join(command))
        return original(command, environment, watcher)

    monkeypatch.setattr(toolchain, "run", run)
    return started
