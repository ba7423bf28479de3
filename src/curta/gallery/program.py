"""What the gallery knows about a program: how to build it, talk to it and check it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from curta.errors import TokenError

if TYPE_CHECKING:
    from curta.compiler.graph import Graph

STOP = "."


@dataclass(frozen=True, slots=True)
class Case:
    """An input as the user types it, and the output that decode has to give."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class GalleryProgram:
    """A worked example: a graph, and the texts that go in and come out."""

    name: str
    summary: str
    build: Callable[[], Graph]
    encode: Callable[[str], list[str]]
    decode: Callable[[Iterable[str]], str]
    cases: tuple[Case, ...]
    reference: Callable[[str], str]
    random_input: Callable[[Random], str]
    max_tokens: int = 2**20


# -- texts and tokens -----------------------------------------------------------------------------


def characters(text: str, alphabet: Iterable[str], example: str) -> list[str]:
    """The text's characters without spaces; each has to be in the alphabet."""
    allowed = list(alphabet)
    found = [character for character in text if not character.isspace()]
    for character in found:
        if character not in allowed:
            raise TokenError(
                f"{character!r} in {text!r}: expected {spelled(allowed)}; "
                f"an input looks like {example!r}"
            )
    return found


def spelled(allowed: list[str]) -> str:
    """An alphabet in few words."""
    runs = {"abcdefghijklmnopqrstuvwxyz": "a-z", "0123456789": "0-9"}
    text = "".join(allowed)
    for run, short in runs.items():
        if run in text:
            text = text.replace(run, f" {short} ")
    return " ".join(text.split())


def parts(text: str, separator: str, count: int, example: str) -> list[str]:
    """The text, cut at the separator into exactly `count` pieces."""
    pieces = [piece.strip() for piece in text.split(separator)]
    if len(pieces) != count:
        raise TokenError(
            f"{text!r} has {len(pieces) - 1} {separator.strip()!r}, expected {count - 1}; "
            f"an input looks like {example!r}"
        )
    return pieces


def natural(text: str, example: str, largest: int | None = None) -> str:
    """A natural number in decimal, without leading zeros."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()):
        raise TokenError(f"{text!r} is no natural number; an input looks like {example!r}")
    digits = digits.lstrip("0") or "0"
    if largest is not None and (len(digits) > len(str(largest)) or int(digits) > largest):
        raise TokenError(f"{digits} is too large: at most {largest} works here")
    return digits


def joined(tokens: Iterable[str]) -> str:
    """The tokens up to the stop, side by side."""
    said: list[str] = []
    for token in tokens:
        if token == STOP:
            break
        said.append(token)
    return "".join(said)


def joined_after(mark: str) -> Callable[[Iterable[str]], str]:
    """Like joined, without the scratch work that ends with the mark."""

    def decode(tokens: Iterable[str]) -> str:
        said = list(tokens)
        return joined(said[said.index(mark) + 1 :] if mark in said else [])

    return decode


def random_text(random: Random, alphabet: str, longest: int, shortest: int = 0) -> str:
    return "".join(random.choices(alphabet, k=random.randint(shortest, longest)))
