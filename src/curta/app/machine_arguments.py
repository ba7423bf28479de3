"""The words behind `curta run`: whose are they, curta's or the program's?

Options stand before the program or behind it, as in `curta run prog.c --trace`. Behind the program,
words that curta does not know are the program's (`curta run sort.c -r 3 1 2`), and so is everything
behind `--`. Further files of C or C++ right behind the first one belong to the program itself.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

from curta.app.parser import Parser


def take_program(parser: Parser, args: list[str], namespace: argparse.Namespace) -> list[str]:
    """Note the program's files and arguments; what is left are curta's own options."""
    own, words, rest = split(parser, args)
    if not words and not {"-h", "--help"} & set(own):
        parser.error("PROG is missing: a file .c .cc .cpp .cxx .wat .wasm or .safetensors")
    count = 1
    if words and is_source(words[0]):
        while count < len(words) and is_source(words[count]) and os.path.isfile(words[count]):
            count += 1
    namespace.program = words[:count]
    namespace.arguments = words[count:] + rest
    return own


def split(parser: Parser, args: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Curta's options, the positional words, and what stands behind `--`."""
    known: dict[str, Any] = parser._option_string_actions
    own: list[str] = []
    words: list[str] = []
    left = iter(args)
    for word in left:
        if word == "--":
            if not words:  # the program is still to come
                words += one(left)
            return own, words, list(left)
        action = known.get(word.partition("=")[0] if word.startswith("--") else word)
        if action is not None:
            value = one(left) if action.nargs is None and "=" not in word else []
            own.append(f"{word}={value[0]}" if value else word)  # so that it may begin with "-"
        elif word.startswith("-") and word != "-" and not words:
            own.append(word)  # nobody else's: argparse complains
        else:
            words.append(word)
    return own, words, []


def one(left: Iterator[str]) -> list[str]:
    """The next word, if there is one."""
    return list(islice(left, 1))


def is_source(name: str) -> bool:
    """Is it C or C++, by its name?"""
    from curta.machine.toolchain import SOURCE_SUFFIXES

    return name.lower().endswith(SOURCE_SUFFIXES)
