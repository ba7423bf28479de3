"""The text format as a tree: words, strings and groups in parentheses.

Comments and annotations are left out. The tree is built with a list of open groups, not by
recursion, so that nesting has no limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from curta.errors import TextFormatError

_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\n\r]+ | ;;[^\n]* )
  | (?P<comment> \(; )
  | (?P<annotation> \(@(?P<name>[0-9A-Za-z!#$%&'*+\-./:<=>?@\\^_`|~]+) )
  | (?P<open> \( )
  | (?P<close> \) )
  | (?P<string> "(?: [^"\\\x00-\x1f\x7f] | \\[tnr"'\\] | \\[0-9a-fA-F]{2}
                   | \\u\{[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*\} )*" )
  | (?P<word> [0-9A-Za-z!#$%&'*+\-./:<=>?@\\^_`|~]+ )
  | (?P<punctuation> [,;\[\]{}] )
    """,
    re.VERBOSE,
)
_COMMENT_EDGE = re.compile(r"\(;|;\)")
_ESCAPE = re.compile(rb"\\(u\{([0-9a-fA-F_]+)\}|[0-9a-fA-F]{2}|.)")
_PLAIN_ESCAPES = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b'"': b'"', b"'": b"'", b"\\": b"\\"}


@dataclass(slots=True)
class Atom:
    """A keyword, a number or a $name."""

    text: str
    at: int


@dataclass(slots=True)
class String:
    content: bytes
    at: int


@dataclass(slots=True)
class Group:
    at: int
    items: list[Node] = field(default_factory=list)
    end: int = 0


Node = Atom | String | Group


class Source:
    """The text, and errors that point into it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, message: str, at: int) -> NoReturn:
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        raise TextFormatError(message, line, column)

    def tree(self) -> Group:
        """All of the text as one group."""
        text, at = self.text, 0
        top = Group(0)
        opened = [top]
        skipping: list[int] = []  # for each annotation that is open, the number of groups around it
        glued = False  # the last token was a word or a string, and nothing came after it
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                self.fail(self._what_is_wrong(at), at)
            kind = match.lastgroup if match["annotation"] is None else "annotation"
            end = match.end()
            if kind == "comment":
                end = self._comment_end(at)
            elif kind in ("open", "annotation"):
                if kind == "annotation":
                    skipping.append(len(opened))
                opened.append(Group(at))
            elif kind == "close":
                self._close(opened, skipping, at)
            elif kind in ("word", "string"):
                if glued and not skipping:
                    self.fail("unknown operator: no space between two words or strings", at)
                opened[-1].items.append(
                    Atom(match[0], at) if kind == "word" else String(self._string(match[0], at), at)
                )
            elif kind == "punctuation" and not skipping:
                self.fail(f"unexpected token {match[0]}", at)
            glued = kind in ("word", "string")
            at = end
        if len(opened) > 1:
            self.fail("unexpected end: a parenthesis is not closed", opened[-1].at)
        top.end = len(text)
        return top

    def _close(self, opened: list[Group], skipping: list[int], at: int) -> None:
        if len(opened) == 1:
            self.fail("unexpected token ): no parenthesis is open", at)
        group = opened.pop()
        group.end = at
        if skipping and skipping[-1] == len(opened):
            skipping.pop()
        else:
            opened[-1].items.append(group)

    def _comment_end(self, start: int) -> int:
        depth, at = 1, start + 2
        while depth:
            edge = _COMMENT_EDGE.search(self.text, at)
            if edge is None:
                self.fail("unexpected end: a comment is not closed", start)
            depth += 1 if edge[0] == "(;" else -1
            at = edge.end()
        return at

    def _string(self, written: str, at: int) -> bytes:
        def replace(match: re.Match[bytes]) -> bytes:
            if match[2] is not None:
                number = int(match[2].replace(b"_", b""), 16)
                if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                    self.fail("malformed UTF-8 encoding: not a Unicode scalar value", at)
                return chr(number).encode()
            return _PLAIN_ESCAPES.get(match[1]) or bytes.fromhex(match[1].decode())

        try:
            return _ESCAPE.sub(replace, written[1:-1].encode())
        except UnicodeEncodeError:
            self.fail("malformed UTF-8 encoding: a lone surrogate", at)

    def _what_is_wrong(self, at: int) -> str:
        if self.text[at] == '"':
            return "unclosed string, or an unknown escape or a control character in it"
        return f"unexpected character {self.text[at]!r}"


class Cursor:
    """A place in a group, from left to right."""

    __slots__ = ("group", "items", "place", "source")

    def __init__(self, source: Source, group: Group, place: int = 0) -> None:
        self.source = source
        self.group = group
        self.items = group.items
        self.place = place

    @property
    def done(self) -> bool:
        return self.place >= len(self.items)

    @property
    def at(self) -> int:
        return self.group.end if self.done else self.items[self.place].at

    def fail(self, message: str) -> NoReturn:
        self.source.fail(message, self.at)

    def next(self) -> Node | None:
        return None if self.done else self.items[self.place]

    def next_word(self) -> str | None:
        node = self.next()
        return node.text if isinstance(node, Atom) else None

    def next_head(self) -> str | None:
        """The first word of the group that comes next."""
        node = self.next()
        if isinstance(node, Group) and node.items and isinstance(node.items[0], Atom):
            return node.items[0].text
        return None

    def take_word(self, what: str) -> str:
        node = self.next()
        if not isinstance(node, Atom):
            self.fail(f"unexpected token, {what} expected")
        self.place += 1
        return node.text

    def take_string(self, what: str) -> bytes:
        node = self.next()
        if not isinstance(node, String):
            self.fail(f"unexpected token, {what} in quotation marks expected")
        self.place += 1
        return node.content

    def take_name(self, what: str) -> str:
        at = self.at
        try:
            return self.take_string(what).decode("utf-8")
        except UnicodeDecodeError:
            self.source.fail("malformed UTF-8 encoding", at)

    def take_id(self) -> str | None:
        """A $name, if there is one."""
        word = self.next_word()
        if word is None or not word.startswith("$"):
            return None
        if word == "$":
            self.fail("empty identifier")
        self.place += 1
        return word

    def accept(self, word: str) -> bool:
        if self.next_word() != word:
            return False
        self.place += 1
        return True

    def accept_group(self, *heads: str) -> Cursor | None:
        """Inside the next group, behind its first word, if that is one of those."""
        node = self.next()
        if self.next_head() not in heads or not isinstance(node, Group):
            return None
        self.place += 1
        return Cursor(self.source, node, 1)

    def finish(self) -> None:
        if not self.done:
            self.fail("unexpected token")
