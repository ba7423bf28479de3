"""The words behind `curta run`: whose are they, curta's or the program's?

Options stand before the program or behind it, as in `curta run prog.c --trace`. Behind the program,
words that curta does not know are the program's (`curta run sort.c -r 3 1 2`), and so is everything
behind `--`. Words before it that look like a misspelt option of curta's are passed on all the same,
with a warning. Further files of C or C++ right behind the first one belong to the program itself.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Any

from curta.app.parser import Parser

NEARLY = 0.8
"""How much of two words has to agree (by difflib) for one to be a misspelling of the other."""


def take_program(parser: Parser, args: list[str], namespace: argparse.Namespace) -> list[str]:
    """Note the program's files and arguments; what is left are curta's own options."""
    own, words, rest = split(parser, args)
    refuse_misspelt(parser, own)
    if not words and not {"-h", "--help"} & set(own):
        parser.error("PROG is missing: a file .c .cc .cpp .cxx .wat .wasm or .safetensors")
    count = 1
    if words and is_source(words[0]):
        while count < len(words) and is_source(words[count]) and os.path.isfile(words[count]):
            count += 1
    warn_of_misspelt(parser, words[count:])
    namespace.program = words[:count]
    namespace.arguments = words[count:] + rest
    return own


def refuse_misspelt(parser: Parser, own: list[str]) -> None:
    """Before the program nobody else's options can stand. (argparse takes beginnings of names.)"""
    for word in own:
        name, meant = word.partition("=")[0], likely_option(parser, word)
        if meant is not None and not meant.startswith(name):
            parser.error(f"there is no option {name}; did you mean {meant}?")


def warn_of_misspelt(parser: Parser, words: list[str]) -> None:
    """Options of the program that were perhaps meant for curta; the program gets them even so."""
    for word in words:
        name, meant = word.partition("=")[0], likely_option(parser, word)
        if meant is not None:
            print(
                f"{parser.prog}: {name} is given to the program; did you mean {meant}? "
                "(words behind -- are the program's without this question)",
                file=sys.stderr,
            )


def likely_option(parser: Parser, word: str) -> str | None:
    """The option of curta's that this word is nearly, but not quite."""
    known: dict[str, Any] = parser._option_string_actions
    name = word.partition("=")[0]
    if not word.startswith("--") or name in known:
        return None
    near = get_close_matches(name, known, n=1, cutoff=NEARLY)
    return near[0] if near else None


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
