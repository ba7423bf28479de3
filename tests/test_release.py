"""A release: what is in the wheel and the sdist, and that each works from the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.release import BESIDE, build, check, in_sdist, in_wheel, sources


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    pytest.importorskip("build")
    return build(tmp_path_factory.mktemp("release"))


@pytest.mark.slow
def test_they_hold_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    sdist, wheel = built
    assert in_wheel(wheel) == sources()
    assert in_sdist(sdist) == sources() | BESIDE


@pytest.mark.slow
@pytest.mark.parametrize("which", ["sdist", "wheel"])
def test_each_works_in_an_empty_environment(built: tuple[Path, Path], which: str) -> None:
    check(built[which == "wheel"])
