"""Who answers: a model, perhaps with an adapter, perhaps with a calculator behind its calls.

A system without calls is generated with the same loop as the others, in which nothing is a call;
so speeds can be compared, and what looks like a call stays what the model wrote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from curta.delegate.calculator import Calculator
from curta.delegate.calculator.backends import NAMES
from curta.delegate.data.example import PROTOCOL
from curta.delegate.interception.protocol import FormatName, Protocol
from curta.errors import CalculatorError, DataError

if TYPE_CHECKING:
    from curta.delegate.interception.generator import CalcGenerator, Output

FORMATS: tuple[FormatName, ...] = get_args(FormatName)
NO_CALLS = Protocol(most_calls=0)

GREEDY: dict[str, object] = {
    "do_sample": False,
    "temperature": None,
    "top_p": None,
    "top_k": None,
    "num_beams": 1,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
}
"""The most likely token, whatever a model's own settings for generation would make of it."""


@dataclass(frozen=True)
class System:
    """One that is evaluated.

    adapter: a folder, if the model has one
    backend: what computes its calls; nothing if calls are not intercepted
    digest:  of the adapter's weights, so that no evaluation goes on with others
    origin:  where the model's weights come from, and their type, for the same reason
    format:  how it calls; if nothing is said, as fits the model
    """

    name: str
    model: str
    adapter: str | None = None
    backend: str | None = "exact"
    digest: str | None = None
    origin: str | None = None
    format: FormatName | None = None

    @property
    def weights(self) -> tuple[str, str | None]:
        """Systems that differ in the backend or the format only have the same."""
        return self.model, self.adapter

    def injected(self, expression: str) -> str:
        """What the model is told about an expression."""
        try:
            return PROTOCOL.answered(calculator(self.backend).evaluate(expression).text)
        except CalculatorError as error:
            return PROTOCOL.failed(error)


@cache
def calculator(backend: str | None) -> Calculator:
    """The calculator of a backend; one for all systems."""
    return Calculator(backend or "exact")


def systems(
    model: str,
    *,
    adapters: Sequence[str] = (),
    inline: Sequence[str] = (),
    backends: Sequence[str] = ("exact",),
    formats: Sequence[str] = (),
    untrained: bool = False,
    origin: str | None = None,
) -> tuple[System, ...]:
    """Those that are asked for, as `FOLDER` or `NAME=FOLDER`.

    Every adapter in every format with every backend; inline ones, which were trained without calls,
    without any. With no adapter at all it is the model itself that calls, unless it is there as
    `untrained` and no format is given.
    """
    checked("--backend", backends, NAMES)
    checked("--format", formats, FORMATS)

    def system(
        name: str, folder: str | None, backend: str | None, format: FormatName | None = None
    ) -> System:
        return System(name, model, folder, backend, digest(folder), origin, format)

    found = [system("untrained", None, None)] if untrained else []
    found += [system(*named("--inline", given), None) for given in inline]
    calling: list[tuple[str, str | None]] = [named("--adapter", given) for given in adapters]
    if not calling and (formats or not found):
        calling = [("" if formats else model.rstrip("/").rpartition("/")[2], None)]
    ways = product(calling, dict.fromkeys(formats) or [None], dict.fromkeys(backends))
    for (name, folder), format, backend in ways:
        parts = (name, format, backend if len(backends) > 1 else None)
        found.append(system(", ".join(filter(None, parts)), folder, backend, format))
    names = [one.name for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"--adapter: two systems are called {twice}: write NAME=FOLDER")
    return tuple(found)


def checked(option: str, given: Sequence[str], there_are: Sequence[str]) -> None:
    """Raise an error if a name is none of those that there are."""
    for name in given:
        if name not in there_are:
            raise DataError(f"{option} {name}: there are {', '.join(there_are)}")


def check_formats(model: str, among: Sequence[System]) -> None:
    """Raise an error if a system cannot call as it should, before others are asked for hours."""
    if formats := {one.format for one in among if one.format}:
        from curta.delegate import models
        from curta.delegate.interception.generator import named_format

        tokenizer = models.load_tokenizer(model)
        for format in formats:
            named_format(tokenizer, Protocol(), format)


def named(option: str, given: str, file: str = "adapter_config.json") -> tuple[str, str]:
    """The name and the folder of what is given, which holds this file."""
    name, equals, folder = given.partition("=")
    if not equals or Path(given).is_dir():
        name, folder = Path(given).resolve().name, given
    if not (Path(folder) / file).is_file():
        raise DataError(f"{option} {given}: {folder} has no {file}")
    return name, folder


def digest(folder: str | None, weights: str = "adapter_model.*") -> str | None:
    """Of weights in a folder: an adapter's, or those of files with other names."""
    if folder is None:
        return None
    found = hashlib.sha256()
    for file in sorted(Path(folder).glob(weights)):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


Writes = Callable[[Sequence[str]], "list[Output]"]
"""Answers a batch of questions."""

Open = Callable[[System], Writes]
"""Makes a system ready: this is where models are loaded."""


def opener(max_new_tokens: int, device: str | None = None) -> Open:
    """Opens systems with models of transformers; the last model stays loaded."""
    loaded: dict[tuple[str, str | None], tuple[object, object]] = {}

    def opened(system: System) -> Writes:
        from curta.delegate import models

        if system.weights not in loaded:
            loaded.clear()
            adapter = None if system.adapter is None else Path(system.adapter)
            loaded[system.weights] = models.load(system.model, adapter=adapter, device=device)
        model, tokenizer = loaded[system.weights]
        return writer(generator(model, tokenizer, system.backend, system.format), max_new_tokens)

    return opened


def generator(
    model: object, tokenizer: object, backend: str | None, format: FormatName | None = None
) -> CalcGenerator:
    """A generator with this backend, or one for which nothing is a call."""
    from curta.delegate.interception.generator import CalcGenerator

    if backend is None:
        return CalcGenerator(model, tokenizer, protocol=NO_CALLS)
    return CalcGenerator(model, tokenizer, calculator=Calculator(backend), format=format)


def writer(generating: CalcGenerator, max_new_tokens: int, **options: object) -> Writes:
    """Answers by the most likely tokens, asked as the model was trained."""

    def write(questions: Sequence[str]) -> list[Output]:
        prompts = [generating.asked(text) for text in questions]
        return generating.generate(prompts, max_new_tokens=max_new_tokens, **GREEDY, **options)

    return write
