"""`curta cache`: what is kept because making it takes time, and clearing it."""

from __future__ import annotations

from dataclasses import dataclass

from curta.errors import UserError
from curta.options import word
from curta.terminal import write_json


@dataclass(frozen=True)
class Options:
    """Show what is kept to save time, or clear it. All that curta can make again is kept in one
    folder (CURTA_CACHE, or the user's cache directory). Removing it costs time and nothing else.
    What is not used for 60 days goes by itself.

    shelf: only these
    clear: remove what is there
    json:  what is there, as JSON
    """

    shelf: tuple[str, ...] = word("SHELF", ())
    clear: bool = False
    json: bool = False


@dataclass(frozen=True)
class Shelf:
    """Things of one kind.

    shelf:        its name
    files, bytes: what lies there
    """

    shelf: str
    files: int
    bytes: int


@dataclass(frozen=True)
class Report:
    """What is kept.

    folder:  where
    shelves: those that were asked for
    cleared: whether all of it was removed behind that
    """

    folder: str
    shelves: tuple[Shelf, ...]
    cleared: bool


def run(options: Options) -> int:
    """A line for each shelf."""
    from curta.settings import read_settings
    from curta.store import SHELVES, clear, contents

    shelves = options.shelf or tuple(SHELVES)
    for name in set(shelves) - set(SHELVES):
        raise UserError(f"there is no shelf {name!r}: give some of {', '.join(SHELVES)}")
    there = [Shelf(one.shelf, one.files, one.bytes) for one in contents() if one.shelf in shelves]
    report = Report(str(read_settings().cache_directory), tuple(there), options.clear)
    if options.clear:
        clear(*shelves)
    if options.json:
        write_json(report)
        return 0
    print(report.folder)
    for one in report.shelves:
        size = f"{one.files:>7,} files {one.bytes / 1e6:>9,.1f} MB"
        print(f"  {one.shelf:<16}{size}  {SHELVES[one.shelf]}")
    if report.cleared:
        print("cleared" if not options.shelf else f"cleared {', '.join(shelves)}")
    return 0
