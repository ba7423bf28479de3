"""The weights that come with curta are found by what the sources say, and are what these make."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import curta
from curta.engine.model_cache import MODELS, NATIVE
from curta.machine.flags import COMMON
from curta.machine.libc.archives import ARCHIVES, PARTS, key
from curta.machine.libc.build import BUILT_WITH
from curta.machine.machine import Machine
from curta.machine.package import differences, package
from curta.machine.weights import SOURCES, WEIGHTS, native_key, weights_key
from curta.store import PACKAGED

NOTHING_TO_DO_WITH_IT = {
    *("errors.py", "later.py", "settings.py", "store.py"),
    *("engine/toolchain.py", "engine/trace_file.py"),
}
"""Imported with what makes the weights and their C."""


def test_they_have_the_names_that_the_sources_give() -> None:
    """If not: python -m curta.machine.package"""
    named = [(MODELS.name, weights_key()), (NATIVE.name, native_key())]
    if version("ziglang") == BUILT_WITH:
        named += [(ARCHIVES.name, key(part, COMMON)) for part in PARTS]
    shelves = {shelf for shelf, _ in named}
    there = [path for path in PACKAGED.rglob("*.xz") if path.parent.name in shelves]
    assert sorted((path.parent.name, path.stem) for path in there) == sorted(named)


@pytest.mark.slow  # the machine is compiled; so does `make release-check`
def test_all_files_are_what_the_sources_give() -> None:
    assert differences(dict(package())) == []


def test_no_number_in_the_c_is_too_large_for_a_compiler() -> None:
    """gcc cuts such numbers off, clang refuses them."""
    source = NATIVE.read(native_key())
    assert source is not None
    numbers = [int(digits) for digits in re.findall(rb"(?<!\bU)INT64_C\((\d+)\)", source)]
    assert 2**40 < max(numbers) < 2**63
    assert max(map(int, re.findall(rb"\d+", source))) < 2**64


def test_what_each_instruction_says_is_decided_beforehand() -> None:
    """No template compares the scores of all rules, as the general step does."""
    source = NATIVE.read(native_key())
    assert source is not None
    templates = source.split(b"/// template")[1:]
    assert len(templates) > 90
    ends = [template.split(b"\n///\n")[0] for template in templates]
    assert not [end[:3] for end in ends if b"best = INT64_MIN" in end]


@pytest.mark.slow  # zig takes a minute for it
def test_zig_is_compiler_enough(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the ziglang package is not installed")
    program = tmp_path / "seven.wat"
    program.write_text('(module (func (export "seven") (result i32) (i32.const 7)))')
    command = [sys.executable, "-m", "curta", "run", str(program), "--invoke", "seven"]
    zig = {"CURTA_CC": f"{sys.executable} -m ziglang cc", "CURTA_CACHE": str(tmp_path / "cache")}
    said = subprocess.run(
        command, env={**os.environ, **zig}, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["7"]


def test_they_are_small() -> None:
    sizes = {
        shelf: sum(path.stat().st_size for path in shelf.iterdir()) for shelf in PACKAGED.iterdir()
    }
    libraries = sizes.pop(PACKAGED / ARCHIVES.name)
    assert sum(sizes.values()) < 1_000_000
    assert libraries < 1_000_000


KEYS = {
    "curta.machine.computer, curta.compiler": (WEIGHTS, {"errors.py", "later.py"}),
    "curta.machine.computer, curta.engine.native.emit": (SOURCES, NOTHING_TO_DO_WITH_IT),
}


@pytest.mark.parametrize("makers", KEYS)
@pytest.mark.slow
def test_all_that_they_are_made_by_is_in_the_key(makers: str) -> None:
    sources, others = KEYS[makers]
    code = (
        f"import sys, {makers}\n"
        "curta.machine.computer.build(())\n"
        "ours = [m for name, m in sys.modules.items() if name.startswith('curta')]\n"
        "print(*(module.__file__ for module in ours if module.__file__))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    root = Path(curta.__file__).parent
    keyed = {path for pattern in sources for path in root.glob(pattern)}
    imported = {Path(name) for name in said.stdout.split()}
    rest = {path.relative_to(root).as_posix() for path in imported - keyed}
    assert {name for name in rest if not name.endswith("__init__.py")} == others


def test_the_weights_have_the_name_that_the_sources_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    passes: list[str] = []
    engine = Machine("evaluate", on_pass=passes.append).engine
    assert engine.model.weights
    assert not passes
