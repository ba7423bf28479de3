"""Calls are found the same, however the text is cut."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.delegate.interception.events import CallRejected, CallStarted, TextDelta
from curta.delegate.interception.formats import Inline
from curta.delegate.interception.protocol import FormatName, Protocol
from curta.delegate.interception.scanner import Closed, Found
from curta.errors import UserError

PROTOCOL = Protocol(longest=20)
MARKERS = Inline(PROTOCOL).markers


def call(expression: str) -> Closed:
    return Closed(*MARKERS, f" {expression}", f" {expression}>>", "")


def scan(pieces: list[str]) -> list[Found]:
    """All that is found, as if nothing were put behind calls."""
    scanner = Inline(PROTOCOL).scanner()
    found: list[Found] = []
    for piece in pieces:
        rest = piece
        while rest is not None:
            step = scanner.feed(rest)
            found += step
            closed = bool(step) and isinstance(step[-1], Closed)
            rest = step[-1].rest if closed and step[-1].rest else None
    return merged(found + scanner.finish())


def merged(found: list[Found]) -> list[Found]:
    """Text in a row as one, and calls without what came behind them."""
    result: list[Found] = []
    for each in found:
        if isinstance(each, TextDelta) and result and isinstance(result[-1], TextDelta):
            result[-1] = TextDelta(result[-1].text + each.text)
        else:
            result.append(
                Closed(each.marker, each.body, each.text, "") if isinstance(each, Closed) else each
            )
    return result


PARTS = st.sampled_from(
    ["<<calc:", ">>", "<", ">", "<<", "calc", "1+2", " ", "\n", "x", "é", "<<calc"]
)
TEXTS = st.lists(PARTS, max_size=14).map("".join)


@given(TEXTS, st.data())
def test_the_cut_makes_no_difference(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6).map(sorted))
    ends = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in pairwise(ends)]
    assert scan(pieces) == scan(list(text)) == scan([text])


@given(TEXTS)
def test_no_character_is_lost(text: str) -> None:
    assert "".join(each.text for each in scan([text])) == text


@given(TEXTS)
def test_text_is_held_only_while_it_could_open_a_call(text: str) -> None:
    scanner = Inline(PROTOCOL).scanner()
    scanner.feed(text.replace(PROTOCOL.open, ""))
    if scanner.marker is None:
        assert PROTOCOL.open.startswith(scanner.held)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<<calc: 1+2>>b", [TextDelta("a"), CallStarted("<<calc:"), call("1+2"), TextDelta("b")]),
        ("<<calc:>>", [CallStarted("<<calc:"), Closed(*MARKERS, "", ">>", "")]),
        ("<<calc: 1", [CallStarted("<<calc:"), CallRejected(" 1", "1")]),
        ("<<calc: 1\n>>", [CallStarted("<<calc:"), CallRejected(" 1", "1"), TextDelta("\n>>")]),
        ("<<calc: <<calc: 1>>", [CallStarted("<<calc:"), call("<<calc: 1")]),
        ("<<<calc: 1>>>", [TextDelta("<"), CallStarted("<<calc:"), call("1"), TextDelta(">")]),
        ("<<calculate: 1>>", [TextDelta("<<calculate: 1>>")]),
        (
            "<<calc:" + "1" * 30 + ">>",
            [CallStarted("<<calc:"), CallRejected("1" * 22, "1" * 22), TextDelta("1" * 8 + ">>")],
        ),
    ],
)
def test_what_is_a_call(text: str, expected: list[Found]) -> None:
    assert scan([text]) == expected


def test_calls_beyond_the_number_allowed_are_text() -> None:
    scanner = Inline(Protocol(most_calls=1)).scanner()
    assert isinstance(scanner.feed("<<calc: 1>>")[-1], Closed)
    assert scanner.feed("<<calc: 1>>") == [TextDelta("<<calc: 1>>")]


@pytest.mark.parametrize("name", get_args(FormatName))
def test_every_way_to_call_has_that_number(name: FormatName) -> None:
    pytest.importorskip("transformers")
    from curta.delegate.interception.generator import named_format
    from tests.support.tiny_language_models import tools_tokenizer

    format = named_format(tools_tokenizer(), Protocol(most_calls=1), name)
    marker, scanner = format.markers[0], format.scanner()
    text = "2 + 3 =" if name == "equations" else f"{marker.open} 2 + 3{marker.close}"
    assert isinstance(scanner.feed(text)[-1], Closed)
    scanner.turn()
    assert scanner.feed(text) == [TextDelta(text)]


@pytest.mark.parametrize(
    "markers", [("", ">>"), ("<<", ""), ("<<", " "), ("<<", "\n"), ("<<", "<<")]
)
def test_markers_have_to_be_there_and_differ(markers: tuple[str, str]) -> None:
    with pytest.raises(UserError, match="marker"):
        Protocol(open=markers[0], close=markers[1])
