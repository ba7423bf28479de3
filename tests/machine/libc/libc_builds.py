"""Programs linked with curta's pieces of the C library, and without them; and how both run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import wasmtime

from bench.count_instructions import run_in_wasmtime
from curta.machine.libc.build import PIECES
from curta.machine.toolchain import Compilation

FOLDER = Path(__file__).parent
FLAGS = ("-w",)


@cache
def built(name: str, *, whole: bool) -> bytes:
    """A program of this folder. `whole`: with all that is the compiler's C library, as it is."""
    with TemporaryDirectory() as folder:
        compilation = Compilation((str(FOLDER / name),), FLAGS)
        return compilation._link(() if whole else PIECES, Path(folder) / "program.wasm")


@cache
def _engine() -> wasmtime.Engine:
    return wasmtime.Engine()


def outcome(name: str, *words: str, whole: bool, stdin: bytes = b"") -> tuple[bytes, bytes, int]:
    """Output, errors and exit code in wasmtime."""
    run = run_in_wasmtime(built(name, whole=whole), stdin, words, count=False, engine=_engine())
    return run.stdout, run.stderr, run.exit_code


def assert_alike(name: str, *words: str, stdin: bytes = b"") -> bytes:
    """Both say the same; the first line that differs is shown. What they say is returned."""
    expected = outcome(name, *words, whole=True, stdin=stdin)
    actual = outcome(name, *words, whole=False, stdin=stdin)
    for ours, theirs in zip(actual[:2], expected[:2], strict=True):
        for line, (one, other) in enumerate(
            zip(ours.split(b"\n"), theirs.split(b"\n"), strict=False)
        ):
            assert one == other, f"line {line}"
    assert actual == expected
    return actual[0]


def assert_draws_alike(name: str, seed: int, count: int) -> list[bytes]:
    """The same for random draws, which are a digest each thousand: the draw that differs is shown.
    What was printed behind the digests is returned.
    """
    words = (str(seed), str(count))
    blocks = -(-count // 1000)
    ours, theirs = (outcome(name, *words, whole=whole)[0].split(b"\n") for whole in (False, True))
    for block, (one, other) in enumerate(zip(ours[:blocks], theirs[:blocks], strict=True)):
        if one != other:
            assert_alike(name, *words, str(block))
            raise AssertionError(f"block {block} of seed {seed} differs, and its texts do not")
    assert ours == theirs
    return ours[blocks:-1]
