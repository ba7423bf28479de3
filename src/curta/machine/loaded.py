"""A program as columns of numbers: its prompt, its entries, and where its instructions come from.

A `CoreProgram` is a tuple of objects, good to build and to read. A run needs token ids, and so does
the cache of lowered programs; both come from these arrays without a loop over instructions.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from curta.errors import FileError, LimitError
from curta.machine.core_program import CoreProgram, Entry, Origin, Segment
from curta.machine.ids import (
    FIRST_BYTE,
    FIRST_OPERATION,
    START_ID,
    Ids,
    segment_ids,
)
from curta.machine.instructions import OPERATIONS, CoreInstruction
from curta.machine.vocabulary import ADDRESS_BYTES, FIELDS, RECORD, vocabulary

ROW = np.dtype([("operation", "<u4"), *((name, "<u4") for name in FIELDS)])
"""An instruction; `operation` is the place of its token among the tokens of operations."""
ORIGIN = np.dtype([("function", "<u4"), ("place", "<i4"), ("library", "u1")])
MAGIC = b"curta program 5\n"
NO_ORIGIN = Origin("?")


@dataclass(frozen=True, eq=False)
class LoadedProgram:
    """What a conversation is started with. `functions` are the names that origins refer to.

    Two are equal if they are the same, so what is made of one can be kept beside it.
    """

    rows: npt.NDArray[Any]
    segments: tuple[Segment, ...]
    entries: dict[str, Entry]
    functions: tuple[str, ...]
    origins: npt.NDArray[Any]
    operations: tuple[str, ...] = OPERATIONS
    """Those of the machine that it is for, extensions last: rows and tokens count them."""
    baked: bool = False
    """Whether the machine knows the program, so that nobody has to say it."""

    @classmethod
    def from_core(
        cls, program: CoreProgram, operations: Sequence[str] = OPERATIONS
    ) -> LoadedProgram:
        numbers = {name: number for number, name in enumerate(operations)}
        _check_fields(program)
        functions = {origin.function: 0 for origin in program.origins}
        for number, name in enumerate(functions):
            functions[name] = number
        return cls(
            np.array([_row(one, numbers) for one in program.instructions], dtype=ROW),
            tuple(program.segments),
            dict(program.entries),
            tuple(functions),
            np.array(
                [(functions[o.function], o.place, o.library) for o in program.origins],
                dtype=ORIGIN,
            ),
            tuple(operations),
        )

    # -- what is said ---------------------------------------------

    def prompt(self, host: Iterable[Segment] = ()) -> Ids:
        """The tokens that `encode` gives, with the host's segments after the program's own."""
        if not (added := [ids_of(segment) for segment in host]):
            return self.alone
        return np.concatenate([self.alone[:-1], *added, self.alone[-1:]])

    @cached_property
    def alone(self) -> Ids:
        """What is said if the host has no segments: the same array to all conversations."""
        start = np.array([START_ID], dtype=np.int32)
        records = [] if self.baked else [self.records]
        said = np.concatenate([*records, *map(ids_of, self.segments), start], dtype=np.int32)
        said.flags.writeable = False
        return said

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens of the machine that the program is for."""
        return vocabulary(self.operations)

    @cached_property
    def records(self) -> Ids:
        """The tokens that instructions are, sixteen each, whether or not they are said."""
        records = np.empty((len(self.rows), RECORD), dtype=np.int32)
        records[:, 0] = self.rows["operation"] + FIRST_OPERATION
        column = 1
        for name, size in FIELDS.items():
            for shift in range(8 * (size - 1), -8, -8):
                records[:, column] = (self.rows[name] >> shift & 255) + FIRST_BYTE
                column += 1
        return records.reshape(-1)

    # -- what people ask ---------------------------------------------

    def __len__(self) -> int:
        return len(self.rows)

    def instruction(self, number: int) -> CoreInstruction:
        """An instruction as an object again."""
        row = self.rows[number]
        operation = int(row["operation"])
        immediate = operation >= len(self.operations)
        fields = {name: int(row[name]) for name in FIELDS}
        if immediate:
            del fields["b"]
        return CoreInstruction(self.operations[operation % len(self.operations)], **fields)

    def origin(self, number: int) -> Origin:
        """Where an instruction comes from."""
        if not 0 <= number < len(self.origins):
            return NO_ORIGIN
        row = self.origins[number]
        return Origin(self.functions[row["function"]], int(row["place"]), bool(row["library"]))

    def core_program(self) -> CoreProgram:
        """Everything as objects again."""
        return CoreProgram(
            tuple(self.instruction(number) for number in range(len(self))),
            self.segments,
            self.entries,
            tuple(self.origin(number) for number in range(len(self.origins))),
        )

    # -- a file ---------------------------------------------

    def to_bytes(self) -> bytes:
        segments = [[segment.address, len(segment.content)] for segment in self.segments]
        entries = {
            name: [entry.number, entry.parameters, entry.results]
            for name, entry in self.entries.items()
        }
        head = {
            "rows": len(self.rows),
            "origins": len(self.origins),
            "functions": self.functions,
            "segments": segments,
            "entries": entries,
            "extensions": self.operations[len(OPERATIONS) :],
        }
        written = json.dumps(head).encode()
        contents = b"".join(segment.content for segment in self.segments)
        parts = [struct.pack("<I", len(written)), written]
        body = b"".join([*parts, self.rows.tobytes(), self.origins.tobytes(), contents])
        return MAGIC + hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, content: bytes) -> LoadedProgram:
        """The inverse; a FileError if the bytes are not what `to_bytes` writes."""
        try:
            return cls._from_bytes(content)
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise FileError(f"not a lowered program: {error}") from error

    @classmethod
    def _from_bytes(cls, content: bytes) -> LoadedProgram:
        if not content.startswith(MAGIC):
            raise ValueError("it begins otherwise")
        digest, content = content[len(MAGIC) :][:32], content[len(MAGIC) + 32 :]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("it is damaged")
        at = 4
        (size,) = struct.unpack_from("<I", content)
        head = json.loads(content[at : at + size])
        at += size
        rows = np.frombuffer(content, dtype=ROW, count=head["rows"], offset=at)
        at += rows.nbytes
        origins = np.frombuffer(content, dtype=ORIGIN, count=head["origins"], offset=at)
        at += origins.nbytes
        segments = []
        for address, length in head["segments"]:
            segments.append(Segment(address, content[at : at + length]))
            at += length
        if at != len(content):
            raise ValueError(f"{len(content)} bytes, not {at}")
        entries = {
            name: Entry(number, tuple(parameters), tuple(results))
            for name, (number, parameters, results) in head["entries"].items()
        }
        operations = (*OPERATIONS, *head["extensions"])
        if any((rows[name] >> 8 * size).any() for name, size in FIELDS.items() if size < 4):
            raise ValueError("an operand has too many bytes")
        if (rows["operation"] >= 2 * len(operations)).any():
            raise ValueError("an operation has no name")
        if len(origins) > len(rows):
            raise ValueError("there are more origins than instructions")
        return cls(rows, tuple(segments), entries, tuple(head["functions"]), origins, operations)


def _check_fields(program: CoreProgram) -> None:
    """Refuse what tokens have no room for: a prompt would say something else."""
    for instruction in program.instructions:
        for name, size in FIELDS.items():
            if (getattr(instruction, name) or 0) >> 8 * size:
                raise LimitError(f"{instruction.operation}: {name} has more than {size} bytes")


def ids_of(segment: Segment) -> Ids:
    return segment_ids(segment.address, segment.content, ADDRESS_BYTES)


def _row(instruction: CoreInstruction, numbers: Mapping[str, int]) -> tuple[int, ...]:
    operation = numbers[instruction.operation]
    if instruction.b is None:
        operation += len(numbers)
    return (operation, *(getattr(instruction, name) or 0 for name in FIELDS))
