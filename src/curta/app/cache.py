"""`curta cache`: what is kept because making it takes time, and clearing it."""

from __future__ import annotations

import argparse

from curta.app.parser import Parser
from curta.errors import UserError
from curta.settings import read_settings
from curta.store import SHELVES, clear, contents


def add_cache(commands: argparse._SubParsersAction[Parser]) -> None:
    cache = commands.add_parser(
        "cache",
        help="show what is kept to save time, or clear it",
        description="All that curta can make again is kept in one folder (CURTA_CACHE, or the "
        "user's cache directory). Removing it costs time and nothing else. What is not used for 60 "
        "days goes by itself.",
    )
    cache.add_argument("shelf", nargs="*", metavar="SHELF", help="only these")
    cache.add_argument("--clear", action="store_true", help="remove what is there")
    cache.set_defaults(command=show_cache)


def show_cache(options: argparse.Namespace) -> int:
    """A line for each shelf."""
    shelves = options.shelf or list(SHELVES)
    for name in set(shelves) - set(SHELVES):
        raise UserError(f"there is no shelf {name!r}: give some of {', '.join(SHELVES)}")
    print(read_settings().cache_directory)
    for found in contents():
        if found.shelf in shelves:
            size = f"{found.files:>7,} files {found.bytes / 1e6:>9,.1f} MB"
            print(f"  {found.shelf:<16}{size}  {SHELVES[found.shelf]}")
    if options.clear:
        clear(*shelves)
        print("cleared" if not options.shelf else f"cleared {', '.join(shelves)}")
    return 0
