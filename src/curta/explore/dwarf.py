"""What a C compiler says of a module besides: lines of sources, variables and where they are.

The module is compiled with `-g` at the same optimisation as ever. Its debug information is DWARF in
custom sections, which pyelftools reads: it knows nothing of WebAssembly, so the sections are handed
to it here. Addresses are offsets in the code section. Only what the user wrote is of interest: the
files that were compiled, and those that they include and that are not the compiler's own.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from curta.errors import UserError
from curta.machine.toolchain import Compilation, SourcePath, zig
from curta.machine.wasm.reader import Reader

FLAGS = ("-g", "-gdwarf-4")
WASM_LOCATION = 0xED
"""DW_OP_WASM_location: a kind (0 is a local), and an index."""
FRAME_OFFSET, ADDRESS, STACK_VALUE, PIECE = 0x91, 0x03, 0x9F, 0x93
NAMED = {"info", "aranges", "abbrev", "str", "loc", "ranges", "line", "pubtypes", "pubnames"}
MOST_MEMBERS = 64


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file."""

    file: int
    line: int


@dataclass(frozen=True, slots=True)
class Variable:
    """Something that has a name in C, and where it is: `kind` is "memory" (an address), "local"
    (one of WebAssembly's) or "frame" (memory, an offset from the local `base`). In code from
    `first` up to `end`.
    """

    name: str
    type: dict[str, Any]
    kind: str
    at: int
    base: int = -1
    first: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """Code in which variables can be named: a function, or one that is in line."""

    name: str
    ranges: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    """All variables, those too that are nowhere."""
    variables: tuple[Variable, ...]
    called_at: tuple[str, int] | None = None
    """The file and line of the call whose place it has taken, if it is in line."""


@dataclass(frozen=True, slots=True)
class DebugInfo:
    """What is known of a module; nothing, if it is not C."""

    files: tuple[str, ...] = ()
    lines: tuple[tuple[int, int, Place], ...] = ()
    """Code from an offset up to another one, in order."""
    globals: tuple[Variable, ...] = ()
    scopes: tuple[Scope, ...] = field(default=())


def compiled_for_debugging(
    sources: Sequence[SourcePath], flags: Sequence[str], *, library: bool
) -> bytes:
    """The module with its debug information, where the sources are C or C++."""
    if find_spec("elftools") is None:
        raise UserError("lines of C are read by pyelftools: pip install 'curta[explore]'")
    paths = [Path(source) for source in sources]
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        output = Path(folder) / "program.wasm"
        names = tuple(os.path.abspath(path) for path in paths)
        Compilation(names, (*flags, *FLAGS), library).linked(output)
        return output.read_bytes()


def sections(module: bytes) -> dict[str, bytes]:
    """Custom sections by their names."""
    reader, found = Reader(module, 8, len(module)), {}
    while reader.at < reader.end:
        number = reader.byte()
        part = reader.part(reader.unsigned())
        if number == 0:
            name = part.name()
            found[name] = module[part.at : part.end]
    return found


def code_start(module: bytes) -> int:
    """Where the content of the code section begins in the file."""
    reader = Reader(module, 8, len(module))
    while reader.at < reader.end:
        number = reader.byte()
        part = reader.part(reader.unsigned())
        if number == 10:
            return part.at
    return 0


def read_debug_info(module: bytes) -> DebugInfo:
    """Lines and variables of what the user wrote."""
    there = sections(module)
    if ".debug_info" not in there:
        return DebugInfo()
    info = _dwarf(there)
    own = str(zig().folder)
    files: dict[str, int] = {}
    lines: list[tuple[int, int, Place]] = []
    variables: list[Variable] = []
    scopes: list[Scope] = []
    for unit in info.iter_CUs():
        top = unit.get_top_DIE()
        folder = _text(top, "DW_AT_comp_dir")
        name = os.path.join(folder, _text(top, "DW_AT_name"))
        if name.startswith(own) or not os.path.isfile(name):
            continue
        lines += _lines(info, unit, folder, own, files)
        reader = UnitReader(info, unit)
        variables += reader.globals(top)
        scopes += reader.scopes(top)
    lines.sort(key=lambda each: each[:2])
    return DebugInfo(tuple(files), tuple(lines), tuple(variables), tuple(scopes))


def _dwarf(there: dict[str, bytes]) -> Any:
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    def section(name: str) -> Any:
        content = there.get(name)
        if content is None:
            return None
        return DebugSectionDescriptor(io.BytesIO(content), name, 0, len(content), 0)

    names = (*NAMED, *("addr", "str_offsets", "line_str", "loclists", "rnglists", "types"))
    parts = {f"debug_{name}_sec": section(f".debug_{name}") for name in names}
    absent = ("debug_frame_sec", "eh_frame_sec", "debug_sup_sec", "gnu_debugaltlink_sec")
    config = DwarfConfig(little_endian=True, machine_arch="wasm", default_address_size=4)
    return DWARFInfo(config=config, **parts, **dict.fromkeys(absent))


def _text(die: Any, name: str) -> str:
    value = die.attributes.get(name)
    return value.value.decode("utf-8", "replace") if value is not None else ""


def _lines(
    info: Any, unit: Any, folder: str, own: str, files: dict[str, int]
) -> Iterator[tuple[int, int, Place]]:
    """Stretches of code that have a line of a file of the user's."""
    program = info.line_program_for_CU(unit)
    if program is None:
        return
    names = [_file_name(program, entry, folder) for entry in program["file_entry"]]
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and before.line and before.address < state.address and before.address:
            name = names[before.file - 1]
            if not name.startswith(own) and os.path.isfile(name):
                number = files.setdefault(name, len(files))
                yield before.address, state.address, Place(number, before.line)
        before = None if state.end_sequence else state


def _file_name(program: Any, entry: Any, folder: str) -> str:
    directories = program["include_directory"]
    inside = directories[entry.dir_index - 1].decode() if entry.dir_index else ""
    return os.path.normpath(os.path.join(folder, inside, entry.name.decode()))


class UnitReader:
    """Variables of one unit of compilation."""

    def __init__(self, info: Any, unit: Any) -> None:
        from elftools.dwarf.locationlists import LocationParser

        self.info, self.unit = info, unit
        self.locations = LocationParser(info.location_lists())
        self.types: dict[int, dict[str, Any]] = {}
        low = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        self.base = 0 if low is None else low.value

    def globals(self, top: Any) -> Iterator[Variable]:
        for die in top.iter_children():
            if die.tag == "DW_TAG_variable":
                yield from self.in_memory(die)
            elif die.tag == "DW_TAG_subprogram":
                yield from self.statics(die)

    def statics(self, die: Any) -> Iterator[Variable]:
        """Variables of functions that live as long as the program."""
        for child in die.iter_children():
            if child.tag == "DW_TAG_variable":
                yield from self.in_memory(child)
            elif child.tag == "DW_TAG_lexical_block":
                yield from self.statics(child)

    def in_memory(self, die: Any) -> Iterator[Variable]:
        where = die.attributes.get("DW_AT_location")
        if where is not None and where.form == "DW_FORM_exprloc":
            address = static_address(bytes(where.value))
            if address is not None and (name := self.name(die)):
                yield Variable(name, self.type_of(die), "memory", address)

    def name(self, die: Any) -> str:
        """Its own, or that of what it is an instance of."""
        while not (name := _text(die, "DW_AT_name")):
            for link in ("DW_AT_abstract_origin", "DW_AT_specification"):
                if link in die.attributes:
                    die = die.get_DIE_from_attribute(link)
                    break
            else:
                return ""
        return name

    def scopes(self, top: Any) -> Iterator[Scope]:
        for die in top.iter_children():
            if die.tag == "DW_TAG_subprogram" and self.ranges(die):
                yield from self.scope(die, self.frame_base(die))

    def scope(self, die: Any, base: int) -> Iterator[Scope]:
        names, inner = [], []
        variables: list[Variable] = []
        waiting = list(die.iter_children())
        while waiting:
            child = waiting.pop(0)
            if child.tag in ("DW_TAG_formal_parameter", "DW_TAG_variable"):
                if name := self.name(child):
                    where = child.attributes.get("DW_AT_location")
                    if where is not None and bytes_of(where)[:1] == bytes([ADDRESS]):
                        continue
                    names.append(name)
                    variables += self.variable(child, name, base)
            elif child.tag == "DW_TAG_lexical_block":
                waiting += child.iter_children()
            elif child.tag == "DW_TAG_inlined_subroutine":
                inner.append(child)
        ranges = self.ranges(die)
        shown = tuple(dict.fromkeys(names)), tuple(variables)
        yield Scope(self.name(die), ranges, *shown, self.called_at(die))
        for child in inner:
            yield from self.scope(child, base)

    def called_at(self, die: Any) -> tuple[str, int] | None:
        """Of a function that is in line: where it was called."""
        if "DW_AT_call_line" not in die.attributes:
            return None
        program = self.info.line_program_for_CU(self.unit)
        entry = program["file_entry"][die.attributes["DW_AT_call_file"].value - 1]
        folder = _text(self.unit.get_top_DIE(), "DW_AT_comp_dir")
        return _file_name(program, entry, folder), die.attributes["DW_AT_call_line"].value

    def variable(self, die: Any, name: str, base: int) -> Iterator[Variable]:
        """Where it is, stretch by stretch."""
        where = die.attributes.get("DW_AT_location")
        if where is None:
            return
        parsed: Any = self.locations.parse_from_attribute(where, self.unit["version"], die)
        stretches: list[Any] = parsed if isinstance(parsed, list) else [parsed]
        start = self.base
        for stretch in stretches:
            if hasattr(stretch, "base_address"):
                start = stretch.base_address
                continue
            first = start + stretch.begin_offset if hasattr(stretch, "begin_offset") else 0
            end = start + stretch.end_offset if hasattr(stretch, "end_offset") else 1 << 32
            found = location(bytes(stretch.loc_expr))
            if found is not None:
                kind, at = found
                yield Variable(name, self.type_of(die), kind, at, base, first, end)

    def frame_base(self, die: Any) -> int:
        """The local that offsets of a frame are counted from, or -1."""
        where = die.attributes.get("DW_AT_frame_base")
        found = None if where is None else location(bytes_of(where))
        return found[1] if found is not None and found[0] == "local" else -1

    def ranges(self, die: Any) -> tuple[tuple[int, int], ...]:
        """The code of a function."""
        attributes = die.attributes
        if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"], attributes["DW_AT_high_pc"]
            end = high.value if high.form == "DW_FORM_addr" else low.value + high.value
            return ((low.value, end),) if 0 < low.value < 0xFFFF_FFFE else ()
        if "DW_AT_ranges" in attributes:
            found, start = [], self.base
            lists = self.info.range_lists()
            for each in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, self.unit):
                if hasattr(each, "base_address"):
                    start = each.base_address
                else:
                    found.append((start + each.begin_offset, start + each.end_offset))
            return tuple(found)
        return ()

    # -- types ---------------------------------------------

    def type_of(self, die: Any) -> dict[str, Any]:
        """What is needed to show a value: a name, a size, an encoding, elements or members."""
        while "DW_AT_type" not in die.attributes:
            for link in ("DW_AT_abstract_origin", "DW_AT_specification"):
                if link in die.attributes:
                    die = die.get_DIE_from_attribute(link)
                    break
            else:
                return {"name": "void", "size": 0}
        return self.type(die.get_DIE_from_attribute("DW_AT_type"))

    def type(self, die: Any) -> dict[str, Any]:
        if die.offset in self.types:
            return self.types[die.offset]
        found: dict[str, Any] = {"name": _text(die, "DW_AT_name"), "size": self.size(die)}
        self.types[die.offset] = found
        match die.tag:
            case "DW_TAG_base_type":
                found["encoding"] = die.attributes["DW_AT_encoding"].value
            case "DW_TAG_pointer_type" | "DW_TAG_reference_type":
                target = self.type_of(die)
                found |= {"name": f"{target['name']} *", "size": 4, "pointer": True}
            case "DW_TAG_array_type":
                element = self.type_of(die)
                base, size, sizes = element["name"], element["size"], ""
                for count in reversed([self.count(child) for child in die.iter_children()]):
                    size, sizes = size * count, f"[{count}]{sizes}"
                    name = f"{base}{sizes}"
                    element = {"name": name, "size": size, "count": count, "element": element}
                found |= element
            case "DW_TAG_structure_type" | "DW_TAG_union_type" | "DW_TAG_class_type":
                found["name"] = f"struct {found['name']}".strip()
                found["members"] = [
                    [self.name(child), self.offset(child), self.type_of(child)]
                    for child in list(die.iter_children())[:MOST_MEMBERS]
                    if child.tag == "DW_TAG_member" and "DW_AT_bit_size" not in child.attributes
                ]
            case "DW_TAG_enumeration_type":
                found |= {"name": f"enum {found['name']}".strip(), "encoding": 7}
            case _:  # typedef, const, volatile and the like
                below = self.type_of(die)
                named = found["name"] or below["name"]
                found |= {**below, "name": named}
        return found

    @staticmethod
    def size(die: Any) -> int:
        size = die.attributes.get("DW_AT_byte_size")
        return 0 if size is None else int(size.value)

    @staticmethod
    def offset(die: Any) -> int:
        where = die.attributes.get("DW_AT_data_member_location")
        return int(where.value) if where is not None and isinstance(where.value, int) else 0

    @staticmethod
    def count(die: Any) -> int:
        for name, more in (("DW_AT_count", 0), ("DW_AT_upper_bound", 1)):
            value = die.attributes.get(name)
            if value is not None and isinstance(value.value, int):
                return int(value.value) + more
        return 0


def bytes_of(attribute: Any) -> bytes:
    """An expression; nothing, if it is a list of them."""
    return bytes(attribute.value) if attribute.form == "DW_FORM_exprloc" else b""


def static_address(expression: bytes) -> int | None:
    """Where in memory something lies; what was taken apart, if its pieces lie side by side."""
    first = end = None
    at = 0
    while at < len(expression):
        if expression[at] != ADDRESS:
            return None
        address = int.from_bytes(expression[at + 1 : at + 5], "little")
        at += 5
        if first is None:
            first = end = address
        if address != end:
            return None
        if at < len(expression):
            if expression[at] != PIECE:
                return None
            reader = Reader(expression, at + 1, len(expression))
            end, at = end + reader.unsigned(), reader.at
    return first


def location(expression: bytes) -> tuple[str, int] | None:
    """Where something is, if that is one of three plain forms."""
    if expression[:2] == bytes([WASM_LOCATION, 0]):
        reader = Reader(expression, 2, len(expression))
        index, rest = reader.unsigned(), expression[reader.at :]
        return ("local", index) if rest in (b"", bytes([STACK_VALUE])) else None
    if expression[:1] == bytes([FRAME_OFFSET]):
        reader = Reader(expression, 1, len(expression))
        offset = reader.signed(32)
        return ("frame", offset) if reader.at == reader.end else None
    address = static_address(expression)
    return None if address is None else ("memory", address)
