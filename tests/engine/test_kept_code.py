"""Code for places that was kept is used if it is what was kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from curta.engine import builds, hot
from curta.engine.builds import HOT, Made
from curta.engine.native.kit import Place
from curta.engine.toolchain import build_library

PLACES = (Place(3, (1, 2), (4, 5), frozenset({(0,), (0, 7)})), Place(4, (1, 0), (), frozenset()))


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))


def compiled(source: str) -> tuple[Path, Made]:
    path = build_library(source, name="places")
    return path, Made(path.stem.rpartition("-")[0], PLACES)


def test_what_is_kept_is_read() -> None:
    made = Made("places-1", PLACES, 0.5)
    builds.keep_made("key", "program", made)
    assert builds.read_made("key", "program") == made
    assert builds.read_made("key", "other") is None


FIELDS = [[1, 2], [1]]


@pytest.mark.parametrize(
    "content",
    [
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps(["places-1", [], "x"]),
        json.dumps(["places-1", [], None]),
        json.dumps(["places-1", [], 0.9]),
        json.dumps(["places-1", 3, 0.9]),
        json.dumps(["places-1", [[2**70, [1, 2], [], []]], 0.9]),
        json.dumps(["places-1", [[n, fields, [], []] for n, fields in enumerate(FIELDS)], 0.9]),
        json.dumps(["places-1", [[1, ["x", "y"], [], []]], 0.9]),
        json.dumps(["places-1", [[1, [1, 2], []]], 0.9]),
        json.dumps({"library": "places-1", "places": [], "enough": 0.9}),
    ],
)
def test_what_is_not_what_is_kept_is_not_there(content: str) -> None:
    HOT.keep(builds.code_key("key", "program"), content.encode())
    assert builds.read_made("key", "program") is None


def test_a_damaged_library_is_not_loaded() -> None:
    workshop = hot.Workshop(cast(Any, None))
    path, made = compiled("const long curta_places = 1;")
    assert workshop.load("program", made) is not None
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()  # its pages may be in memory
    path.write_bytes(content)
    assert workshop.load("program", made) is None
    assert not path.exists()


def test_a_library_without_places_is_not_used() -> None:
    _, made = compiled("const long curta_other = 1;")
    assert hot.Workshop(cast(Any, None)).load("program", made) is None
