"""Random C programs that print what they compute, and have one meaning only.

They are for compilers that wrap signed integers (-fwrapv). Otherwise: shifts are masked, divisors
and floats that become integers go through helpers, indices are taken modulo the length, every
variable begins with a value, a call is a statement of its own, and no NaN shows its sign. Loops
and calls take from one counter, so that programs end. `long`, whose size differs between
machines, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

Item = TypeVar("Item")

INTEGERS = {
    "int8_t": 8,
    "uint8_t": 8,
    "int16_t": 16,
    "uint16_t": 16,
    "int32_t": 32,
    "uint32_t": 32,
    "int64_t": 64,
    "uint64_t": 64,
}
WORDS = ("int32_t", "uint32_t", "int64_t", "uint64_t")
FLOATS = ("float", "double")
TYPES = (*INTEGERS, *INTEGERS, *FLOATS)
FUELS = (200, 500, 1500)
MOST_PRINTS = 24

PRELUDE = (Path(__file__).parent / "c_prelude.h").read_text()


@dataclass
class Function:
    """A signature; its first parameter, the depth, goes without saying."""

    name: str
    result: str
    parameters: tuple[str, ...]


@dataclass
class Scope:
    """What can be read and written in a place."""

    variables: dict[str, str] = field(default_factory=dict)
    """Names and types."""
    counters: list[str] = field(default_factory=list)
    """Only to be read: loops count with them."""


class CProgram:
    """Draws one program: `text` is its source."""

    def __init__(self, random: Random, functions: int = 6) -> None:
        self.random = random
        self.arrays: dict[str, tuple[str, int]] = {}
        self.globals: dict[str, str] = {}
        self.fields: dict[str, str] = {}
        self.tables: dict[str, list[Function]] = {}
        self.functions: list[Function] = []
        self.prints = 0
        self.names = 0
        self.scope = Scope()
        self.text = self._program(functions)

    def pick(self, options: Sequence[Item]) -> Item:
        return self.random.choice(options)

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # -- what stands outside of functions

    def _program(self, count: int) -> str:
        parts = [f"#define FUEL {self.pick(FUELS)}\n{PRELUDE}", self._struct()]
        for _ in range(4):
            type_, length = self.pick(TYPES), self.pick((1, 3, 7, 8, 16))
            name = self.name("array")
            self.arrays[name] = type_, length
            values = ", ".join(self.constant(type_) for _ in range(length))
            parts.append(f"static {type_} {name}[{length}] = {{{values}}};")
        for _ in range(5):
            type_, name = self.pick(TYPES), self.name("global")
            self.globals[name] = type_
            parts.append(f"static {type_} {name} = {self.constant(type_)};")
        signatures = [
            (self.pick(TYPES), tuple(self.pick(TYPES) for _ in range(self.random.randrange(5))))
            for _ in range(3)
        ]
        for number in range(count):
            result, parameters = signatures[number % len(signatures)]
            function = Function(self.name("function"), result, parameters)
            self.functions.append(function)
            parts.append(f"{head(function)};")
        parts += [self._table(functions) for functions in self._by_signature()]
        parts += [self._body(function) for function in self.functions]
        return "\n".join([*parts, self._main()]) + "\n"

    def _struct(self) -> str:
        members = []
        for _ in range(3 + self.random.randrange(5)):
            name, type_ = self.name("field"), self.pick((*TYPES, "bits"))
            if type_ == "bits":
                width, base = 1 + self.random.randrange(31), self.pick(("int32_t", "uint32_t"))
                if width == 1:
                    base = "uint32_t"
                members.append(f"{base} {name} : {width};")
                self.fields[name] = base
            else:
                members.append(f"{type_} {name};")
                self.fields[name] = type_
        changes = " ".join(
            f"one.{name} = one.{name} {self.pick('+-*')} by;" for name in self.integer_fields()
        )
        return (
            f"struct record {{ {' '.join(members)} }};\n"
            "static struct record record, records[3];\n"
            "static struct record changed(struct record one, int32_t by) {\n"
            f"    {changes}\n    return one;\n}}"
        )

    def integer_fields(self) -> list[str]:
        return [name for name, type_ in self.fields.items() if type_ in INTEGERS]

    def _by_signature(self) -> list[list[Function]]:
        kinds: dict[tuple[str, tuple[str, ...]], list[Function]] = {}
        for function in self.functions:
            kinds.setdefault((function.result, function.parameters), []).append(function)
        return list(kinds.values())

    def _table(self, functions: list[Function]) -> str:
        name = self.name("table")
        self.tables[name] = functions
        types = ", ".join(("int", *functions[0].parameters))
        names = ", ".join(function.name for function in functions)
        return f"static {functions[0].result} (*{name}[])({types}) = {{{names}}};"

    def _body(self, function: Function) -> str:
        self.scope = Scope(
            {f"p{place}": type_ for place, type_ in enumerate(function.parameters)}, ["depth"]
        )
        lines = [f"{head(function)} {{"]
        lines.append(f"    if (depth <= 0 || --fuel < 0) return {self.constant(function.result)};")
        for _ in range(3):
            type_, name = self.pick(TYPES), self.name("v")
            lines.append(f"    {type_} {name} = {self.expression(type_, 2)};")
            self.scope.variables[name] = type_
        lines += self.statements(4 + self.random.randrange(5), 1)
        return "\n".join([*lines, f"    return {self.expression(function.result, 3)};", "}"])

    def _main(self) -> str:
        self.scope = Scope()
        lines = ["int main(void) {"]
        for function in self.functions * 2:
            given = ", ".join(("3", *(self.expression(one, 1) for one in function.parameters)))
            lines.append("    " + self.show(f"{function.name}({given})", function.result))
        for name, (type_, length) in self.arrays.items():
            lines.append(f"    for (int i = 0; i < {length}; i++) {mixing(f'{name}[i]', type_)}")
        for name, type_ in self.globals.items():
            lines.append("    " + self.show(name, type_))
        for name, type_ in self.fields.items():
            lines.append("    " + self.show(f"record.{name}", type_))
            lines.append(f"    {mixing(f'records[1].{name}', type_)}")
        lines.append('    printf("%016" PRIx64 " %d\\n", sum, fuel);')
        return "\n".join([*lines, "    return (int)(sum % 126);", "}"])

    # -- statements

    def statements(self, count: int, depth: int) -> list[str]:
        return [line for _ in range(count) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        pad = "    " * depth
        kinds = [self.assign] * 6 + [self.call] * 2 + [self.library, self.record, self.printing]
        if depth < 4:
            kinds += [self.condition, self.condition, self.loop, self.loop, self.switch]
        return [line if line.startswith(" ") else pad + line for line in self.pick(kinds)(depth)]

    def block(self, depth: int) -> list[str]:
        """Statements of the next level."""
        inner = Scope(dict(self.scope.variables), list(self.scope.counters))
        outer, self.scope = self.scope, inner
        lines = self.statements(1 + self.random.randrange(3), depth + 1)
        self.scope = outer
        return lines

    def assign(self, depth: int) -> list[str]:
        place, type_ = self.place()
        operators = ("=", "=", "+=", "-=", "*=")
        if type_ in INTEGERS:
            operators += ("&=", "|=", "^=", "++", ">>=")
        operator = self.pick(operators)
        if operator == "++":
            return [f"{self.pick(('++', '--'))}{place};"]
        if operator == ">>=":
            return [f"{place} >>= {self.random.randrange(min(INTEGERS[type_], 31))};"]
        if type_ in INTEGERS and operator != "=":
            return [f"{place} {operator} {self.integer(3)};"]
        return [f"{place} {operator} {self.expression(type_, 3)};"]

    def call(self, depth: int) -> list[str]:
        table = self.pick(list(self.tables))
        function = self.pick(self.tables[table])
        name = function.name
        if self.random.random() < 0.5:
            index = self.expression("uint32_t", 1)
            name = f"{table}[(uint32_t)({index}) % {len(self.tables[table])}]"
        given = ", ".join(("depth - 1", *(self.expression(one, 2) for one in function.parameters)))
        variable = self.name("v")
        lines = [f"{function.result} {variable} = {name}({given});"]
        self.scope.variables[variable] = function.result
        return lines

    def library(self, depth: int) -> list[str]:
        match self.random.randrange(5):
            case 0:
                words = self.name("words")
                length = 2 + self.random.randrange(9)
                values = ", ".join(self.expression("int64_t", 1) for _ in range(length))
                return [
                    f"int64_t {words}[{length}] = {{{values}}};",
                    f"sort_words({words}, {length});",
                    f"mix((uint64_t){words}[{self.random.randrange(length)}]);",
                ]
            case 1:
                kinds = ("int32_t", "int64_t", "double")
                count = self.random.randrange(7)
                given = [
                    f"({kinds[n % 3]})({self.expression(kinds[n % 3], 1)})" for n in range(count)
                ]
                return [f"mix((uint64_t)total({', '.join([str(count), *given])}));"]
            case 2:
                name = self.pick(list(self.arrays))
                index = self.random.randrange(self.arrays[name][1])
                byte = self.random.choice((0, 1, 63))
                return [f"memset({name} + {index}, {byte}, sizeof {name}[0]);"]
            case 3:
                x = self.floating(2)
                return [
                    mixing(f"{self.pick(('sqrt', 'floor', 'ceil', 'fabs', 'rint'))}({x})", "double")
                ]
            case _:
                value = self.expression("uint64_t", 2)
                counted = self.pick(("clzll", "ctzll", "popcountll"))
                return [f"mix((uint64_t)__builtin_{counted}((uint64_t)({value}) | 1u << 9));"]

    def record(self, depth: int) -> list[str]:
        index = f"records[(uint32_t)({self.expression('uint32_t', 1)}) % 3]"
        one, other = self.pick((("record", index), (index, "record"), ("record", "records[2]")))
        by = self.expression("int32_t", 1)
        return [f"{one} = changed({other}, (int32_t)({by}));"]

    def printing(self, depth: int) -> list[str]:
        if self.prints >= MOST_PRINTS:
            return self.assign(depth)
        self.prints += 1
        type_ = self.pick(TYPES)
        shown = self.show(self.expression(type_, 2), type_)
        return [f"if (fuel % {self.pick((1, 3, 8))} == 0) {{ {shown} }}"]

    def condition(self, depth: int) -> list[str]:
        pad = "    " * depth
        lines = [f"if ({self.truth(2)}) {{", *self.block(depth)]
        if self.random.random() < 0.5:
            lines += [f"{pad}}} else {{", *self.block(depth)]
        return [*lines, f"{pad}}}"]

    def loop(self, depth: int) -> list[str]:
        pad, counter = "    " * depth, self.name("i")
        end = self.pick((2, 3, 5, 9))
        type_ = self.pick(("int", "uint8_t", "int64_t", "uint16_t"))
        kind = self.random.randrange(3)
        outer = list(self.scope.counters)
        self.scope.counters.append(counter)
        inside = self.block(depth)
        if self.random.random() < 0.4:
            word = self.pick(("break", "continue"))
            inside += [f"{pad}    if ({self.truth(2)}) {word};", *self.block(depth)]
        self.scope.counters = outer
        if kind == 0:
            return [
                f"for ({type_} {counter} = 0; {counter} < {end} && --fuel > 0; {counter}++) {{",
                *inside,
                f"{pad}}}",
            ]
        if kind == 1:
            step = self.pick((1, 2, 3))
            return [
                f"for (int {counter} = {end}; {counter} > 0 && --fuel > 0; {counter} -= {step}) {{",
                *inside,
                f"{pad}}}",
            ]
        return [
            "{",
            f"{pad}int {counter} = 0;",
            f"{pad}do {{",
            *inside,
            f"{pad}}} while (++{counter} < {end} && --fuel > 0);",
            f"{pad}}}",
        ]

    def switch(self, depth: int) -> list[str]:
        pad = "    " * depth
        spread = self.pick((1, 1, 1, 1000))
        labels = self.random.sample(range(-4, 12), 2 + self.random.randrange(6))
        lines = [f"switch (({self.integer(2)}) % {self.pick((5, 9, 16))} * {spread}) {{"]
        for label in labels:
            lines += [f"{pad}case {label * spread}: {{", *self.block(depth), f"{pad}}}"]
            if self.random.random() < 0.7:
                lines.append(f"{pad}break;")
        if self.random.random() < 0.5:
            lines += [f"{pad}default: {{", *self.block(depth), f"{pad}}}"]
        return [*lines, f"{pad}}}"]

    def place(self) -> tuple[str, str]:
        """Something to assign to, and its type."""
        kinds = [self.local_place, self.array_place, self.global_place, self.field_place]
        return self.pick(kinds if self.scope.variables else kinds[1:])()

    def local_place(self) -> tuple[str, str]:
        return self.pick(list(self.scope.variables.items()))

    def global_place(self) -> tuple[str, str]:
        return self.pick(list(self.globals.items()))

    def array_place(self) -> tuple[str, str]:
        name = self.pick(list(self.arrays))
        type_, length = self.arrays[name]
        index = self.expression("uint32_t", 1) if self.random.random() < 0.7 else "3"
        return f"{name}[(uint32_t)({index}) % {length}]", type_

    def field_place(self) -> tuple[str, str]:
        name, type_ = self.pick(list(self.fields.items()))
        index = self.random.randrange(3)
        return f"{self.pick(('record', f'records[{index}]'))}.{name}", type_

    # -- expressions: pure, and of no more operators than two to the depth

    def expression(self, type_: str, depth: int) -> str:
        """Something that becomes this type by itself."""
        return self.floating(depth) if type_ in FLOATS else self.integer(depth)

    def truth(self, depth: int) -> str:
        if self.random.random() < 0.3:
            return f"{self.floating(depth)} {self.pick(('<', '>', '<=', '!='))} {self.floating(1)}"
        return self.integer(depth)

    def integer(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.1:
            return self.integer_leaf()
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        type_ = self.pick(WORDS)
        short, bits = f"{type_[0]}{INTEGERS[type_]}", INTEGERS[type_]
        match self.random.randrange(12):
            case 0 | 1 | 2:
                return f"({a} {self.pick('+-*')} {b})"
            case 3 | 4:
                return f"({a} {self.pick('&|^')} {b})"
            case 5:
                return f"({a} {self.pick(('<', '>', '<=', '>=', '==', '!=', '&&', '||'))} {b})"
            case 6:
                return f"((u{type_.lstrip('u')})({a}) << (({b}) & {bits - 1}))"
            case 7:
                return f"(({type_})({a}) >> (({b}) & {bits - 1}))"
            case 8:
                return f"{short}_{self.pick(('quotient', 'rest'))}({a}, {b})"
            case 9:
                return f"({self.pick('-~!')}{a})"
            case 10:
                return f"({self.pick(list(INTEGERS))})({a})"
            case _:
                if self.random.random() < 0.5:
                    return f"({self.truth(1)} ? {a} : {b})"
                return f"{self.pick(('whole', 'natural'))}({self.floating(depth - 1)})"

    def integer_leaf(self) -> str:
        if self.scope.counters and self.random.random() < 0.2:
            return self.pick(self.scope.counters)
        readable = self.readable(tuple(INTEGERS))
        if readable and self.random.random() < 0.65:
            return self.pick(readable)
        type_ = self.pick(list(INTEGERS))
        return f"({type_}){self.constant(type_)}"

    def readable(self, types: Sequence[str]) -> list[str]:
        everything = [
            *self.scope.variables.items(),
            *self.globals.items(),
            *((f"records[2].{name}", type_) for name, type_ in self.fields.items()),
            *((f"record.{name}", type_) for name, type_ in self.fields.items()),
            *((f"{name}[{size - 1}]", type_) for name, (type_, size) in self.arrays.items()),
        ]
        return [name for name, type_ in everything if type_ in types]

    def floating(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.15:
            readable = self.readable(FLOATS)
            if readable and self.random.random() < 0.6:
                return self.pick(readable)
            return self.constant(self.pick(FLOATS))
        match self.random.randrange(7):
            case 0 | 1 | 2:
                a, b = self.floating(depth - 1), self.floating(depth - 1)
                return f"({a} {self.pick('+-*/')} {b})"
            case 3:
                return f"({self.pick(FLOATS)})({self.integer(depth - 1)})"
            case 4:
                return f"(float)({self.floating(depth - 1)})"
            case 5:
                function = self.pick(("sqrt", "floor", "ceil", "trunc", "fabs", "-"))
                return f"{function}({self.floating(depth - 1)})"
            case _:
                a, b = self.floating(depth - 1), self.floating(depth - 1)
                return f"({self.truth(1)} ? {a} : {b})"

    def constant(self, type_: str) -> str:
        if type_ in FLOATS:
            suffix = "f" if type_ == "float" else ""
            some = ("0.0", "1.0", "-0.0", "0.1", "-2.5", "1e10", "3e-7", "16777217.0", "1e-40")
            return self.pick(some) + suffix
        bits = INTEGERS[type_]
        value = self.random.getrandbits(1 + self.random.randrange(bits))
        if type_[0] == "u":
            return f"{value}u" if value < 1 << 32 else f"{value}ull"
        value -= value >> bits - 1 << bits
        if value == -(1 << bits - 1):
            value += 1
        return str(value) if -(2**31) < value < 2**31 else f"{value}ll"

    # -- output

    def show(self, text: str, type_: str) -> str:
        """A statement that prints a value, in one of many forms."""
        if type_ in FLOATS:
            letter = self.pick("aefgg")
            precision = "" if letter == "a" else self.pick(("", ".0", ".3", ".9", ".17"))
            flags = self.pick(("", "", "+", "12", "-24", "024", "#"))
            return f'printf("%{flags}{precision}{letter}\\n", plain({text}));'
        bits, letters = INTEGERS[type_], "di" if type_[0] == "i" else "uxXo"
        flags = self.pick(("", "", "12", "-9", "025", ".7"))
        letter = self.pick(letters)
        return f'printf("%{flags}" PRI{letter}{bits} "|\\n", ({type_})({text}));'


def head(function: Function) -> str:
    parameters = [f"{type_} p{place}" for place, type_ in enumerate(function.parameters)]
    return f"static {function.result} {function.name}({', '.join(('int depth', *parameters))})"


def mixing(text: str, type_: str) -> str:
    """A statement that adds a value to the checksum."""
    if type_ in FLOATS:
        return f"mix_double({text});"
    return f"mix((uint64_t)({text}));"
