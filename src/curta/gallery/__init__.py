"""A gallery of worked programs for the transformer compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from curta.gallery.program import Case, Program

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
    "multiplication",
)


class Gallery(Mapping[str, Program]):
    """The programs by name, in order; each module is imported when its program is asked for."""

    def __getitem__(self, name: str) -> Program:
        if name not in NAMES:
            raise KeyError(name)
        program = import_module(f"curta.gallery.{name}").PROGRAM
        assert isinstance(program, Program)
        return program

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


PROGRAMS: Mapping[str, Program] = Gallery()

__all__ = ["NAMES", "PROGRAMS", "Case", "Gallery", "Program"]
