"""Kept runs that somebody changed, with right digests: verifying refuses them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta import Machine
from curta.errors import FileError, ProgramError, UserError, VerifyError
from curta.machine.ids import FIRST_LAST, word_ids
from curta.machine.kept.file import KeptRun, Kind
from curta.machine.kept.journal import Journal
from curta.machine.kept.keeping import Ready
from curta.machine.processes import WorkerSetup
from curta.machine.verify.chapters import ChapterPart, check_part, read_chapter, spoken_by_machine
from curta.machine.verify.jobs import (
    complete_chapters,
    verify_run,
)
from tests.machine.verify.kept_chapters import GIVEN, plan, read

Change = Callable[[Kind, dict[str, Any] | bytes], "dict[str, Any] | bytes | None"]
"""A record's content, changed; None leaves it out."""


def tampered(source: Path, target: Path, change: Change) -> Path:
    """A copy with other records and right digests."""
    target.unlink(missing_ok=True)
    with Journal.open(source) as journal, Journal.create(target) as copy:
        for record in journal.records:
            kind, content = Kind(record.kind), journal.read(record)
            if kind in (Kind.PAGE, Kind.ENDING):
                size = int.from_bytes(content[:4], "little")
                changed = change(kind, json.loads(content[4 : 4 + size]))
                assert isinstance(changed, dict)
                head = json.dumps(changed).encode()
                content = len(head).to_bytes(4, "little") + head + content[4 + size :]
            else:
                found = change(kind, content)
                assert isinstance(found, bytes)
                content = found
            copy.append(kind, content)
    return target


def one_page(**fields: object) -> Change:
    """Another value in the third page."""
    seen = [0]

    def change(kind: Kind, content: Any) -> Any:
        if kind == Kind.PAGE:
            seen[0] += 1
            if seen[0] == 3:
                return {**content, **fields}
        return content

    return change


def in_ending(**fields: object) -> Change:
    return lambda kind, content: {**content, **fields} if kind == Kind.ENDING else content  # type: ignore[dict-item]


def in_stream(wrong: Kind, place: int) -> Change:
    """One byte of a stream is another one; all of it is in the first record long enough."""
    seen = [0]

    def change(kind: Kind, content: Any) -> Any:
        if kind == wrong and content:
            seen[0] += len(content)
            if seen[0] - len(content) <= place < seen[0]:
                changed = bytearray(content)
                changed[place - (seen[0] - len(content))] ^= 1
                return bytes(changed)
        return content

    return change


CHANGES: dict[str, Change] = {
    "the instruction count": one_page(instructions=12345),
    "the library's last own instruction": one_page(own_at=3),
    "the invocation": one_page(invocation=1),
    "what is wanted": one_page(wanted=[5]),
    "the last tokens": one_page(tail=[FIRST_LAST]),
    "where streams are": one_page(lengths=[9, 9, 0, 0]),
    "an exit code": in_ending(code=1),
    "a trap": in_ending(code=None, trap=["unreachable", ""]),
    "a number of tokens": in_ending(tokens=17),
    "a number of instructions": in_ending(instructions=17),
    "tokens of openings": in_ending(opened=17),
    "a number of chapters": in_ending(chapters=2),
    "where a page is": one_page(start=1),
    "a byte of output": in_stream(Kind.OUTPUT, 11),
    "a byte of input": in_stream(Kind.LAST_INPUT, 11),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_tampered_with_is_refused(
    path: Path, ready: Ready, tmp_path: Path, name: str
) -> None:
    same = tampered(path, tmp_path / "same.curta", lambda kind, content: content)
    assert same.read_bytes() == path.read_bytes()
    wrong = tampered(path, tmp_path / "wrong.curta", CHANGES[name])
    assert wrong.read_bytes() != path.read_bytes()
    with pytest.raises((VerifyError, ProgramError, FileError)):
        read(wrong, ready, 10**6)


def test_openings_that_were_tampered_with_are_refused(
    path: Path, ready: Ready, tmp_path: Path
) -> None:
    with Journal.open(path) as journal:
        pages = [record for record in journal.records if record.kind == Kind.PAGE]
        content = journal.read(pages[1])
    size = 4 + int.from_bytes(content[:4], "little")
    opening = np.frombuffer(zlib.decompress(content[size:]), "<u2")
    for place in range(0, len(opening), 7):
        wrong = opening.copy()
        wrong[place] ^= 1
        (tmp_path / "wrong.curta").unlink(missing_ok=True)
        with Journal.open(path) as journal, Journal.create(tmp_path / "wrong.curta") as copy:
            for record in journal.records:
                said = journal.read(record)
                if said == content:
                    said = content[:size] + zlib.compress(wrong.tobytes())
                copy.append(record.kind, said)
        with (
            KeptRun.open(tmp_path / "wrong.curta") as kept,
            pytest.raises(VerifyError, match=r"chapter 3, at .* does not begin with the state"),
        ):
            read_chapter(kept, ready, 2, lambda _: 10**6, lambda part: None)


@pytest.mark.slow
def test_kept_tokens_that_were_tampered_with_are_refused(
    with_tokens: Path, ready: Ready, tmp_path: Path
) -> None:
    """By what follows from them, or by a level that would have said another one."""
    engine = Machine("hull").engine
    with KeptRun.open(with_tokens) as kept:
        length = kept.streams[Kind.TOKENS].length
    with Journal.create(tmp_path / "more.curta") as copy, Journal.open(with_tokens) as journal:
        for record in journal.records:
            if record.kind == Kind.ENDING:
                copy.append(Kind.TOKENS, b"more")
            copy.append(record.kind, journal.read(record))
    with pytest.raises(VerifyError, match="its tokens end at byte"):
        read(tmp_path / "more.curta", ready, 10**6)
    for place in range(0, length, length // 4):
        wrong = tampered(with_tokens, tmp_path / "wrong.curta", in_stream(Kind.TOKENS, place))
        with pytest.raises((VerifyError, UserError, ProgramError)):  # noqa: PT012
            for part in read(wrong, ready, 10**6):
                assert check_part(engine, ready.program, part) == spoken(part)


def spoken(part: ChapterPart) -> int:
    ids = np.concatenate([part.opening, part.said])
    return int(spoken_by_machine(ids, len(part.opening)).sum())


@pytest.mark.slow
def test_a_file_does_not_say_how_much_of_it_is_read(
    path: Path, ready: Ready, worker: WorkerSetup, tmp_path: Path
) -> None:
    """Fewer tokens than there are, and what was written behind them is forged."""
    forged = tampered(path, tmp_path / "output.curta", in_stream(Kind.OUTPUT, 25))
    for tokens in (-(10**6), 0, 2000):
        wrong = tampered(forged, tmp_path / "wrong.curta", in_ending(tokens=tokens))
        with KeptRun.open(wrong) as kept, pytest.raises(ProgramError):
            verify_run(kept, ready, plan(range(1, complete_chapters(kept) + 1)), worker)


def test_words_of_the_host_are_compared(with_tokens: Path, ready: Ready, tmp_path: Path) -> None:
    """Input that was kept, and the input that tokens say, are the same."""
    token = word_ids(GIVEN[0])[0].to_bytes(2, "little")
    with KeptRun.open(with_tokens) as kept:
        stream = kept.streams[Kind.TOKENS]
        place = stream.read(0, stream.length).index(token)
    wrong = tampered(with_tokens, tmp_path / "wrong.curta", in_stream(Kind.TOKENS, place))
    with pytest.raises(VerifyError, match="the host said something else than was kept"):
        read(wrong, ready, 10**6)
