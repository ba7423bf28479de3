"""How the words of a command line become the options of a command.

A command's options are a dataclass (`curta.options`). Options stand anywhere, the beginning of a
name that no other has is enough, and behind `--` there are words only. A command may take the words
of somebody else (`rest`): then what it does not know is theirs once there is a word, as in
`curta run sort.c -r 3 1 2`, and what looks like a misspelt option is passed on with a warning.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING
from typing import Any, NoReturn

from curta.app.commands import HELP
from curta.options import Option, build, converted, described, described_by, options_of

NEARLY = 0.75
"""How much of two words has to agree (by difflib) for one to be a misspelling of the other."""
NUMBER = re.compile(r"-\.?\d")
MINUS = re.compile(r"-(?!-)|-+[\d.(]")
"""What begins like an option and is none where words may begin with a dash."""
COLUMN, WIDTH = 26, 100
"""Of help: where meanings begin, and how wide it is at most."""


def parse(name: str, configuration: Any, given: Sequence[str]) -> Any:
    """The options that these words are; a SystemExit, once help or what is wrong is shown."""
    reader = Reader(name, configuration)
    return build(configuration, reader.read(given))


class Reader:
    """Takes words one by one; `values` are what they say, by the names of options."""

    def __init__(self, name: str, configuration: Any) -> None:
        self.program = f"curta {name}"
        self.configuration = configuration
        self.options: Sequence[Option] = options_of(configuration)
        self.known = {written: one for one in self.options for written in one.names}
        self.rest = next((one for one in self.options if one.rest is not None), None)
        self.dashes = any(one.dashes for one in self.options)
        self.values: dict[str, Any] = {}
        self.words: list[str] = []

    def read(self, given: Sequence[str]) -> dict[str, Any]:
        left, behind = iter(given), list[str]()
        for word in left:
            if word == "--":
                behind = list(left)
            elif word in HELP:
                print(*help_lines(self.program, self.configuration, self.options), sep="\n")
                raise SystemExit(0)
            elif self.is_own(word):
                self.take(word, left)
            else:
                self.words.append(word)
        self.place(behind)
        for one in self.options:
            if one.default is MISSING and one.name not in self.values:
                self.error(f"{one.metavar if one.is_word else one.flag} is missing")
        return self.values

    def is_own(self, word: str) -> bool:
        """Whether a word is an option, or nobody else can have written it."""
        if not word.startswith("-") or word == "-":
            return False
        theirs = self.rest is not None and bool(self.words)
        is_word = theirs or NUMBER.match(word) or (self.dashes and MINUS.match(word))
        return word.partition("=")[0] in self.known or not is_word

    def take(self, word: str, left: Iterator[str]) -> None:
        """An option with its value, which may begin with a dash."""
        name, equals, text = word.partition("=")
        name = self.whole(name)
        if name not in self.known and name[:2] in self.known and not name.startswith("--"):
            name, equals, text = word[:2], "=", word[2:]  # -oFILE
        if name not in self.known:
            meant = self.meant(word)
            self.error(f"there is no option {name}" + (f": did you mean {meant}?" if meant else ""))
        option = self.known[name]
        if option.is_flag:
            if equals:
                self.error(f"{name} takes no value")
            self.values[option.name] = not name.startswith("--no-")
            return
        value = text if equals else next(left, None)
        if value is None:
            self.error(f"{name} needs a value")
        several = (*self.values.get(option.name, ()), value) if option.is_many else ()
        self.values[option.name] = several or self.value_of(option, name, value)

    def value_of(self, option: Option, name: str, text: str) -> Any:
        """A value of the option's type."""
        try:
            value = converted(option.kind, text)
        except ValueError:
            self.error(f"{name} {text}: write {described(option.kind)}")
        if option.choices and value not in (*option.choices, None):
            self.error(f"{name} {text}: one of {', '.join(option.choices)}")
        return value

    def place(self, behind: list[str]) -> None:
        """Give words to the options that are written without a name, in their order."""
        words = self.words
        if self.rest is None or self.rest.rest is None:
            words = words + behind
        else:
            if not words:  # the first word is never theirs
                words, behind = behind[:1], behind[1:]
            count = self.rest.rest(words)
            words, theirs = words[:count], words[count:]
            self.warn_of_misspelt(theirs)
            self.values[self.rest.name] = (*theirs, *behind)
        for one in self.options:
            if one.is_word and one.rest is None and words:
                if one.is_many:
                    self.values[one.name], words = tuple(words), []
                else:
                    first, *words = words
                    self.values[one.name] = self.value_of(one, one.metavar, first)
        if words:
            self.error(f"{words[0]} does not belong to anything")

    def whole(self, name: str) -> str:
        """The name that this is the beginning of, if it is of one only."""
        longer = [known for known in self.known if known.startswith(name) and name.startswith("--")]
        return longer[0] if name not in self.known and len(longer) == 1 else name

    def warn_of_misspelt(self, words: Sequence[str]) -> None:
        """Options of somebody else that were perhaps meant for curta; they get them even so."""
        for word in words:
            if meant := self.meant(word):
                name = word.partition("=")[0]
                print(
                    f"{self.program}: {name} is given to the program; did you mean {meant}? "
                    "(words behind -- are the program's without this question)",
                    file=sys.stderr,
                )

    def meant(self, word: str) -> str | None:
        """The option of curta's that this word is nearly, but not quite."""
        name = word.partition("=")[0]
        is_name = word.startswith("--") and name not in self.known
        return likely(name, self.known) if is_name else None

    def error(self, message: str) -> NoReturn:
        refuse(self.program, message)


def likely(word: str, names: Iterable[str]) -> str | None:
    """The name that a word is nearly."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, names, n=1, cutoff=NEARLY)), None)


def refuse(program: str, message: str) -> NoReturn:
    """An error in one line, like all others."""
    print(f"{program}: {message} (see {program} --help)", file=sys.stderr)
    raise SystemExit(2)


# -- help ---------------------------------------------


def usage(program: str, options: Sequence[Option]) -> str:
    """What has to be given, and where options may stand."""
    needed = [option for option in options if not option.is_word and option.default is MISSING]
    parts = [
        program,
        *(f"{option.names[0]} {option.placeholder}" for option in needed),
        "[options]",
    ]
    for option in options:
        if option.is_word:
            several = f"{option.metavar} ..." if option.is_many else option.metavar
            parts.append(several if option.default is MISSING else f"[{several}]")
    return " ".join([*parts, "[-- ARG ...]"] if any(option.rest for option in options) else parts)


def written(option: Option) -> str:
    """An option as it is written: by its first names, with what stands for its value."""
    if option.is_word:
        return option.metavar
    names = [name for name in option.names if option.on_top or not option.is_flag]
    return ", ".join(names or option.names[:1]) + (
        "" if option.is_flag else f" {option.placeholder}"
    )


def help_lines(program: str, configuration: Any, options: Sequence[Option]) -> Iterator[str]:
    """What a command does, and all that it can be told."""
    import shutil
    from textwrap import wrap

    width = min(shutil.get_terminal_size().columns, WIDTH)
    yield f"usage: {usage(program, options)}"
    yield ""
    yield from wrap(described_by(configuration)[0], width)
    titles = {(option.is_word, option.part): option for option in options}
    for is_word, part in sorted(titles, key=lambda title: not title[0]):
        yield f"\n{'words' if is_word else part.replace('_', ' ') or 'options'}:"
        for option in options:
            if (option.is_word, option.part) == (is_word, part):
                first, *more = wrap(option.explained, max(width - COLUMN, 20)) or [""]
                name = f"  {written(option)}"
                if len(name) > COLUMN - 2:
                    yield name
                    name = ""
                yield f"{name:{COLUMN}}{first}".rstrip()
                yield from (" " * COLUMN + line for line in more)
