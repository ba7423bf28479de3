"""The protocol: a name, what it is for, a schema of its arguments, and a call that has an answer.

A call never raises for what its arguments or the function did: that is an answer, too, whose text
is short words for the model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from curta.delegate.checked import Checked, Count, Positive
from curta.errors import CurtaError, LimitError, ModuleError, SourceError, ToolError
from curta.machine.values import show


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call comes to.

    text:   what the model is told
    value:  the result as JSON has it; of the calculator, a whole number, fraction or float
    exact:  whether nothing was rounded on the way to the text
    tokens: that the transformer read and said; 0 where it was not asked
    error:  why there is no result, for people
    """

    text: str
    value: Any = None
    exact: bool = False
    tokens: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Bounds(Checked):
    """What a call may use.

    tokens:     of the transformer
    seconds:    of a clock
    pages:      of a program's memory, 64 KiB each
    characters: of what the model is told; more are refused
    """

    tokens: Count = 50_000_000
    seconds: Positive = 30.0
    pages: Count = 1_024
    characters: Count = 4_000


BRIEFS = {
    SourceError: "does not compile",
    ModuleError: "not a program that can be run",
    LimitError: "took too long",
}
"""What a model is told of errors that have no short words of their own."""


class Tool(Protocol):
    """A function that can be called."""

    @property
    def name(self) -> str:
        """A word."""

    @property
    def description(self) -> str:
        """What it does, for the model."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments, an object."""

    @property
    def sandboxed(self) -> bool:
        """Whether it can do nothing but compute: it is executed by the transformer."""

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        """What it comes to."""


Found = dict[str, Tool | ToolError]
"""The tools of a file by their names, or why something cannot be one."""


def refused(error: CurtaError, tokens: int = 0) -> Answer:
    """An answer that says why there is none."""
    brief = next((words for kind, words in BRIEFS.items() if isinstance(error, kind)), "error")
    return Answer(getattr(error, "brief", brief), tokens=tokens, error=str(error))


def answered(value: Any, bounds: Bounds, tokens: int = 0) -> Answer:
    """An answer with a result, in words; floats may have been rounded, so it is not exact then."""
    text, numbers = written(value), list(floats(value))
    if not all(map(math.isfinite, numbers)):
        is_nan = any(map(math.isnan, numbers))
        return Answer("not a number" if is_nan else "infinite", tokens=tokens, error=text)
    if len(text) > bounds.characters:
        what = f"the result has {len(text):,} characters, more than {bounds.characters:,}"
        return refused(ToolError(what, "result too long"), tokens)
    return Answer(text, value, not numbers, tokens)


def written(value: Any) -> str:
    """A result as the model reads it: texts and numbers as they are, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return show(value)
    return json.dumps(value, ensure_ascii=False)


def floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, list | Mapping):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from floats(each)
