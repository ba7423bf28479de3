"""The C of a program: templates put together, one for each of its places.

A `Kit` is all that is needed of a model for that, as text: it comes with a packaged model, and is
made for others as far as it is needed. `program_to_c` makes C of it for some places, with their
fields as numbers; the C compiler does the rest. What is not there is left to the general code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from curta.engine.native.outline import outlined

MOST_FOLLOWING = 4
"""Places that are asked for before all others, behind a place."""


@dataclass(frozen=True)
class Kit:
    """What the C of a program is put together from."""

    classes: list[list[int]]
    """The tokens that can be said, by class."""
    ending: list[int]
    """The classes of tokens that end a place."""
    head: str
    """What stands before the function."""
    begin: str
    """How a token is taken in that is not an instruction's of these."""
    end: str
    """How the function is left."""
    selector: int
    """The field that says which template a place has."""
    templates: dict[str, str]
    """By the selector; empty where there can be none."""
    tables: dict[str, str]
    """What templates look up, by the names that they have there."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Kit:
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Place:
    """A place of a program: its fields, the places that were seen to come next, the commonest
    first, and classes of tokens in a row that were seen to be said there.
    """

    number: int
    fields: tuple[int, ...]
    following: tuple[int, ...]
    said: frozenset[tuple[int, ...]]


def program_to_c(kit: Kit, places: Sequence[Place]) -> str:
    """The C of these places."""
    known = {p.number: p for p in places if kit.templates.get(str(p.fields[kit.selector]))}
    kit, functions = with_functions(kit, {str(p.fields[kit.selector]) for p in known.values()})
    first = min(known, default=0)
    here = [int(number in known) for number in range(first, max(known, default=0) + 1)]
    lines = [
        kit.head,
        *kit.tables.values(),
        *functions,
        f"enum {{ FIRST = {first}, PLACES = {len(here)} }};",
        f"static const uint8_t here[] = {{{', '.join(map(str, here)) or '0'}}};",
        "#define is_here(to) ((uint64_t)((to) - FIRST) < PLACES && here[(to) - FIRST])",
        kit.begin,
        "dispatch: switch (to) {",
        *(f"case {number}: goto place{number};" for number in known),
        "default: goto leave; }",
    ]
    for place in known.values():
        lines += placed(kit, place, known)
    return "\n".join([*lines, kit.end])


def with_functions(kit: Kit, selectors: set[str]) -> tuple[Kit, list[str]]:
    """The kit with calls where templates go on for long, and the functions that they call."""
    templates, functions = dict(kit.templates), list[str]()
    for selector in sorted(selectors):
        name = f"part{selector}"
        templates[selector], found = outlined(templates[selector], name, kit.tables)
        functions += found
    return replace(kit, templates=templates), functions


def placed(kit: Kit, one: Place, known: Mapping[int, Place]) -> Iterator[str]:
    """The code of one place."""
    fields = ", ".join(f"field{n} = {value}" for n, value in enumerate(one.fields))
    yield f"place{one.number}: {{ const int64_t place = {one.number}, {fields};"
    ways = [to for to in one.following if to in known][:MOST_FOLLOWING]
    template = kit.templates[str(one.fields[kit.selector])]
    begun = {said[:n] for said in one.said for n in range(1, len(said) + 1)}
    outer = list[int | None]()
    skipped = 0
    """How many of the outer blocks were begun when this one, which is left out, was."""
    for line in template.split("\n"):
        order, _, rest = line.partition(" ")
        if order in ("@if", "@say", "@may"):
            path = tuple(number for number in outer if number is not None)
            outer.append(int(rest) if order == "@say" else None)
            if skipped:
                continue
            if order == "@if":
                least, _, name = rest.partition(" ")
                if one.fields[int(name.removeprefix("field"))] < int(least):
                    skipped = len(outer)
            elif not any((*path, int(number)) in begun for number in rest.split()):
                yield "goto give_up;"
                skipped = len(outer)
        elif order == "@end":
            skipped = 0 if skipped == len(outer) else skipped
            outer.pop()
        elif skipped:
            continue
        elif order == "@arrive":
            yield f"to = {rest};"
            seen = " || ".join([*(f"to == {way}" for way in ways), "is_here(to)"])
            full = "s->exhausted || " if "store" in template else ""
            yield f"if ({full}next > end || !({seen})) goto leave;"
        elif order == "@go":
            yield from (f"if (to == {way}) goto place{way};" for way in ways)
            yield "goto dispatch;"
        else:
            yield line
    yield "}"
