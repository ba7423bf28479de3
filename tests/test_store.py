"""The store: what was kept is found as it was, or not at all."""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import curta
from curta import store
from curta.app.command_line import main
from curta.store import Shelf, clear, contents, key_of, prune, sources_digest, whole_folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("CURTA_CACHE", str(folder))
    return folder


@pytest.mark.parametrize("compressed", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), key=st.text("abcdef0123456789", min_size=1, max_size=40))
def test_what_is_kept_is_found(compressed: bool, content: bytes, key: str) -> None:
    shelf = Shelf("models", compressed)
    shelf.keep(key, content)
    assert shelf.read(key) == content
    assert shelf.read(f"{key}x") is None


@pytest.mark.parametrize("compressed", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(min_size=1, max_size=60), data=st.data())
def test_damage_is_not_found(
    compressed: bool, cache: Path, content: bytes, data: st.DataObject
) -> None:
    shelf = Shelf("models", compressed)
    shelf.keep("key", content)
    path = cache / "models" / "key"
    damaged = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(damaged) - 1))
    if data.draw(st.booleans()):
        damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del damaged[place:]
    path.write_bytes(damaged)
    assert shelf.read("key") is None


def test_what_came_with_curta_is_found_unless_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PACKAGED", tmp_path)
    (tmp_path / "models").mkdir()
    packaged = lzma.compress(b"content")
    (tmp_path / "models" / "key.xz").write_bytes(packaged)
    assert Shelf("models").read("key") == b"content"
    for damaged in (b"", packaged[:-3], packaged[:20] + b"x" + packaged[21:]):
        (tmp_path / "models" / "key.xz").write_bytes(damaged)
        assert Shelf("models").read("key") is None


def test_no_key_keeps_nothing(cache: Path) -> None:
    shelf = Shelf("models")
    shelf.keep(None, b"content")
    assert shelf.read(None) is None
    assert not cache.exists()
    assert key_of(None, b"part") is None


def test_keys_tell_parts_apart() -> None:
    keys = [key_of(b"", b"a", b"bc"), key_of(b"", b"ab", b"c"), key_of(b"a", b"bc"), key_of(b"")]
    assert len(set(keys)) == 4


def test_sources_that_changed_since_the_import_have_no_digest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = sources_digest("store.py", "compiler/*.py")
    assert now is not None
    assert now == sources_digest("compiler/*.py", "store.py")
    assert now != sources_digest("compiler/*.py")
    monkeypatch.setattr(curta, "IMPORTED", 0.0)
    assert sources_digest("store.py") is None


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "file/below", "name" * 100):
        monkeypatch.setenv("CURTA_CACHE", str(tmp_path / name))
        shelf = Shelf("models")
        shelf.keep("key", b"content")
        assert shelf.read("key") is None


def test_two_processes_at_once() -> None:
    program = (
        "from curta.store import Shelf\nshelf = Shelf('models')\n"
        "for n in range(300):\n    shelf.keep('key', b'x' * 5000)\n"
        "    assert shelf.read('key') == b'x' * 5000"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_one_at_a_time_is_alone() -> None:
    shelf, asked = Shelf("libraries"), list[bool]()

    def ask() -> None:
        with shelf.alone() as is_alone:
            asked.append(is_alone)

    waiting = Thread(target=ask)
    with shelf.alone() as first:
        with shelf.alone(patient=False) as second, Shelf("models").alone() as elsewhere:
            pass
        waiting.start()
        waiting.join(0.05)
        assert not asked
    waiting.join(60)
    assert (first, second, elsewhere, asked) == (True, False, True, [True])


def test_files_for_others(tmp_path: Path) -> None:
    shelf = Shelf("libraries")
    shelf.folder.mkdir(parents=True)
    (tmp_path / "built").write_bytes(b"library")
    path = shelf.put_file("key", ".so", tmp_path / "built")
    assert shelf.find_file("key", ".so") == path
    path.write_bytes(b"damaged")
    assert shelf.find_file("key", ".so") is None
    assert not path.exists()


def test_what_is_old_goes_and_then_what_is_too_much(cache: Path) -> None:
    shelf = Shelf("models")
    now = time.time()
    for number in range(6):
        shelf.keep(f"key{number}", bytes(968))
        age = now - 3600 * (6 - number)
        os.utime(cache / "models" / f"key{number}", (age, age))
    prune(longest_unused=4.5 * 3600)
    assert sorted(os.listdir(cache / "models")) == [f"key{n}" for n in range(2, 6)]
    assert shelf.read("key2") is not None  # which makes it young
    prune(most_bytes=2500)
    assert sorted(os.listdir(cache / "models")) == ["key2", "key5"]


def test_it_is_looked_through_once_a_day(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(store, "prune", lambda: looked.append(1))
    for _ in range(3):
        Shelf("models").keep("key", b"")
    assert len(looked) == 1
    os.utime(cache / store.PRUNED, (0, 0))
    Shelf("models").keep("key", b"")
    assert len(looked) == 2


def test_the_command(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Shelf("models").keep("key", bytes(1_999_968))
    Shelf("proved").keep("key", b"")
    assert [found.files for found in contents() if found.shelf in ("models", "proved")] == [1, 1]
    assert main(["cache"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{cache}\n")
    assert "  models                1 files       2.0 MB  compiled graphs: weights\n" in said
    assert main(["cache", "models", "--clear"]) == 0
    assert "cleared models" in capsys.readouterr().out
    assert [found.files for found in contents() if found.shelf in ("models", "proved")] == [0, 1]
    clear()
    assert main(["cache", "--clear"]) == 0
    assert not any(found.files for found in contents())
    shutil.rmtree(cache)
    assert main(["cache"]) == 0
    assert main(["cache", "nothing"]) == 2
    assert "there is no shelf 'nothing': give some of libraries" in capsys.readouterr().err


@pytest.mark.parametrize("last_file", [None, "last"])
def test_a_folder_is_there_whole_or_not_at_all(last_file: str | None, tmp_path: Path) -> None:
    place = tmp_path / "above" / "place"
    with pytest.raises(FileNotFoundError), whole_folder(place, last_file) as partial:
        (partial / "absent" / "first").touch()
    assert list(place.parent.iterdir()) == []
    place.mkdir()
    with whole_folder(place, last_file) as partial:
        (partial / "first").touch()
        assert list(place.iterdir()) == []
    assert [file.name for file in place.iterdir()] == ["first"]
    assert list(place.parent.iterdir()) == [place]


def test_a_folder_that_another_process_finished_first_stays(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with whole_folder(place, "last") as partial:
        (partial / "last").write_text("ours")
        place.mkdir()
        (place / "last").write_text("theirs")
    assert (place / "last").read_text() == "theirs"
    assert list(tmp_path.glob(".place*")) == []
    with pytest.raises(OSError, match="not empty"), whole_folder(place) as partial:
        (partial / "last").write_text("ours")
    assert (place / "last").read_text() == "theirs"


def test_what_a_killed_process_left_goes_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / ".place.partial-7-1", tmp_path / ".place.partial-8-1"
    for left in (old, young):
        left.mkdir()
        (left / "first").touch()
    os.utime(old, (1, 1))
    with whole_folder(tmp_path / "place") as partial, ThreadPoolExecutor(1) as other:
        (partial / "ours").touch()
        other.submit(fill, tmp_path / "place").result()
        assert (partial / "ours").exists()
        shutil.rmtree(tmp_path / "place")
    assert sorted(tmp_path.iterdir()) == [young, tmp_path / "place"]


def fill(place: Path) -> None:
    with whole_folder(place) as partial:
        (partial / "theirs").touch()


def test_a_folder_that_is_not_whole_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "first").touch()
    with whole_folder(place, "last") as partial:
        (partial / "last").touch()
    assert [file.name for file in place.iterdir()] == ["last"]
