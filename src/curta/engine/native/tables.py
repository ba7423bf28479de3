"""C for the tables that stand in for attention heads.

A head that retrieves the latest value under an exact key is a table: the key is an index, and a
later value overwrites an earlier one. Which table depends on what is proved about the key:

    by position   keys are positions, shifted by a constant: one array for all such tables, the
                  track. It has a row for every token and grows with the sequence; if all look
                  back by fixed distances, it is a ring of as many rows
    direct        few keys: an array of rows, each with a flag that says that it was filed; of a
                  large one most is never written to, and takes no memory
    paged         many keys: pages of rows, allocated when first written
    hashed        more keys than pages could be listed: open addressing
    nearest       a miss has a meaning: direct, with a tree of bitmaps that finds the neighbours

Values are stored in the narrowest integers that hold their proved bounds. Heads that file under the
same key share their rows, and a value that several of them file is filed once: what one instruction
or one token consists of lies in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from curta.compiler.numbers import Number, power_of_two
from curta.engine.native.routine import Filing, Routine
from curta.engine.native.values import Member, Pool, Rows, Sum

DIRECT_LIMIT = 1 << 23
SMALL_ARRAY = 1 << 16
"""Entries of an array of which it does not matter how much is written to."""
PAGED_LIMIT = 1 << 36
PAGE_BITS = 12
LONGEST_ZEROS = 8
INTEGER_TYPES = (
    ("uint8_t", 0, 2**8 - 1),
    ("int8_t", -(2**7), 2**7 - 1),
    ("uint16_t", 0, 2**16 - 1),
    ("int16_t", -(2**15), 2**15 - 1),
    ("uint32_t", 0, 2**32 - 1),
    ("int32_t", -(2**31), 2**31 - 1),
    ("int64_t", -(2**63), 2**63 - 1),
)


def integer_type(low: Number, high: Number) -> str:
    """The narrowest C type for the integers low..high."""
    return next(name for name, least, most in INTEGER_TYPES if least <= low and high <= most)


def array_to_c(name: str, entries: Sequence[int]) -> str:
    """A constant array in the narrowest type for its entries; long runs of 0 are left out."""
    texts, zeros = list[str](), 0
    for place, entry in enumerate(entries):
        if entry == 0:
            zeros += 1
            continue
        if zeros > LONGEST_ZEROS:
            texts.append(f"[{place}] = {entry}")
        else:
            texts += ["0"] * zeros + [str(entry)]
        zeros = 0
    kind = integer_type(min(0, *entries), max(0, *entries))
    return f"static const {kind} {name}[{len(entries)}] = {{{', '.join(texts) or '0'}}};"


def storage_type(member: Member) -> str:
    unit = Fraction(power_of_two(member.step))
    return integer_type(member.low / unit, member.high / unit)


def kind_of(pool: Pool, key: Sum, size: int, *, nearest: bool) -> str:
    if pool.position_shift(key) is not None:
        return "by position"
    if nearest:
        return "nearest"
    if size <= DIRECT_LIMIT:
        return "direct"
    return "paged" if size <= PAGED_LIMIT else "hashed"


def tables_of(routine: Routine) -> dict[int, Table]:
    """The C of all rows that anything is filed in, with those of their members that are."""
    filed: dict[int, dict[str, Member]] = {}
    for event in routine.events:
        if isinstance(event, Filing):
            members = routine.pool.rows[event.rows].members
            row = filed.setdefault(event.rows, {})
            row.update((name, members[name]) for name, _ in event.members)
    return {number: Table(routine.pool.rows[number], row) for number, row in filed.items()}


@dataclass(frozen=True, slots=True)
class Table:
    """The C of some rows: their part of the state, how they are filed, found, grown and freed."""

    rows: Rows
    members: dict[str, Member]
    """Those that somebody reads."""

    @property
    def number(self) -> int:
        return self.rows.number

    @property
    def kind(self) -> str:
        return self.rows.kind

    @property
    def size(self) -> int:
        return self.rows.size

    @property
    def fields_of_state(self) -> str:
        """The state's fields."""
        t, name = self.number, comment(self.rows.label)
        if self.kind == "paged":
            return f"    Row{t} *pages{t}[{self.pages}], spare{t}; /* {name} */\n"
        if self.kind == "hashed":
            return (
                f"    Entry{t} *entries{t}; /* {name} */\n"
                f"    Row{t} spare{t};\n    uint64_t used{t}, room{t};\n"
            )
        if self.kind == "by position":
            return ""
        if self.kind == "nearest":
            return (
                f"    Row{t} *rows{t}; /* {name} */\n    uint64_t *marks{t}[{len(self.levels)}];\n"
            )
        return f"    Row{t} *rows{t}; /* {name} */\n"

    @property
    def pages(self) -> int:
        return -(-self.size // (1 << PAGE_BITS))

    @property
    def levels(self) -> list[int]:
        """Words of each level of the tree of bitmaps, finest first."""
        words = self.size
        levels: list[int] = []
        while not levels or words > 1:
            words = -(-words // 64)
            levels.append(words)
        return levels

    @property
    def fields(self) -> list[str]:
        """The values that somebody reads, as members of a struct."""
        return [
            f"{storage_type(member)} {name}; /* {comment(member.label)} */"
            for name, member in self.members.items()
        ]

    @property
    def row_type(self) -> str:
        t, fields = self.number, self.fields
        if self.kind == "by position":
            return ""
        if self.kind == "nearest":
            fields.append("int64_t position; /* when it was filed */")
        else:
            fields.append("uint8_t filed;")
        body = "".join(f"    {field}\n" for field in fields)
        text = f"typedef struct {{\n{body}}} Row{t};\n"
        if self.kind == "nearest":
            words = ", ".join(map(str, self.levels))
            text += f"static const int64_t words{t}[] = {{{words}}};\n"
        if self.kind == "hashed":
            text += f"typedef struct {{ uint64_t key; Row{t} row; }} Entry{t};\n"
        return text

    @property
    def helpers(self) -> str:
        """A hashed table's search and growth."""
        t = self.number
        if self.kind != "hashed":
            return ""
        return f"""\
static Entry{t} *probe{t}(Entry{t} *entries, uint64_t room, uint64_t key) {{
    uint64_t at = (key * UINT64_C(0x9E3779B97F4A7C15)) >> 20;
    while (entries[at & (room - 1)].row.filed && entries[at & (room - 1)].key != key) at++;
    return &entries[at & (room - 1)];
}}

static int widen{t}(State *s) {{
    const uint64_t room = s->room{t} ? s->room{t} * 2 : 1024;
    Entry{t} *entries = zeros(s, sizeof(Entry{t}) * room);
    if (!entries) return 0;
    for (uint64_t i = 0; i < s->room{t}; i++)
        if (s->entries{t}[i].row.filed)
            *probe{t}(entries, room, s->entries{t}[i].key) = s->entries{t}[i];
    s->bytes -= sizeof(Entry{t}) * s->room{t};
    free(s->entries{t});
    s->entries{t} = entries;
    s->room{t} = room;
    return 1;
}}
"""

    @property
    def store(self) -> str:
        """A function that returns the row to write for a key."""
        t = self.number
        if self.kind == "by position":
            return ""
        head = f"INLINE Row{t} *store{t}(State *s, uint64_t key) {{\n"
        match self.kind:
            case "direct":
                body = f"    return &s->rows{t}[key];\n"
            case "nearest":
                body = (
                    f"    mark(s->marks{t}, {len(self.levels)}, key);\n"
                    f"    return &s->rows{t}[key];\n"
                )
            case "hashed":
                body = (
                    f"    if (s->used{t} * 2 >= s->room{t} && !widen{t}(s)) return &s->spare{t};\n"
                    f"    Entry{t} *entry = probe{t}(s->entries{t}, s->room{t}, key);\n"
                    f"    s->used{t} += !entry->row.filed;\n"
                    "    entry->key = key;\n"
                    "    return &entry->row;\n"
                )
            case _:
                body = (
                    f"    Row{t} **page = &s->pages{t}[key >> {PAGE_BITS}];\n"
                    f"    if (!*page) *page = allocate(s, sizeof(Row{t}) << {PAGE_BITS});\n"
                    f"    return *page ? *page + (key & {(1 << PAGE_BITS) - 1}) : &s->spare{t};\n"
                )
        return head + body + "}\n"

    @property
    def fetch(self) -> str:
        """Functions that return where the row of a query lies, and the row if it was filed; or a
        null pointer. What was not filed is zero.
        """
        t, size = self.number, self.size
        match self.kind:
            case "by position":
                return ""
            case "direct":
                body = f"    return query < {size}u ? &s->rows{t}[query] : 0;\n"
            case "nearest":
                body = self._nearest()
            case "hashed":
                found = f"&probe{t}(s->entries{t}, s->room{t}, query)->row"
                body = f"    return s->room{t} ? {found} : 0;\n"
            case _:
                body = (
                    f"    if (query >= UINT64_C({size})) return 0;\n"
                    f"    const Row{t} *page = s->pages{t}[query >> {PAGE_BITS}];\n"
                    f"    return page ? page + (query & {(1 << PAGE_BITS) - 1}) : 0;\n"
                )
        filed = "at" if self.kind == "nearest" else "at && at->filed ? at : 0"
        return (
            f"INLINE const Row{t} *at{t}(State *s, uint64_t query) {{\n{body}}}\n"
            f"INLINE const Row{t} *fetch{t}(State *s, uint64_t query) {{\n"
            f"    const Row{t} *at = at{t}(s, query);\n    return {filed};\n}}\n"
        )

    def _nearest(self) -> str:
        t, levels, size = self.number, len(self.levels), self.size
        return (
            "    const int64_t at = (int64_t)query;\n"
            f"    const int64_t below = at < 0 ? -1 : find_below(s->marks{t}, {levels}, "
            f"at < {size} ? at : {size - 1});\n"
            f"    const int64_t above = at >= {size} ? -1 : find_above(s->marks{t}, words{t}, "
            f"{levels}, at > 0 ? at : 0);\n"
            f"    if (below < 0) return &s->rows{t}[above];\n"
            f"    if (above < 0) return &s->rows{t}[below];\n"
            "    const int64_t down = at - below, up = above - at;\n"
            f"    const int later = s->rows{t}[above].position > s->rows{t}[below].position;\n"
            f"    return &s->rows{t}[up < down || (up == down && later) ? above : below];\n"
        )

    @property
    def create(self) -> str:
        """Statements that allocate what exists from the beginning."""
        t = self.number
        if self.kind == "direct":
            created = f"    s->rows{t} = allocate(s, sizeof(Row{t}) * {self.size}u);\n"
            return created + (f"    s->bytes -= (int64_t){self.bytes};\n" if self.is_large else "")
        if self.kind == "nearest":
            return (
                f"    s->rows{t} = allocate(s, sizeof(Row{t}) * UINT64_C({self.size}));\n"
                + "".join(
                    f"    s->marks{t}[{n}] = allocate(s, sizeof(uint64_t) * UINT64_C({words}));\n"
                    for n, words in enumerate(self.levels)
                )
            )
        return ""

    @property
    def is_large(self) -> bool:
        return self.kind == "direct" and self.size > SMALL_ARRAY

    @property
    def bytes(self) -> str:
        """What the state counts for a large array."""
        return f"((sizeof(Row{self.number}) * {self.size}u + 63) & ~UINT64_C(63))"

    @property
    def release(self) -> str:
        t = self.number
        return f"    free(s->entries{t});\n" if self.kind == "hashed" else ""


def position_expression(divisor: int, modulus: int, power: int, offset: int) -> str:
    text = "position"
    if divisor > 1 or modulus:
        text = f"(int64_t)((uint64_t)position / {divisor}u" + (
            f" % {modulus}u)" if modulus else ")"
        )
    if offset:
        text = f"({text} - {offset})"
    return f"{text} * {text}" if power == 2 else text


def comment(text: str) -> str:
    """Text that neither ends a comment nor begins one."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def field_bits(field: str) -> int:
    return int("".join(character for character in field.partition(" ")[0] if character.isdigit()))


def track_type(tables: Iterable[Table]) -> str:
    """The row that every token has, if any table is by position."""
    fields = [f for table in tables if table.rows.by_position for f in table.fields]
    fields.sort(key=lambda field: -field_bits(field))
    body = "".join(f"    {field}\n" for field in fields or ["uint8_t unused;"])
    return f"typedef struct {{\n{body}}} Track;\n"
