"""The process: streams that are not there, interruptions at any time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from curta.app import entry

GREETING = """
#include <stdio.h>
int main(void) { puts("out"); fputs("err\\n", stderr); return 3; }
"""


class InterruptedImport:
    """Ctrl-C while the command line is imported."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "curta.app.command_line":
            raise KeyboardInterrupt
        return None


def test_an_interruption_of_the_imports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "curta.app.command_line", raising=False)
    monkeypatch.setattr(sys, "meta_path", [InterruptedImport(), *sys.meta_path])
    assert entry.main() == 130
    assert capsys.readouterr().err == "curta: interrupted\n"


def test_an_interruption_of_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("curta.app.gallery.run", interrupted)
    monkeypatch.setattr(sys, "argv", ["curta", "gallery"])
    assert entry.main() == 130
    assert capsys.readouterr().err == "curta: interrupted\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no sh")
@pytest.mark.parametrize(
    ("closed", "out", "err"), [(">&-", "", "err\n"), ("2>&-", "out\n", ""), (">&- 2>&-", "", "")]
)
def test_a_stream_that_was_closed_takes_nothing(
    tmp_path: Path, closed: str, out: str, err: str
) -> None:
    source = tmp_path / "greeting.c"
    source.write_text(GREETING)
    options = "run --level reference --stats none"
    finished = subprocess.run(
        ["sh", "-c", f'"$0" -m curta {options} "$1" {closed}', sys.executable, str(source)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (3, out, err)
