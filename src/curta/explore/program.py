"""What a page has to know of a program: its prompt, its instructions, and where they come from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from curta.errors import UserError
from curta.explore.dwarf import (
    DebugInfo,
    Place,
    Variable,
    code_start,
    compiled_for_debugging,
    read_debug_info,
)
from curta.machine import ids, layout
from curta.machine.core_program import PRIVATE, USER, Callee, Claim, CoreProgram, WasmLocation
from curta.machine.ids import Ids, segment_ids
from curta.machine.instance import START, check_runs
from curta.machine.instructions import TRAPS, operation_of
from curta.machine.library import library_module
from curta.machine.listing import instruction_text, record_tokens, wasm_text
from curta.machine.load import load_program
from curta.machine.loaded import LoadedProgram
from curta.machine.lower import LowerOptions, lower
from curta.machine.machine import module_of
from curta.machine.parts.operations import Extension, Operations
from curta.machine.run import LoadOptions, host_segments, program_name
from curta.machine.toolchain import SOURCE_SUFFIXES, without_custom_sections
from curta.machine.values import parse_number, to_pattern, to_words, word_count
from curta.machine.vocabulary import ADDRESS_BYTES, RECORD
from curta.machine.wasm import BITS, MAX_PAGES
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import Function, Module

FIRSTS = (
    *("FIRST_LAST", "FIRST_MORE", "FIRST_JUMP", "FIRST_FAR_JUMP", "STORED_ID"),
    *("FIRST_OUTPUT", "FIRST_ERROR", "READ_ID", "AWAIT_ID", "EXIT_ID", "FIRST_TRAP", "FIRST_BYTE"),
    *("AT_ID", "FIRST_DATA", "START_ID", "FIRST_OPERATION"),
)
"""Numbers of tokens that a page knows by name."""


@dataclass(frozen=True)
class Asked:
    """What is to be run, and how."""

    sources: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    invoke: str | None = None
    stdin: bytes = b""
    env: tuple[tuple[str, str], ...] = ()
    seed: int | None = None
    flags: tuple[str, ...] = ()
    max_memory: int = MAX_PAGES
    extensions: tuple[Extension, ...] = ()
    prove: bool = True


class ExploredProgram:
    """A program, and all that is known of where it comes from."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        library = asked.invoke is not None
        if asked.sources[0].lower().endswith(SOURCE_SUFFIXES):
            module = compiled_for_debugging(asked.sources, asked.flags, library=library)
            self.debug = read_debug_info(module)
        else:
            options: LoadOptions = {"cflags": asked.flags}
            module = module_of(asked.sources, library, options)
            self.debug = DebugInfo()
        self.content = without_custom_sections(module)
        load_program(self.content, asked.max_memory, asked.extensions, prove=asked.prove)
        self.module = decode(self.content)
        pages = min(asked.max_memory, MAX_PAGES)
        self.core: CoreProgram = lower(
            self.module, LowerOptions(pages, extensions=asked.extensions)
        )
        self.loaded = LoadedProgram.from_core(self.core, Operations(asked.extensions).names)
        self.code_start = code_start(self.content)

    # -- the whole ---------------------------------------------

    def data(self) -> dict[str, Any]:
        """All of it, to be written as JSON."""
        types = Types()
        return {
            "kind": "machine",
            "title": " ".join(map(os.path.basename, self.asked.sources)),
            "tokens": {name: getattr(ids, name) for name in FIRSTS},
            "vocabulary": len(self.loaded.tokens),
            "traps": TRAPS,
            "layout": {
                "private": PRIVATE,
                "argumentsLength": PRIVATE + layout.ARGUMENTS_LENGTH,
                "arguments": PRIVATE + layout.ARGUMENTS,
            },
            "operations": [operation_data(name) for name in self.loaded.operations],
            "name": program_name(self.asked.sources),
            "prompt": self.prompt().tolist(),
            "host": self.host().tolist(),
            **self.asked_for(),
            "input": list(self.asked.stdin),
            "instructions": self.instructions(),
            "functions": self.loaded.functions,
            "wasm": self.listings(),
            "sources": [
                {"name": relative(name), "text": Path(name).read_text("utf-8", "replace")}
                for name in self.debug.files
            ],
            "globals": [
                [each.name, types.number(each.type), each.at]
                for each in sorted(self.debug.globals, key=lambda one: one.at)
            ],
            "blocks": dict(self.blocks(types)),
            "types": types.known,
        }

    def prompt(self) -> Ids:
        """The program's tokens, without what the host adds for a run, and without `start`."""
        return self.loaded.prompt()[:-1]

    def host(self) -> Ids:
        """What the host adds, but for arguments, which readers may change."""
        segments = host_segments((), dict(self.asked.env), self.asked.seed)
        found = [segment_ids(one.address, one.content, ADDRESS_BYTES) for one in segments]
        return np.concatenate([*found, np.zeros(0, dtype=np.int32)], dtype=np.int32)

    def asked_for(self) -> dict[str, Any]:
        """The words that the machine awaits, and what comes of them."""
        entries, asked = self.core.entries, self.asked
        if asked.invoke is None:
            check_runs(entries)
            return {
                "invoked": None,
                "arguments": asked.arguments,
                "words": [0, entries[START].number],
                "results": 0,
            }
        if asked.invoke not in entries:
            names = ", ".join(entries) or "none"
            raise UserError(f"no function {asked.invoke!r} is exported; there are: {names}")
        entry = entries[asked.invoke]
        if len(entry.parameters) != len(asked.arguments):
            types = " ".join(entry.parameters) or "none"
            raise UserError(
                f"{asked.invoke} takes {len(entry.parameters)} arguments ({types}), "
                f"got {len(asked.arguments)}"
            )
        patterns = []
        for place, (text, type_) in enumerate(zip(asked.arguments, entry.parameters, strict=True)):
            what = f"argument {place + 1} of {asked.invoke}"
            patterns.append(to_pattern(parse_number(text, type_, what), type_, what))
        first = [entries["_initialize"].number] if "_initialize" in entries else []
        return {
            "invoked": asked.invoke,
            "arguments": asked.arguments,
            "parameters": entry.parameters,
            "words": [0, *first, entry.number, *to_words(patterns, entry.parameters)],
            "results": word_count(entry.results),
        }

    # -- instructions ---------------------------------------------

    def instructions(self) -> dict[str, list[Any]]:
        """Columns, one entry for each core instruction."""
        program, rows = self.loaded, self.loaded.rows
        columns: dict[str, list[Any]] = {
            name: rows[name].tolist() for name in ("operation", "a", "b", "c", "d", "immediate")
        }
        columns["target"] = rows["target"].tolist()
        columns["text"] = [instruction_text(program.instruction(n)) for n in range(len(program))]
        columns["function"] = program.origins["function"].tolist()
        columns["library"] = program.origins["library"].tolist()
        places = [self.wasm_place(origin.asked) for origin in self.core.origins]
        columns["wasmFunction"] = [place[0] for place in places]
        columns["wasmLine"] = [place[1] for place in places]
        found = [self.line(origin.asked) for origin in self.core.origins]
        columns["file"] = [-1 if place is None else place.file for place in found]
        columns["line"] = [0 if place is None else place.line for place in found]
        records = program.records.reshape(-1, RECORD).tolist()
        columns["record"] = [
            " ".join(record_tokens([program.tokens[token] for token in record]))
            for record in records
        ]
        return columns

    def line(self, asked: WasmLocation | None) -> Place | None:
        """The line of C; of what is in line and has none, that of the call."""
        while asked is not None:
            pc = self.pc(asked)
            if pc is not None and (place := self.line_at(pc)) is not None:
                return place
            asked = asked.within
        return None

    def pc(self, asked: WasmLocation) -> int | None:
        """The address of an instruction, as debug information counts it."""
        if asked.callee[0] != USER:
            return None
        body = self.function(asked.callee).body
        return body[asked.instruction].offset - self.code_start

    def line_at(self, pc: int) -> Place | None:
        starts = self.line_starts
        at = int(np.searchsorted(starts, pc, side="right")) - 1
        if at < 0:
            return None
        _, end, place = self.debug.lines[at]
        return place if pc < end else None

    @cached_property
    def line_starts(self) -> Any:
        return np.array([first for first, _, _ in self.debug.lines], dtype=np.int64)

    # -- WebAssembly ---------------------------------------------

    def module_named(self, name: str) -> Module:
        return self.module if name == USER else library_module(name)

    def function(self, callee: Callee) -> Function:
        module = self.module_named(callee[0])
        return module.functions[callee[1] - len(module.imported("func"))]

    @cached_property
    def callees(self) -> dict[Callee, int]:
        """Functions of which there are instructions, by their numbers in the page."""
        found: dict[Callee, int] = {}
        for origin in self.core.origins:
            if origin.asked is not None:
                found.setdefault(origin.asked.callee, len(found))
        return found

    def wasm_place(self, asked: WasmLocation | None) -> tuple[int, int]:
        if asked is None:
            return -1, -1
        return self.callees[asked.callee], asked.instruction

    def listings(self) -> list[dict[str, Any]]:
        return [
            {"name": self.callee_name(callee), "lines": list(indented(self.function(callee)))}
            for callee in self.callees
        ]

    def callee_name(self, callee: Callee) -> str:
        module = self.module_named(callee[0])
        names = dict(module.function_names)
        for entry in module.exports:
            if entry.kind == "func":
                names.setdefault(entry.index, entry.name)
        name = names.get(callee[1], f"function {callee[1]}")
        return name if callee[0] == USER else f"{name} ({callee[0]})"

    # -- variables ---------------------------------------------

    def blocks(self, types: Types) -> Iterator[tuple[int, list[list[Any]]]]:
        """The variables that there are where blocks begin, as far as the lowering says in which
        registers they are: what has no place is optimised out.
        """
        for at, claim in self.core.claims.blocks.items():
            if claim.place.callee[0] != USER:
                continue
            pc = self.pc(claim.place)
            if pc is not None and (named := list(self.variables(claim, pc, types))):
                yield at, named

    def variables(self, claim: Claim, pc: int, types: Types) -> Iterator[list[Any]]:
        held = {number: register for register, number in claim.registers.items()}
        shown = set[str]()
        covering = [
            scope
            for scope in self.debug.scopes
            if any(first <= pc < end for first, end in scope.ranges)
        ]
        for scope in reversed(covering):  # the innermost first
            for name in scope.names:
                if name in shown:
                    continue
                shown.add(name)
                there = [
                    one for one in scope.variables if one.name == name and one.first <= pc < one.end
                ]
                place = self.held_in(there[0], claim, held) if there else None
                number = types.number(there[0].type) if there else -1
                yield [name, number, scope.name, place]

    def held_in(
        self, variable: Variable, claim: Claim, held: dict[int | None, int]
    ) -> list[Any] | None:
        """Registers (or constants) with its words, or an address in memory."""
        if variable.kind == "memory":
            return ["memory", variable.at]
        local = variable.at if variable.kind == "local" else variable.base
        if local < 0:
            return None
        function = self.function(claim.place.callee)
        locals_ = [*self.module.types[function.type_index].parameters, *function.locals]
        if local >= len(locals_):
            return None
        first = sum(BITS[type_] // 32 for type_ in locals_[:local])
        words = []
        for number in claim.words[first : first + BITS[locals_[local]] // 32]:
            if number < 0:
                words.append(["constant", ~number])
            elif number in held:
                words.append(["register", held[number]])
            else:
                return None
        if variable.kind == "local":
            return ["words", words]
        return ["frame", words, variable.at]


class Types:
    """Types of variables, each once."""

    def __init__(self) -> None:
        self.known: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}

    def number(self, type_: dict[str, Any]) -> int:
        number = self._numbers.get(id(type_))
        if number is None:
            number = self._numbers[id(type_)] = len(self.known)
            self.known.append({})
            self.known[number] = self.flat(type_)
        return number

    def flat(self, type_: dict[str, Any]) -> dict[str, Any]:
        """With numbers for the types within it: these may go in circles."""
        found = {key: value for key, value in type_.items() if key not in ("element", "members")}
        if "element" in type_:
            found["element"] = self.number(type_["element"])
        if "members" in type_:
            found["members"] = [
                [name, offset, self.number(inner)] for name, offset, inner in type_["members"]
            ]
        return found


def operation_data(name: str) -> dict[str, Any]:
    """What a page has to know of an operation."""
    operation = operation_of(name)
    return {
        "name": name,
        "kind": operation.kind,
        "operands": operation.operands,
        "size": operation.size,
        "private": operation.size > 0 and not operation.has_bounds,
    }


def indented(function: Function) -> Iterator[str]:
    """A function's instructions, one to a line."""
    depth = 1
    for step in function.body:
        depth -= step.opcode in ("end", "else")
        yield "  " * max(depth, 0) + wasm_text(step)
        depth += step.opcode in ("block", "loop", "if", "else")


def relative(name: str) -> str:
    """A path as the user would write it."""
    there = os.path.relpath(name)
    return os.path.basename(name) if there.startswith("..") else there
