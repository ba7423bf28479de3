"""Instructions of the text format, flat and folded, to the flat list that a Function holds.

A folded instruction stands behind the ones in its parentheses. The groups that are open are kept
in a list of levels, not on Python's stack, so that nesting has no limit. The targets in the
operands of block, loop, if and else stay zero: encoding and decoding fills them in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from curta.errors import UnsupportedFeatureError
from curta.machine.wasm.module import BlockType, Instruction
from curta.machine.wasm.opcodes import (
    BITS,
    FORMATS,
    OPCODES,
    Immediates,
    Opcode,
    Space,
    ValueType,
    unsupported_name,
)
from curta.machine.wasm.text_numbers import OutOfRangeError, parse_float, parse_integer
from curta.machine.wasm.text_tree import Atom, Cursor, Group

if TYPE_CHECKING:
    from curta.machine.wasm.text_module import ModuleText


@dataclass(slots=True)
class Level:
    """A group that is open. `kind` is code, plain, block, if, then or else.

    `pending` is the instruction that waits for its operands. `flat` are the constructs without
    parentheses that are open in this group: their keywords and labels.
    """

    kind: str
    cursor: Cursor
    pending: Instruction | None = None
    label: str | None = None
    flat: list[tuple[str, str | None]] = field(default_factory=list)


class CodeText:
    """Reads one function body or constant expression."""

    def __init__(self, module: ModuleText, locals_: dict[str, int]) -> None:
        self.module = module
        self.locals = locals_
        self.code: list[Instruction] = []
        self.labels: list[str | None] = [None]
        self.levels: list[Level] = []

    def read(self, cursor: Cursor) -> tuple[Instruction, ...]:
        """All that is left in a group, and an `end`."""
        self.levels = [Level("code", cursor)]
        while self.levels:
            level = self.levels[-1]
            if level.cursor.done:
                self._leave(self.levels.pop())
            elif isinstance(level.cursor.next(), Group):
                self._enter(level)
            else:
                self._flat(level)
        self._emit("end")
        return tuple(self.code)

    def _emit(self, opcode: str, *operands: object) -> None:
        self.code.append(Instruction(opcode, operands))

    # -- groups

    def _enter(self, outer: Level) -> None:
        head = outer.cursor.next_head()
        inner = outer.cursor.accept_group(head) if head else None
        if head is None or inner is None:
            outer.cursor.fail("unexpected token, an instruction expected")
        if outer.kind == "if" and head in ("then", "else"):
            self._enter_branch(outer, inner, head)
        elif outer.kind == "if" and outer.pending is None:
            inner.fail(f"unexpected token {head} behind then")
        elif head in ("block", "loop"):
            label = inner.take_id()
            self._emit(head, self._block_type(inner), 0)
            self.labels.append(label)
            self.levels.append(Level("block", inner))
        elif head == "if":
            label = inner.take_id()
            pending = Instruction("if", (self._block_type(inner), 0))
            self.levels.append(Level("if", inner, pending, label))
        else:
            if head in ("then", "else", "end"):
                inner.source.fail(f"unexpected token {head} in parentheses", inner.group.at)
            pending = self._plain(inner, head, inner.group.items[0].at)
            self.levels.append(Level("plain", inner, pending))

    def _enter_branch(self, outer: Level, inner: Cursor, head: str) -> None:
        """The then or else of a folded if. The condition stands before the `if` in the code."""
        if head == "then":
            if outer.pending is None:
                inner.fail("unexpected token: a second then")
            self.code.append(outer.pending)
            outer.pending = None
            self.labels.append(outer.label)
        else:
            if outer.pending is not None or not outer.cursor.done:
                inner.fail("unexpected token: else must come last, behind then")
            self._emit("else", 0)
        self.levels.append(Level(head, inner))

    def _leave(self, level: Level) -> None:
        if level.flat:
            level.cursor.fail(f"unexpected end: {level.flat[-1][0]} without end")
        if level.kind == "plain" and level.pending is not None:
            self.code.append(level.pending)
        elif level.kind == "if" and level.pending is not None:
            level.cursor.fail("unexpected token: an if without (then ...)")
        if level.kind in ("block", "if"):
            self._emit("end")
            self.labels.pop()

    # -- instructions without parentheses

    def _flat(self, level: Level) -> None:
        cursor, at = level.cursor, level.cursor.at
        word = cursor.take_word("an instruction")
        if level.kind in ("plain", "if"):
            cursor.source.fail(f"unexpected token {word}: operands stand in parentheses", at)
        if word in ("block", "loop", "if"):
            label = cursor.take_id()
            level.flat.append((word, label))
            self._emit(word, self._block_type(cursor), 0)
            self.labels.append(label)
        elif word in ("else", "end"):
            keyword, label = level.flat.pop() if level.flat else ("", None)
            if not keyword or (word == "else" and keyword != "if"):
                cursor.source.fail(f"unexpected token {word}", at)
            repeated = cursor.take_id()
            if repeated is not None and repeated != label:
                cursor.source.fail(f"mismatching label {repeated}, not {label}", at)
            if word == "else":
                level.flat.append(("else", label))
                self._emit("else", 0)
            else:
                self.labels.pop()
                self._emit("end")
        else:
            self.code.append(self._plain(cursor, word, at))

    # -- one instruction and its immediates

    def _plain(self, cursor: Cursor, name: str, at: int) -> Instruction:
        row = OPCODES.get(name)
        if row is None:
            self._unknown(cursor, name, at)
        if name == "select" and cursor.next_head() == "result":
            raise UnsupportedFeatureError("reference types: select with a type; leave the type out")
        return Instruction(name, self._operands(cursor, row))

    def _unknown(self, cursor: Cursor, name: str, at: int) -> NoReturn:
        feature = unsupported_name(name)
        if feature:
            raise UnsupportedFeatureError(f"{feature}: {name}; write the program without them")
        cursor.source.fail(f"unknown operator {name}", at)

    def _operands(self, cursor: Cursor, row: Opcode) -> tuple[object, ...]:
        match row.immediates:
            case Immediates.INTEGER | Immediates.FLOAT:
                return (self._number(cursor, row.results[0]),)
            case Immediates.LABELS:
                depths = [self._index(cursor, "label")]
                while _index_is_next(cursor):
                    depths.append(self._index(cursor, "label"))
                return tuple(depths[:-1]), depths[-1]
            case Immediates.ACCESS:
                return self._access(cursor, row.width)
        found = zip(row.indices, self._indices(cursor, row.indices), strict=True)
        return tuple(index for space, index in found if space != "memory")

    def _indices(self, cursor: Cursor, spaces: tuple[Space, ...]) -> tuple[int, ...]:
        """Tables and memories are left out, or stand in front of types and segments."""
        match spaces:
            case ("type", "table"):
                table = self._index(cursor, "table") if _index_is_next(cursor) else 0
                return self.module.type_use(cursor).index, table
            case ("data" | "elem", "table" | "memory"):
                second = cursor.items[cursor.place + 1 : cursor.place + 2]
                owner = self._index(cursor, spaces[1]) if any(map(_is_index, second)) else 0
                return self._index(cursor, spaces[0]), owner
            case ("table" | "memory", *_) if not _index_is_next(cursor):
                return (0,) * len(spaces)
        return tuple(self._index(cursor, space) for space in spaces)

    def _index(self, cursor: Cursor, space: Space) -> int:
        if space == "label":
            return self._depth(cursor)
        if space == "local":
            return self.module.resolve(cursor, self.locals, "local")
        index = self.module.index(cursor, space)
        if index and space == "memory":
            raise UnsupportedFeatureError(
                f"multi-memory: memory {index}; write the program without it"
            )
        return index

    def _number(self, cursor: Cursor, type_: ValueType) -> int:
        at = cursor.at
        word = cursor.take_word("a number")
        try:
            if type_ in FORMATS:
                value = parse_float(word, FORMATS[type_])
            else:
                value = parse_integer(word, BITS[type_])
        except OutOfRangeError:
            cursor.source.fail(f"constant out of range: {word} for {type_}", at)
        if value is None:
            cursor.source.fail(f"unknown operator {word}: a number of type {type_} expected", at)
        return value

    def _depth(self, cursor: Cursor) -> int:
        at, name = cursor.at, cursor.take_id()
        if name is None:
            return self.module.natural(cursor, "a label")
        if name not in self.labels:
            cursor.source.fail(f"unknown label {name}", at)
        return self.labels[::-1].index(name)

    def _access(self, cursor: Cursor, width: int) -> tuple[int, int]:
        if _index_is_next(cursor):
            self._index(cursor, "memory")
        offset, alignment = 0, width
        for key in ("offset=", "align="):
            word = cursor.next_word()
            if word is None or not word.startswith(key):
                continue
            try:
                value = parse_integer(word.removeprefix(key), 32, signed=False)
            except OutOfRangeError:
                cursor.fail(f"i32 constant out of range: {word}")
            if value is None:
                cursor.fail(f"unknown operator {word}")
            if key == "offset=":
                offset = value
            elif value == 0 or value & (value - 1):
                cursor.fail(f"alignment must be a power of two, not {value}")
            else:
                alignment = value
            cursor.place += 1
        return alignment.bit_length() - 1, offset

    def _block_type(self, cursor: Cursor) -> BlockType:
        """The short form where there is one."""
        explicit = cursor.next_head() == "type"
        use = self.module.type_use(cursor, define=False)
        if explicit:
            return use.index
        if not use.type.parameters and len(use.type.results) <= 1:
            return use.type.results[0] if use.type.results else None
        return self.module.type_index(use.type)


def _is_index(node: object) -> bool:
    return isinstance(node, Atom) and (node.text.startswith("$") or node.text[0].isdigit())


def _index_is_next(cursor: Cursor) -> bool:
    return _is_index(cursor.next())
