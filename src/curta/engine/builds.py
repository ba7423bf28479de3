"""From samples of a run to compiled code: what is done beside it, mostly by another process.

A sample says which places are hot, what they say and where they lead. Their C is put together of
the templates in the model's C (`kit.py`) and compiled. What was made is kept by the model's C and
by the prompt that the run began with.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from curta.engine.base import Ids
from curta.engine.native.kit import Kit, Place, program_to_c
from curta.engine.toolchain import build_library
from curta.store import Shelf, key_of

HOT = Shelf("hot", compressed=True)
FLAGS = ("-fwrapv", "-lm", "-O1")
HOTTEST = 0.999
MOST_PLACES = 600
"""Code is made for the hottest places, up to this part of what was sampled, and to so many:
gcc -O1 took 23 s for 923, and memory grows with them.
"""
LONGEST = 10
"""Tokens of an instruction that are told apart in a sample."""
ENOUGH = 0.99
"""The part of a chunk that code for places should say."""
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Made:
    """Compiled code, as it is kept."""

    library: str
    """The key of its file."""
    places: tuple[Place, ...]
    """Those that it has code for."""
    enough: float = ENOUGH
    """The part of a chunk that it should say; less where nothing more was found to be made."""

    @cached_property
    def fields(self) -> tuple[Numbers, Numbers]:
        """The numbers of its places, and the fields that they have to have."""
        numbers = np.array([place.number for place in self.places], dtype=np.int64)
        return numbers, np.array([place.fields for place in self.places], dtype=np.int64)


Sample = list[tuple[Ids, Numbers]]
"""Stretches of tokens that were said one after the other, and the places at which they were."""


@dataclass(frozen=True)
class Request:
    """What code is to be made of."""

    source: str
    """The model's C."""
    key: str
    """By which what is made is kept."""
    program: str
    sample: Sample
    fields: tuple[Numbers, Numbers]
    """The numbers of all places of the sample, and their fields."""
    known: tuple[Place, ...]
    """Places that there is code for."""
    most_places: int


def class_of(kit: Kit) -> Numbers:
    """The class of every token, or -1, which the last one stands for, and all behind it."""
    size = 1 + max(token for tokens in kit.classes for token in tokens)
    found = np.full(size + 1, -1, dtype=np.int64)
    for number, tokens in enumerate(kit.classes):
        found[tokens] = number
    return found


def classes_of_tokens(known: Numbers, tokens: Ids) -> Numbers:
    return known[np.minimum(tokens, len(known) - 1)]


def united(known: Iterable[Place], found: Iterable[Place]) -> tuple[Place, ...]:
    """All of these places, with all that is known of each."""
    places = {place.number: place for place in known}
    for place in found:
        before = places.get(place.number, place)
        following = tuple(dict.fromkeys((*before.following, *place.following)))
        said = before.said | place.said
        places[place.number] = replace(place, following=following, said=said)
    return tuple(place for _, place in sorted(places.items()))


# -- what is kept ---------------------------------------------------------------------------------


def code_key(key: str, program: str) -> str | None:
    return key_of(key.encode(), program.encode())


def keep_made(key: str, program: str, made: Made) -> None:
    """For the next run that begins with the same prompt."""
    HOT.keep(code_key(key, program), json.dumps(astuple(made), default=sorted).encode())


def read_made(key: str, program: str) -> Made | None:
    """None too if it is not what this curta keeps."""
    kept = HOT.read(code_key(key, program))
    with suppress(ValueError, TypeError, OverflowError, RecursionError):
        library, places, enough = json.loads(kept or b"null")
        made = Made(str(library), tuple(map(place_of, places)), float(enough))
        if made.fields[1].ndim == 2:
            return made
    return None


def place_of(found: list[Any]) -> Place:
    number, fields, following, said = found
    return Place(number, tuple(fields), tuple(following), frozenset(map(tuple, said)))


# -- what is made ---------------------------------------------------------------------------------


NOTHING_TO_ADD = 3
"""How another process ends if it can add nothing to what there is."""


def make_beside(request: Request) -> int:
    return 0 if make(request) else NOTHING_TO_ADD


def make(request: Request) -> Made | None:
    """Compile code for the places that are hot, and keep it; None if nothing can be added."""
    kit = Kit.of(request.source)
    places = united(request.known, places_of(request, kit))
    if places == request.known:
        return None
    path = build_library(program_to_c(kit, places), name="places", flags=FLAGS)
    made = Made(path.stem.rpartition("-")[0], places)
    keep_made(request.key, request.program, made)
    return made


def places_of(request: Request, kit: Kit) -> list[Place]:
    """The places that are hot in a sample, the hottest first."""
    counts, followed = Counter[int](), Counter[tuple[int, int]]()
    ways: dict[int, set[tuple[int, ...]]] = {}
    known = class_of(kit)
    for tokens, places in request.sample:
        classes = classes_of_tokens(known, tokens).tolist()
        executed = instructions(kit.ending, classes, places.tolist())
        followed.update(pairwise(place for place, _ in executed))
        for place, said in executed:
            if place >= 0 and len(said) <= LONGEST:
                counts[place] += 1
                ways.setdefault(place, set()).add(said)
    following: dict[int, list[int]] = {}
    for (place, after), _ in followed.most_common():
        following.setdefault(place, []).append(after)
    numbers, rows = (array.tolist() for array in request.fields)
    fields = dict(zip(numbers, map(tuple, rows), strict=True))
    wanted, covered, found = HOTTEST * counts.total(), 0, list[Place]()
    for place, count in counts.most_common(request.most_places):
        if covered > wanted:
            break
        covered += count
        behind = tuple(following.get(place, ()))
        found.append(Place(place, fields[place], behind, frozenset(ways[place])))
    return found


def instructions(
    ending: Sequence[int], classes: Sequence[int], at: Sequence[int]
) -> list[tuple[int, tuple[int, ...]]]:
    """Where the instructions of a stretch were, and the classes of their tokens."""
    ends = [number for number, one in enumerate(classes, start=1) if one in ending]
    return [(at[start], tuple(classes[start:end])) for start, end in pairwise(ends)]
