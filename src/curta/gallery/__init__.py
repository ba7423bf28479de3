"""A gallery of worked programs for the transformer compiler.

Each module is one program: the idea and its equation in the docstring, then `build`, which makes
the graph, and a PROGRAM that says how to talk to it. They all work the same way: the prompt is the
input and "=", the model says the answer token by token, and "." ends it. Where an answer needs
scratch work, the model says that first, and `decode` leaves it out.

    program = PROGRAMS["addition"]
    engine = load(compile(program.build(), program.max_tokens))
    program.decode(engine.generate(program.encode("123 + 989")))        # "1112"

Good ones to read first: parity, copy, sort, addition. Two are made to run for millions of tokens:
`counter` (input counter.LONG_RUN) and `subleq` (input subleq.LONG_RUN). COUNTERPARTS says which
program does what an example of Tracr or ALTA does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from curta.errors import UserError
from curta.gallery.counterparts import COUNTERPARTS
from curta.gallery.program import Case, GalleryProgram

NAMES = (
    "parity",
    "parity_sequential",
    "copy",
    "reverse",
    "sort",
    "histogram",
    "length",
    "count",
    "token_counts",
    "double_histogram",
    "count_rare",
    "majority",
    "unique",
    "sort_records",
    "sort_frequency",
    "dyck1",
    "dyckn",
    "shuffle_dyck",
    "prefix_fractions",
    "pair_balance",
    "shift",
    "detect_pattern",
    "sequence_map",
    "addition",
    "subtraction",
    "multiplication",
    "division",
    "counter",
    "modular_counter",
    "dfa",
    "dfa_compiled",
    "subleq",
    "scan",
)


class Gallery(Mapping[str, GalleryProgram]):
    """The programs by name, in order; each module is imported when its program is asked for."""

    def __getitem__(self, name: str) -> GalleryProgram:
        if name not in NAMES:
            raise KeyError(name)
        program = import_module(f"curta.gallery.{name}").PROGRAM
        assert isinstance(program, GalleryProgram)
        return program

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


PROGRAMS: Mapping[str, GalleryProgram] = Gallery()


def find_program(name: str) -> GalleryProgram:
    """The program of this name, or an error that says which there are."""
    if name not in NAMES:
        raise UserError(f"no program {name!r} in the gallery; there are: {', '.join(NAMES)}")
    return PROGRAMS[name]


__all__ = ["COUNTERPARTS", "NAMES", "PROGRAMS", "Case", "Gallery", "GalleryProgram", "find_program"]
