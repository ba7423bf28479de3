"""Long calculations in templates as functions, so that a C compiler sees each of them once.

A template is put into the C of a program for every place that has it. Most are short. Where one
goes on for hundreds of lines of plain arithmetic, as for floats, a compiler would take minutes; so
what only computes numbers of numbers becomes a function, which all these places call, and all
templates that compute the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LEAST = 100
"""Lines of arithmetic in a row that are worth a call."""
MOST_RESULTS = 16
_DEFINITION = re.compile(r"const (\w+) (\*?\w+) = (.*);(?: /\*.*\*/)?")
_NAME = re.compile(r"[A-Za-z_]\w*")
_KNOWN = re.compile(
    r"U?INT64_C|bit_length|clamped|int64_t|multiples|rectified|staircase|uint64_t|u|table\d+"
)


@dataclass(frozen=True)
class _Line:
    """The definition of a name, by others."""

    text: str
    name: str
    reads: frozenset[str]
    is_number: bool


def outlined(lines: Sequence[str], functions: dict[str, str]) -> list[str]:
    """The lines of a template with calls of functions; these are kept by what they do."""
    shorter, at = list[str](), 0
    numbers: set[str] = set()
    """Names that are known to be numbers."""
    while at < len(lines):
        run = list(_run(lines, at))
        numbers.update(line.name for line in run if line.is_number)
        following = at + max(len(run), 1)
        found = None
        if len(run) >= LEAST:
            rest = set(_NAME.findall("\n".join(lines[following:])))
            found = _apart(run, numbers, rest, functions)
        shorter += found or lines[at:following]
        at = following
    return shorter


def _run(lines: Sequence[str], at: int) -> Iterator[_Line]:
    """The definitions in a row from there on."""
    for text in lines[at:]:
        found = _DEFINITION.fullmatch(text)
        if found is None:
            return
        kind, name, value = found.groups()
        yield _Line(text, name, _names(value), kind == "int64_t")


def _names(text: str) -> frozenset[str]:
    return frozenset(name for name in _NAME.findall(text) if not _KNOWN.fullmatch(name))


def _apart(
    run: Sequence[_Line], numbers: set[str], rest: set[str], functions: dict[str, str]
) -> list[str] | None:
    """What stays of a run, with a call of the function that does the rest of it."""
    computed = {line.name for line in run if line.is_number and line.reads <= numbers}
    wanted: set[str] = set()
    for line in reversed(run):
        if line.name not in computed or line.name in wanted:
            wanted |= line.reads
    inner = computed - wanted
    moved = [line for line in run if line.name in inner]
    given = sorted(set().union(*(line.reads for line in moved)) - inner)
    results = [line.name for line in moved if line.name in rest]
    if len(moved) < LEAST or len(results) > MOST_RESULTS:
        return None
    body = [line.text for line in moved]
    body += [f"out[{number}] = {name};" for number, name in enumerate(results)]
    parameters = "".join(f", const int64_t {name}" for name in given)
    text = "\n".join([f"(int64_t *out{parameters}) {{", *body, "}"])
    name = functions.setdefault(text, f"part{len(functions)}")
    return [
        *(line.text for line in run if line.name not in inner),
        f"int64_t {name}_out[{len(results)}];",
        f"{name}({', '.join([f'{name}_out', *given])});",
        *(f"const int64_t {x} = {name}_out[{n}];" for n, x in enumerate(results)),
    ]


def functions_to_c(functions: Mapping[str, str]) -> str:
    return "\n".join(
        f"static __attribute__((noinline)) void {name}{text}" for text, name in functions.items()
    )
