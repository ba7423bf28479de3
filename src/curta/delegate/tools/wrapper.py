"""Between JSON and C: a function that takes bytes apart, calls one of the user's, and writes bytes.

The host puts the arguments where a program's arguments are; a number is itself, behind a pointer is
how many bytes of room there are and how many of them are given, and these. The wrapper writes its
results to the standard error, and returns how many bytes that were: they are the last ones,
whatever the function itself wrote before. So a call has two lists of the same parts, in the same
order, one in C and one here.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from curta.delegate.tools.schemas import wrong
from curta.delegate.tools.signature import ROOM, Function, Parameter, pointed
from curta.errors import ToolError

NO_ROOM = -1
RETURNED = "result"
"""The name of what a function returns, among several results."""
MISSING = 0xFFFFFFFF
"""The length of a text that is a null pointer."""
PRELUDE = """
#define _native(name) __attribute__((import_module("curta"), import_name(name)))
typedef unsigned int _word;
_native("argument") _word _argument(_word at);
_native("write") void _write(_word file, _word byte);
static _word _at, _written, _lacking;

static void _take(void *into, _word bytes) {
    for (_word n = 0; n < bytes; n++) ((char *)into)[n] = _argument(_at++);
}

static void _put(const void *from, _word bytes) {
    for (_word n = 0; n < bytes; n++) _write(2, ((const unsigned char *)from)[n]);
    _written += bytes;
}

static void _put_text(const char *text, _word most) {
    _word length = text ? 0 : 0xffffffff;
    if (text) while (length < most && text[length]) length++;
    _put(&length, sizeof length);
    if (text) _put(text, length);
}

/* Memory is taken where it ends: what was never there is zero, and C's own allocator, if the
 * program has one, finds that somebody else did so. */
static void *_room(void) {
    _word sizes[2];
    _take(sizes, sizeof sizes);
    _word before = __builtin_wasm_memory_grow(0, (sizes[0] + 65535) / 65536);
    if (before == 0xffffffff) _lacking = 1;
    else _take((char *)(before * 65536), sizes[1]);
    return (char *)(before * 65536);
}
"""
"""Functions whose names begin with _ are not offered, so that these have names of their own."""


def wrapped(function: Function) -> str:
    """One function's declaration, and the function that calls it."""
    types = [c_type(p) for p in function.parameters]
    names = [f"_p{n}" for n in range(len(types))]
    pairs = list(zip(types, names, function.parameters, strict=True))
    takes = [
        f"    {type_} {name} = _room();"
        if "*" in type_
        else f"    {type_} {name}; _take(&{name}, sizeof {name});"
        for type_, name, _ in pairs
    ]
    call = f"{function.name}({', '.join(names)});"
    result = plain(function.result)
    returned = "" if result == "void" else f"{result} _result = "
    puts = [] if result == "void" else ["    _put(&_result, sizeof _result);"]
    if pointed(function.result)[0]:
        puts = ["    _put_text(_result, 0x7fffffff);"]
    for _, name, parameter in pairs:
        if parameter.result and parameter.role == "text":
            puts.append(f"    _put_text({name}, _p{parameter.length});")
        elif parameter.result:
            count = parameter.size if parameter.length < 0 else f"_p{parameter.length}"
            if function.own_room(parameter):  # as many as it says, if it can be
                count = f"(_result < 0 || _result > {count} ? 0 : _result)"
            puts.append(f"    _put({name}, {1 if count is None else count} * sizeof *{name});")
    return "\n".join(
        [
            f"{result} {function.name}({', '.join(types) or 'void'});",
            f'__attribute__((export_name("{entry(function)}"))) int _call_{function.name}(void) {{',
            *takes,
            f"    if (_lacking) return {NO_ROOM};",
            f"    {returned}{call}",
            *puts,
            "    return _written;\n}",
        ]
    )


def entry(function: Function) -> str:
    return f"call {function.name}"


def plain(type_: str) -> str:
    """A type as it is without the names of a file."""
    return "int" if type_.startswith("enum ") else type_


def c_type(parameter: Parameter) -> str:
    if parameter.role in ("value", "length"):
        return plain(parameter.type)
    const = "const " * (not parameter.result)
    return f"{const}{plain(parameter.type)} *"


def written(function: Function, arguments: Mapping[str, Any]) -> bytes:
    """Arguments as the wrapper takes them; or a `ToolError`."""
    lengths = lengths_of(function, arguments)
    return b"".join(
        part(each, arguments.get(each.name, lengths.get(at)), lengths)
        for at, each in enumerate(function.parameters)
    )


def lengths_of(function: Function, arguments: Mapping[str, Any]) -> dict[int, int]:
    """Every length, by the number of its parameter; all arrays that have one agree on it."""
    lengths: dict[int, int] = {}
    for parameter in function.parameters:
        if parameter.length >= 0 and parameter.given:
            found = len(arguments[parameter.name])
            if lengths.setdefault(parameter.length, found) != found:
                words = f"{parameter.name}: expected a list of {lengths[parameter.length]}"
                raise ToolError(f"{words}, as the other one, got {found}", words)
    return {p.length: ROOM for p in function.parameters if p.length >= 0} | lengths


def part(parameter: Parameter, given: Any, lengths: Mapping[int, int]) -> bytes:
    """A number; or what is behind a pointer: bytes of room, bytes that are given, and these."""
    if parameter.role in ("value", "length"):
        return packed(parameter, [given])
    content: bytes
    if parameter.role == "text" and parameter.given:
        if "\0" in given:  # there it would end
            raise wrong(parameter.name, "a text without zero characters", given)
        content = given.encode() + b"\0"
    else:
        several = given if parameter.role == "array" else [given]
        content = packed(parameter, several) if parameter.given else b""
    count = lengths.get(parameter.length, parameter.size or 1)
    size = max(len(content), count * struct.calcsize(f"<{parameter.letter}"), 1)
    return struct.pack("<II", size, len(content)) + content


def packed(parameter: Parameter, numbers: list[Any]) -> bytes:
    try:
        return struct.pack(f"<{len(numbers)}{parameter.letter}", *numbers)
    except (struct.error, OverflowError):
        words = f"{parameter.name}: too large"
        raise ToolError(f"{words} for a {parameter.type}: {numbers!r:.60}", words) from None


def damaged(function: Function) -> ToolError:
    """A function can write over what the wrapper keeps: its memory is the same."""
    return ToolError(f"{function.name} overwrote its own results", "used memory that is not its")


def read(function: Function, content: bytes, arguments: Mapping[str, Any]) -> Any:
    """What the wrapper wrote: a value, or several by their names."""
    try:
        return results(function, content, arguments)
    except struct.error:
        raise damaged(function) from None


def results(function: Function, content: bytes, arguments: Mapping[str, Any]) -> Any:
    said, found = BytesIO(content), dict[str, Any]()
    lengths, names = lengths_of(function, arguments), result_names(function)
    returned: Any = None
    if pointed(function.result)[0]:
        returned = text(said)
    elif function.result != "void":
        (returned,) = numbers(said, Parameter("", function.result).letter, 1)
    if function.result != "void" and not function.returns_length:
        found[RETURNED] = returned
    for parameter in (each for each in function.parameters if each.result):
        name = names[parameter.name]
        if parameter.role == "text":
            found[name] = text(said)
            continue
        count = lengths.get(parameter.length, parameter.size or 1)
        if function.own_room(parameter):
            count = checked_length(function, returned)
        several = numbers(said, parameter.letter, count)
        found[name] = several if parameter.role == "array" else several[0]
    return next(iter(found.values())) if len(found) == 1 else found or None


def checked_length(function: Function, length: int) -> int:
    """How many elements a function says that it wrote."""
    if not 0 <= length <= ROOM:
        what = f"{function.name} returned {length} as the length of its results"
        brief = "no result" if length < 0 else "too many results"
        raise ToolError(f"{what}; there is room for {ROOM:,}", brief)
    return length


def result_names(function: Function) -> dict[str, str]:
    """What results are called, by their parameters: without `out`, if that leaves them apart."""
    names = [each.name for each in function.parameters if each.result]
    short = [name.removeprefix("out").strip("_") or name for name in names]
    is_clear = len({RETURNED, *short}) > len(short)
    return dict(zip(names, short if is_clear else names, strict=True))


def numbers(said: BytesIO, letter: str, count: int) -> list[Any]:
    """So many, behind what was read."""
    layout = f"<{count}{letter}"
    return list(struct.unpack(layout, said.read(struct.calcsize(layout))))


def text(said: BytesIO) -> str | None:
    """The same of a text; None is a null pointer."""
    (length,) = numbers(said, "I", 1)
    if length == MISSING:
        return None
    try:
        return said.read(length).decode()
    except UnicodeDecodeError:
        raise ToolError("the result is a text that is not UTF-8", "text is not UTF-8") from None
