"""C for the tables that stand in for attention heads.

A head that retrieves the latest value under an exact key is a table: the key is an index, and a
later value overwrites an earlier one. Which table depends on what is proved about the key:

    by position   keys are positions, shifted by a constant: one array for all such tables, the
                  track. It has a row for every token and grows with the sequence; if all look
                  back by fixed distances, it is a ring of as many rows
    direct        few keys: an array of rows, each with a flag that says that it was filed
    paged         many keys: pages of rows, allocated when first written
    hashed        more keys than pages could be listed: open addressing
    nearest       a miss has a meaning: direct, with a tree of bitmaps that finds the neighbours

Values are stored in the narrowest integers that hold their proved range. Tables that file under
the same key share their rows, and a value that several of them file is filed once: what one
instruction or one token consists of lies in one place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from curta.compiler.numbers import Number, power_of_two
from curta.engine.native.symbolic import (
    CONSTANT,
    PositionValue,
    Program,
    Stored,
    Sum,
    Table,
)

DIRECT_LIMIT = 1 << 16
PAGED_LIMIT = 1 << 36
PAGE_BITS = 12
LONGEST_REACH = 1 << 12
"""How far back tables by position may look for their rows to go round."""
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


def storage_type(stored: Stored) -> str:
    unit = Fraction(power_of_two(stored.step))
    return integer_type(stored.low / unit, stored.high / unit)


@dataclass(frozen=True, slots=True)
class TableCode:
    """The C of one table: its part of the state, its functions, how it is grown and freed."""

    number: int
    table: Table
    kind: str
    members: tuple[tuple[str, Stored], ...]
    """The values that somebody reads, and their names in the row."""

    @property
    def rows(self) -> str:
        """The state's fields."""
        t, name = self.number, comment(self.table.name)
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
        return -(-self.table.size // (1 << PAGE_BITS))

    @property
    def levels(self) -> list[int]:
        """Words of each level of the tree of bitmaps, finest first."""
        words = self.table.size
        levels: list[int] = []
        while not levels or words > 1:
            words = -(-words // 64)
            levels.append(words)
        return levels

    @property
    def fields(self) -> list[str]:
        """The values that somebody reads, as members of a struct."""
        return [
            f"{storage_type(stored)} {name}; /* {comment(stored.name)} */"
            for name, stored in self.members
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
        head = f"static inline Row{t} *store{t}(State *s, uint64_t key) {{\n"
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
        """A function that returns the row of a query, or a null pointer if there is none."""
        t, size = self.number, self.table.size
        if self.kind == "by position":
            return ""
        head = f"static inline const Row{t} *fetch{t}(State *s, uint64_t query) {{\n"
        match self.kind:
            case "direct":
                body = (
                    f"    if (query >= {size}u) return 0;\n"
                    f"    const Row{t} *row = &s->rows{t}[query];\n"
                    "    return row->filed ? row : 0;\n"
                )
            case "nearest":
                body = self._nearest()
            case "hashed":
                body = (
                    f"    if (!s->room{t}) return 0;\n"
                    f"    const Row{t} *row = &probe{t}(s->entries{t}, s->room{t}, query)->row;\n"
                    "    return row->filed ? row : 0;\n"
                )
            case _:
                body = (
                    f"    if (query >= UINT64_C({size})) return 0;\n"
                    f"    const Row{t} *page = s->pages{t}[query >> {PAGE_BITS}];\n"
                    f"    if (!page || !page[query & {(1 << PAGE_BITS) - 1}].filed) return 0;\n"
                    f"    return page + (query & {(1 << PAGE_BITS) - 1});\n"
                )
        return head + body + "}\n"

    def _nearest(self) -> str:
        t, levels, size = self.number, len(self.levels), self.table.size
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
            return f"    s->rows{t} = allocate(s, sizeof(Row{t}) * {self.table.size}u);\n"
        if self.kind == "nearest":
            return (
                f"    s->rows{t} = allocate(s, sizeof(Row{t}) * UINT64_C({self.table.size}));\n"
                + "".join(
                    f"    s->marks{t}[{n}] = allocate(s, sizeof(uint64_t) * UINT64_C({words}));\n"
                    for n, words in enumerate(self.levels)
                )
            )
        return ""

    @property
    def release(self) -> str:
        t = self.number
        return f"    free(s->entries{t});\n" if self.kind == "hashed" else ""


@dataclass(frozen=True, slots=True)
class Tables:
    """Where the tables of a program keep what is read of them."""

    codes: dict[int, TableCode]
    """By the number of the table; tables that share their rows have one between them."""
    names: dict[tuple[int, int], str]
    """The member of the row that holds a table's value."""
    ring: int = 0
    """Rows of the track, a power of two, if it goes round; 0 if it grows, or if there is none."""

    @property
    def different(self) -> list[TableCode]:
        return [code for number, code in self.codes.items() if number == code.number]


def lay_out(program: Program, live: dict[int, frozenset[int]]) -> Tables:
    """Rows for the tables that are read, and for those of their values that are."""
    owners: dict[tuple[str, Sum, int], int] = {}
    members: dict[int, dict[tuple[Sum, int, Number, Number], tuple[str, Stored]]] = {}
    owner_of: dict[int, int] = {}
    names: dict[tuple[int, int], str] = {}
    for number in sorted(live):
        table = program.tables[number]
        kind = kind_of(program, table)
        at_token = kind == "by position"
        shared = (kind, Sum(), 0) if at_token else (kind, table.key, table.size)
        owner = owner_of[number] = owners.setdefault(shared, number)
        row = members.setdefault(owner, {})
        for place in sorted(live[number]):
            stored = table.stored[place]
            name = f"value{number}_{place}" if at_token or owner != number else f"value{place}"
            content = (stored.total, stored.step, stored.low, stored.high)
            names[number, place] = row.setdefault(content, (name, stored))[0]
    codes = {
        owner: TableCode(
            owner,
            program.tables[owner],
            kind_of(program, program.tables[owner]),
            tuple(members[owner].values()),
        )
        for owner in members
    }
    ring = ring_rows(program, owner_of)
    return Tables({number: codes[owner] for number, owner in owner_of.items()}, names, ring)


def ring_rows(program: Program, numbers: Iterable[int]) -> int:
    """Rows enough for the tables that look back by fixed distances, if there are no others."""
    reach = -1
    for number in numbers:
        table = program.tables[number]
        filed, asked = (position_shift(program, total) for total in (table.key, table.query))
        if filed is None:
            continue
        if asked is None or filed - asked > LONGEST_REACH:
            return 0
        reach = max(reach, filed - asked, 0)
    return 1 << reach.bit_length() if reach >= 0 else 0


def kind_of(program: Program, table: Table) -> str:
    if position_shift(program, table.key) is not None:
        return "by position"
    if table.nearest:
        return "nearest"
    if table.size <= DIRECT_LIMIT:
        return "direct"
    return "paged" if table.size <= PAGED_LIMIT else "hashed"


def position_shift(program: Program, key: Sum) -> int | None:
    """c, if the key is the position plus c."""
    terms = [(v, c) for v, c in key.terms if v != CONSTANT]
    if len(terms) != 1 or terms[0][1] != 1:
        return None
    if program.values[terms[0][0]].definition != PositionValue(1, 0, 1, 0):
        return None
    return int(dict(key.terms).get(CONSTANT, 0))


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


def track_type(codes: list[TableCode]) -> str:
    """The row that every token has, if any table is by position."""
    fields = [f for code in codes if code.kind == "by position" for f in code.fields]
    fields.sort(key=lambda field: -field_bits(field))
    body = "".join(f"    {field}\n" for field in fields or ["uint8_t unused;"])
    return f"typedef struct {{\n{body}}} Track;\n"


TRACK_FUNCTIONS = """\
static inline const Track *at_position(const State *s, int64_t query) {
    return (uint64_t)query <= (uint64_t)s->position ? &s->track[ROW(query)] : 0;
}

static inline const Track *near_position(const State *s, int64_t query) {
    const int64_t near = query < 0 ? 0 : query > s->position ? s->position : query;
    return &s->track[ROW(near)];
}
"""

BITMAP_FUNCTIONS = """\
/* A tree of bitmaps: bit k of level 0 says that key k was filed, bit k of level n + 1 that word k
   of level n is not zero. Neighbours are found by going up until there is one, and down again. */
static inline void mark(uint64_t *const *levels, int count, uint64_t key) {
    for (int n = 0; n < count; n++, key >>= 6) levels[n][key >> 6] |= UINT64_C(1) << (key & 63);
}

static inline int64_t find_below(uint64_t *const *levels, int count, int64_t key) {
    int64_t place = key; /* inclusive */
    for (int n = 0; n < count && place >= 0; n++) {
        const uint64_t word = levels[n][place >> 6] & (~UINT64_C(0) >> (63 - (place & 63)));
        if (word) {
            int64_t found = (place & ~INT64_C(63)) + 63 - __builtin_clzll(word);
            while (n-- > 0) found = (found << 6) + 63 - __builtin_clzll(levels[n][found]);
            return found;
        }
        place = (place >> 6) - 1;
    }
    return -1;
}

static inline int64_t find_above(
    uint64_t *const *levels, const int64_t *words, int count, int64_t key) {
    int64_t place = key; /* inclusive */
    for (int n = 0; n < count; n++) {
        if ((place >> 6) >= words[n]) return -1;
        const uint64_t word = levels[n][place >> 6] & (~UINT64_C(0) << (place & 63));
        if (word) {
            int64_t found = (place & ~INT64_C(63)) + __builtin_ctzll(word);
            while (n-- > 0) found = (found << 6) + __builtin_ctzll(levels[n][found]);
            return found;
        }
        place = (place >> 6) + 1;
    }
    return -1;
}
"""
