"""`curta cache`: what is kept because making it takes time, and clearing it."""

from __future__ import annotations

from dataclasses import dataclass

from curta.errors import UserError
from curta.options import word
from curta.settings import read_settings
from curta.store import SHELVES, Contents, clear, contents
from curta.terminal import AsJson


@dataclass(frozen=True)
class Options(AsJson):
    """Show what is kept to save time, or clear it. All that curta can make again is kept in one
    folder (CURTA_CACHE, or the user's cache directory). Removing it costs time and nothing else.
    What is not used for 60 days goes by itself.

    shelf: only these
    clear: remove what is there
    """

    shelf: tuple[str, ...] = word("SHELF", ())
    clear: bool = False


@dataclass(frozen=True)
class Report:
    """What is kept.

    folder:  where
    shelves: those that were asked for, with what lies there
    cleared: whether all of it was removed behind that
    """

    folder: str
    shelves: tuple[Contents, ...]
    cleared: bool

    def __str__(self) -> str:
        lines = (
            f"  {one.shelf:<16}{one.files:>7,} files {one.bytes / 1e6:>9,.1f} MB  "
            f"{SHELVES[one.shelf]}"
            for one in self.shelves
        )
        names = ", ".join(one.shelf for one in self.shelves)
        return "\n".join([self.folder, *lines, *([f"cleared {names}"] if self.cleared else [])])


def run(options: Options) -> int:
    """A line for each shelf."""
    shelves = options.shelf or tuple(SHELVES)
    for name in set(shelves) - set(SHELVES):
        raise UserError(f"there is no shelf {name!r}: give some of {', '.join(SHELVES)}")
    there = tuple(one for one in contents() if one.shelf in shelves)
    if options.clear:
        clear(*shelves)
    folder = str(read_settings().cache_directory)
    return options.show(Report(folder, there, options.clear))
