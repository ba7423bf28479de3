"""However input comes, the tokens are those of a run that is given each byte when it asks."""

from __future__ import annotations

import gzip
import io
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta import Machine
from curta.errors import CurtaError, LimitError, UserError
from curta.machine.conversation import ConversationLimits, Page
from curta.machine.host import Host
from curta.machine.ids import READ_ID
from curta.machine.loaded import LoadedProgram
from curta.machine.standard_input import MOST_AHEAD, Alone, Input
from curta.machine.wasm.text import assemble
from tests.machine.api.core_programs import program
from tests.support.slow import draws

LOADED = LoadedProgram.from_core(program())


class Person:
    """Says a byte when asked, and counts how often that was."""

    def __init__(self, content: bytes) -> None:
        self.content = io.BytesIO(content)
        self.asked = 0

    def read(self, size: int) -> bytes:
        assert size == 1
        self.asked += 1
        return self.content.read(1)


class Outcome(NamedTuple):
    tokens: list[int]
    stdout: bytes
    chapters: int
    pages: list[tuple[object, ...]]
    error: str


@cache
def machine() -> Machine:
    return Machine()


def outcome(stdin: Input, *, listens: bool = True, **limits: int) -> Outcome:
    """What becomes of the echo. No file is looked into if somebody listens, who may read it."""
    heard, pages, error = list[bytes](), list[Page](), ""
    host = Host(stdin, heard.append, on_page=pages.append) if listens else Host(stdin)
    instance = machine().start(LOADED, host, ConversationLimits(**limits))
    try:
        instance.invoke("_start")
    except LimitError as failure:
        error = str(failure)
    assert not listens or b"".join(heard) == instance.stdout
    said = instance.trace.ids.tolist()
    chapters = instance.figures.chapters
    return Outcome(said, instance.stdout, chapters, [timeless(page) for page in pages], error)


def timeless(page: Page) -> tuple[object, ...]:
    """All that a page says, but for the time it took."""
    return astuple(replace(page, opening=page.opening.tolist(), tail=page.tail.tolist(), seconds=0))  # type: ignore[arg-type]


def piped(content: bytes) -> io.BufferedReader:
    reads, writes = os.pipe()
    with open(writes, "wb") as file:
        file.write(content)
    return open(reads, "rb")


def zipped(content: bytes) -> Input:
    return gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(content)))


WAYS: dict[str, Callable[[bytes], Input]] = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "BytesIO": io.BytesIO,
    "pipe": piped,
    "pipe of the command line": lambda content: Alone(piped(content)),
    "gzip": zipped,
}


@pytest.mark.parametrize("way", WAYS)
@given(
    st.binary(max_size=300),
    st.none() | st.integers(0, 400),
    st.none() | st.integers(20, 2000),
    st.booleans(),
)
@settings(max_examples=draws(200, 40), deadline=None)
def test_all_ways_say_the_same(
    way: str, content: bytes, chapter_tokens: int | None, tokens: int | None, listens: bool
) -> None:
    limits = {"chapter_tokens": chapter_tokens}
    limits["max_tokens"] = None if tokens is None else len(LOADED.prompt()) + tokens
    given = {name: limit for name, limit in limits.items() if limit is not None}
    with ExitStack() as open_files:
        stdin = WAYS[way](content)
        file = stdin._file if isinstance(stdin, Alone) else stdin
        if isinstance(file, io.IOBase):
            open_files.enter_context(file)
        expected = outcome(Person(content), listens=listens, **given)
        assert outcome(stdin, listens=listens, **given) == expected


def test_an_input_of_many_blocks() -> None:
    content = bytes(number % 251 for number in range(30 * MOST_AHEAD + 3))
    found = outcome(content)
    assert found.stdout == content
    assert found.tokens.count(READ_ID) == len(content) + 1
    with piped(content[:60_000]) as stdin:
        assert outcome(stdin, listens=False).stdout == content[:60_000]


@pytest.mark.parametrize("chapter_tokens", [None, 100])
def test_nothing_is_taken_from_a_file_that_was_not_asked_for(
    chapter_tokens: int | None, tmp_path: Path
) -> None:
    """A run that ends somewhere in the middle leaves the rest to others."""
    content = b"0123456789" * 50
    limits = {"max_tokens": len(LOADED.prompt()) + 1000}
    if chapter_tokens is not None:
        limits["chapter_tokens"] = chapter_tokens
    person = Person(content)
    expected = outcome(person, **limits)
    assert len(expected.pages) > 1 or chapter_tokens is None
    (path := tmp_path / "content").write_bytes(content)
    with path.open("rb") as file, io.BytesIO(content) as memory:
        for stdin in (file, memory):
            found = outcome(stdin, listens=False, **limits)
            assert found == expected._replace(pages=[])
            assert stdin.tell() == person.asked


def test_nobody_waits_for_what_is_not_asked_for() -> None:
    """Whoever says the next byte once the one before was echoed is asked for no byte earlier."""
    reads, writes = os.pipe()
    content = b"one by one"
    left = list(content[1:])
    os.write(writes, content[:1])

    def echoed(_: bytes) -> None:
        if left:
            os.write(writes, bytes([left.pop(0)]))
        else:
            os.close(writes)

    def run() -> None:
        with open(reads, "rb") as stdin:
            host = Host(Alone(stdin), echoed)
            instance = machine().start(LOADED, host, ConversationLimits())
            instance.invoke("_start")
            found.append(instance.stdout)

    found = list[bytes]()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert found == [content]


def test_an_error_of_a_file_ends_the_run() -> None:
    class Broken(Person):
        def read(self, size: int) -> bytes:
            if self.asked == 2:
                raise OSError("gone")
            return super().read(size)

    instance = machine().start(LOADED, Host(Broken(b"abcd")), ConversationLimits())
    with pytest.raises(OSError, match="gone"):
        instance.invoke("_start")
    assert instance.stdout == b"ab"
    with pytest.raises(CurtaError, match="interrupted"):
        instance.invoke("add", 1, 1)


ONE = """(module
  (import "curta" "read" (func $read (result i32)))
  (func (export "one") (result i32) (call $read)))"""


def one(stdin: Input) -> Callable[[], str]:
    """What reads a byte."""
    module = machine().instantiate(assemble(ONE), stdin=stdin)
    return lambda: chr(int(module.invoke("one")))  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["BytesIO", "pipe", "gzip"])
def test_others_may_read_a_file_between_invocations(way: str) -> None:
    content = b"ABCDEFGHIJ"
    with WAYS[way](content) as file:  # type: ignore[union-attr]
        first, second = one(file), one(file)
        said = "".join(f"{first()}{second()}{file.read(1).decode()}" for _ in range(3))
    assert said == "ABCDEFGHI"
    file = io.BytesIO(b"abc")
    read = one(file)
    assert read() == "a"
    file.seek(0)
    file.write(b"XYZ")
    file.seek(0)
    assert read() + read() == "XY"


def test_who_listens_may_read_the_same_file() -> None:
    """A host that takes what stands behind each star."""
    file, taken = io.BytesIO(b"a*Xb*Yc"), list[bytes]()

    def heard(content: bytes) -> None:
        if content == b"*":
            taken.append(file.read(1))

    instance = machine().start(LOADED, Host(file, heard), ConversationLimits())
    instance.invoke("_start")
    assert (instance.stdout, taken) == (b"a*b*c", [b"X", b"Y"])


class Deceiving(Alone):
    """Shows something else than it gives."""

    def peek(self) -> bytes:
        return super().peek().replace(b"c", b"z")


def test_an_input_that_is_not_what_was_seen_stops_the_run() -> None:
    with piped(b"abcd") as file:
        instance = machine().start(LOADED, Host(Deceiving(file)), ConversationLimits())
        with pytest.raises(UserError, match="the input changed while the program read it"):
            instance.invoke("_start")
        with pytest.raises(UserError, match="the input changed"):
            instance.invoke("add", 1, 1)


def test_an_input_of_several_bytes_at_a_time_is_refused() -> None:
    class Double:
        def read(self, size: int) -> bytes:
            return b"ab"

    instance = machine().start(LOADED, Host(Double()), ConversationLimits())
    with pytest.raises(UserError, match="the input gave 2 bytes where it was asked for one"):
        instance.invoke("_start")


def test_a_peek_of_another_kind_is_not_asked() -> None:
    class Peeking(Person):
        def peek(self, much: int, more: int) -> bytes:
            raise AssertionError("asked")

    assert outcome(Peeking(b"abc"), listens=False).stdout == b"abc"
