"""`curta run --keep` and `curta resume`, in processes that are killed as well."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from curta import Machine
from curta.app.command_line import main
from curta.machine.kept.journal import MAGIC
from tests.machine.kept.kept_program import MODULE

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    path = tmp_path / "program.wasm"
    path.write_bytes(MODULE)
    return str(path)


def test_the_commands(file: str, tmp_path: Path, capsys: Capture) -> None:
    kept = str(tmp_path / "run.curta")
    begin = ["run", file, "--chapter-tokens", "300", "--keep", kept]
    assert main([*begin, "--invoke", "add", "--", "4000000000", "3"]) == 0
    assert capsys.readouterr().out == "4000000013\n-1\n"
    assert main(["resume", kept]) == 0
    said = capsys.readouterr()
    assert said.out == "4000000013\n-1\n"
    assert f"{kept}: at its end, in chapter 1" in said.err
    assert main(["run", kept]) == 2
    assert f"`curta resume {kept}` goes on with it" in capsys.readouterr().err
    assert main([*begin, "--trace"]) == 2
    assert "--trace shows a run, --keep keeps it" in capsys.readouterr().err

    limited = str(tmp_path / "limited.curta")
    begin = [*begin[:-1], limited, "--stdin", "0123456789", "--max-tokens", "1500"]
    assert main(begin) == 1
    said = capsys.readouterr()
    assert "--max-tokens); kept up to the beginning of chapter 3: `curta resume" in said.err
    assert f"`curta resume {limited} --max-tokens 3000` goes on from there" in said.err
    assert main(["resume", limited, "--stdin", "more"]) == 2
    assert "has all of the run's input" in capsys.readouterr().err
    assert main(["resume", limited, "--max-tokens", "100000", "--stats", "none"]) == 0
    rest = capsys.readouterr()
    assert (
        f"{len(said.out)} bytes of output were written before and are skipped (--whole" in rest.err
    )
    assert main(["resume", limited, "--whole", "--stats", "none"]) == 0
    again = capsys.readouterr()
    assert again.out == said.out + rest.out
    assert again.err.endswith("A" * len(again.out))
    assert main(["resume", limited, "--max-tokens", "100000"]) == 2
    assert "is at its end already" in capsys.readouterr().err
    assert main(["run", file, "--keep", ""]) == 2
    assert "--keep: give the file" in capsys.readouterr().err
    assert main(["run", file, "--keep-tokens"]) == 2
    assert "--keep-tokens: say where the run is to be kept" in capsys.readouterr().err
    assert main(["run", file, "--stdin", "0123456789"]) == 0
    assert capsys.readouterr().out == said.out + rest.out


def curta(*words: str, out: Path, mode: str = "ab") -> subprocess.Popen[bytes]:
    with open(out, mode) as file:
        return subprocess.Popen(
            [sys.executable, "-m", "curta", *words],
            stdout=file,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )


@pytest.mark.slow
def test_a_file_gets_the_output_that_it_lacks(tmp_path: Path, whole: Path, expected: bytes) -> None:
    out = tmp_path / "out"
    for there in (b"", expected[:5], expected):
        out.write_bytes(there)
        process = curta("resume", str(whole), "--level", "native", out=out)
        assert process.communicate(timeout=60)[1].startswith(str(whole).encode())
        assert out.read_bytes() == expected
    out.write_bytes(b"a log of other things\n")
    process = curta("resume", str(whole), "--level", "native", out=out)
    assert b"60 bytes of output were written before" in process.communicate(timeout=60)[1]
    assert out.read_bytes() == b"a log of other things\n"


def test_a_file_gets_the_results_that_it_lacks(file: str, tmp_path: Path, capsys: Capture) -> None:
    kept, out, results = str(tmp_path / "run.curta"), tmp_path / "out", b"4000000013\n-1\n"
    assert main(["run", file, "--keep", kept, "--invoke", "add", "--", "4000000000", "3"]) == 0
    for there in (results[:4], results):
        out.write_bytes(there)
        process = curta("resume", kept, out=out)
        assert b"at its end" in process.communicate(timeout=60)[1]
        assert out.read_bytes() == results
    process = curta("resume", kept, out=Path(kept))
    assert b"is where the output goes to" in process.communicate(timeout=60)[1]
    capsys.readouterr()


LONG = """(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (func (export "_start") (local $left i32) (local $number i32)
    (local.set $left (i32.mul (i32.const 20000) (i32.mul (call $read) (call $read))))
    (loop $next
      (local.set $number
        (i32.add (i32.mul (local.get $number) (i32.const 1664525)) (i32.const 1013904223)))
      (if (i32.eqz (i32.rem_u (local.get $left) (i32.const 1000))) (then
        (call $write (i32.const 1)
          (i32.add (i32.const 48) (i32.and (local.get $number) (i32.const 63))))))
      (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))))"""


def killed(folder: Path, size: bytes, kills: int) -> None:
    """Begin a run, kill it again and again, and let it come to its end."""
    source, kept, out = folder / "long.wat", folder / "run.curta", folder / "out"
    source.write_text(LONG)
    expected = Machine().run(source, stdin=size).stdout
    (folder / "in").write_bytes(size)
    begin = ["run", str(source), "--stdin-file", str(folder / "in"), "--keep", str(kept)]
    begin += ["--chapter-tokens", "200000"]
    rng = np.random.default_rng(5)
    done = 0
    while True:
        is_begun = kept.exists() and kept.stat().st_size > len(MAGIC)
        process = curta(*(["resume", str(kept)] if is_begun else begin), out=out)
        while done < kills and process.poll() is None:
            size = kept.stat().st_size if kept.exists() else 0
            time.sleep(float(rng.uniform(0, 0.02)))
            if kept.exists() and kept.stat().st_size > size > 0:  # it is under way
                time.sleep(float(rng.uniform(0, 0.3)))
                process.send_signal(signal.SIGKILL)
                done += 1
                break
        error = process.communicate(timeout=300)[1]
        assert expected.startswith(out.read_bytes())
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, error
    assert out.read_bytes() == expected
    assert done == kills


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    killed(tmp_path, bytes([100, 1]), 2)


@pytest.mark.slow
def test_a_process_that_is_killed_200_times(tmp_path: Path) -> None:
    killed(tmp_path, bytes([255, 60]), 200)
