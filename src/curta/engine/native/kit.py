"""The C of one program: templates put together, one for each of its hot places.

What is needed of a model for that stands in its C: the *kit*. `program_to_c` makes C of it for some
places, with their fields as numbers; the C compiler does the rest. What is not there is left to the
code for all programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MOST_FOLLOWING = 4
"""Places that are asked for before all others, behind a place."""
OPTIMISE = """\
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize ("strict-aliasing", "tree-pre", "expensive-optimizations", "store-merging")
#endif
"""
"""What -O2 is worth here, for half of the time that it takes."""
SECTION = re.compile(r"^/// (\S+)\n(.*?)\n///$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Kit:
    """What the C of a program is put together from."""

    classes: list[list[int]]
    """The tokens that can be said, by class."""
    ending: list[int]
    """The classes of tokens that end a place."""
    selector: int
    """The field that says which template a place has."""
    head: str
    """What stands before the function."""
    begin: str
    """How a token is taken in that is not an instruction's of these."""
    leave: str
    """How the function is left."""
    templates: dict[str, str]
    """By the selector."""

    @classmethod
    def of(cls, source: str) -> Kit:
        """The kit of a model, out of its C."""
        sections = list(SECTION.finditer(source))
        parts = {found[1]: found[2] for found in sections}
        facts = json.loads(parts.pop("facts").removeprefix("/* ").removesuffix(" */"))
        head, begin, leave = source[: sections[0].start()], parts.pop("begin"), parts.pop("leave")
        templates = {name.removeprefix("template"): text for name, text in parts.items()}
        return cls(**facts, head=head, begin=begin, leave=leave, templates=templates)


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
    known = {p.number: p for p in places if str(p.fields[kit.selector]) in kit.templates}
    entered = known.keys() - inner(known)
    first = min(known, default=0)
    here = [int(number in entered) for number in range(first, max(known, default=0) + 1)]
    lines = [
        OPTIMISE,
        kit.head,
        f"enum {{ FIRST = {first}, PLACES = {len(here)} }};",
        f"static const uint8_t here[] = {{{', '.join(map(str, here)) or '0'}}};",
        "#define is_here(s, to) ((uint64_t)((to) - FIRST) < PLACES && here[(to) - FIRST])",
        "static int64_t say(State *s, int32_t first, int32_t *said, int64_t count) {",
        kit.begin,
        "dispatch: switch (to) {",
        *(f"case {number}: goto place{number};" for number in sorted(entered)),
        "default: goto leave; }",
    ]
    for place in known.values():
        lines += placed(kit, place, known)
    there = "const Places curta_places = {say, FIRST, PLACES, here};\n"
    return "\n".join([*lines, kit.leave, there])


def inner(known: Mapping[int, Place]) -> set[int]:
    """Places that only the one before was seen to lead to. They are entered from there alone, so a
    C compiler knows what was filed last when they begin.
    """
    before: dict[int, set[int]] = {}
    for place in known.values():
        for to in place.following:
            before.setdefault(to, set()).add(place.number)
    return {to for to in known if before.get(to) == {to - 1} and to in ways(known[to - 1], known)}


def ways(one: Place, known: Mapping[int, Place]) -> list[int]:
    """The places that are asked for first behind this one."""
    return [to for to in one.following if to in known][:MOST_FOLLOWING]


def placed(kit: Kit, one: Place, known: Mapping[int, Place]) -> Iterator[str]:
    """The code of one place."""
    fields = ", ".join(f"field{n} = {value}" for n, value in enumerate(one.fields))
    yield f"place{one.number}: {{ const int64_t place = {one.number}, {fields};"
    first = ways(one, known)
    template = kit.templates[str(one.fields[kit.selector])]
    full = "s->exhausted || " if "store" in template else ""
    for line in wanted(template, one):
        if line.startswith("ARRIVE("):
            yield f"to = {line.removeprefix('ARRIVE')}"
            seen = " || ".join([*(f"to == {way}" for way in first), "is_here(s, to)"])
            yield f"if ({full}next > end || !({seen})) goto leave;"
        elif line == "GO;":
            yield from (f"if (to == {way}) goto place{way};" for way in first)
            yield "goto dispatch;"
        else:
            yield line
    yield "}"


def wanted(template: str, one: Place) -> Iterator[str]:
    """The lines that are for a place like this, and say what was seen to be said there."""
    begun = {said[:n] for said in one.said for n in range(1, len(said) + 1)}
    outer = list[int | None]()
    back = [0]
    """Tokens of the place that can be taken back, in each of the outer blocks."""
    skipped = 0
    """How many of the outer blocks were begun when this one, which is left out, was."""
    for line in template.split("\n"):
        order, _, rest = line.partition(" ")
        if order in ("//@if", "//@say", "//@may"):
            path = tuple(number for number in outer if number is not None)
            outer.append(int(rest) if order == "//@say" else None)
            back.append(back[-1] + (order == "//@say"))
            if skipped:
                continue
            if order == "//@if":
                least, _, name = rest.partition(" ")
                if one.fields[int(name.removeprefix("field"))] < int(least):
                    skipped = len(outer)
            elif not any((*path, int(number)) in begun for number in rest.split()):
                yield f"next -= {back[-2]}; goto give_up;"
                skipped = len(outer)
        elif order == "//@end":
            skipped = 0 if skipped == len(outer) else skipped
            outer.pop()
            back.pop()
        elif order == "//@done":
            back[-1] = 0
        elif not skipped:
            yield line
