"""A program that waits to be called: a conversation, and the names of what it can be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from curta.errors import ExitError, UserError
from curta.machine.conversation import Conversation, Figures
from curta.machine.core_program import Entry
from curta.machine.trace import Trace
from curta.machine.values import (
    Number,
    check_pattern,
    from_words,
    to_number,
    to_pattern,
    to_words,
    word_count,
)

if TYPE_CHECKING:
    from curta.machine.wasm.module import FunctionType

START = "_start"
Result = Number | tuple[Number, ...] | None


def check_runs(entries: Mapping[str, Entry]) -> None:
    """Refuse what is no program, but a library."""
    if START not in entries:
        names = ", ".join(entries) or "nothing"
        raise UserError(
            f"the module has no {START} to run; it exports {names}: use instantiate and invoke "
            "(--invoke NAME)"
        )


class Instance:
    """A module with its memory, table and globals, all of them in what was said so far."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._entries = conversation.program.entries

    @property
    def exports(self) -> MappingProxyType[str, FunctionType]:
        """The functions that can be invoked, and their types."""
        from curta.machine.wasm.module import FunctionType

        return MappingProxyType(
            {
                name: FunctionType(entry.parameters, entry.results)
                for name, entry in self._entries.items()
            }
        )

    def run(self) -> int:
        """Run the program from its start to its end; its exit code."""
        check_runs(self._entries)
        try:
            self.invoke(START)
        except ExitError as end:
            return end.code
        return 0

    def invoke(self, name: str, *numbers: Number) -> Result:
        """Call an exported function with Python numbers.

        Integers come back signed, several results as a tuple, no result as None. A Trap is raised
        if the program traps, ExitError if it ends itself; the instance can be used again.
        """
        entry, patterns = self.patterns(name, numbers)
        found = self._call(entry, patterns)
        results = tuple(
            to_number(pattern, type_) for pattern, type_ in zip(found, entry.results, strict=True)
        )
        if len(results) > 1:
            return results
        return results[0] if results else None

    def patterns(self, name: str, numbers: Sequence[Number]) -> tuple[Entry, list[int]]:
        """A function, and numbers for it as bit patterns."""
        entry = self._entry(name, len(numbers))
        return entry, [
            to_pattern(number, type_, f"argument {place} of {name}")
            for place, (number, type_) in enumerate(zip(numbers, entry.parameters, strict=True), 1)
        ]

    def invoke_bits(self, name: str, patterns: Sequence[int] = ()) -> list[int]:
        """Call an exported function with bit patterns, unsigned; the payload of a NaN is kept."""
        if not isinstance(patterns, Sequence):
            raise UserError(
                f"the arguments of {name} are {patterns!r}: expected a list of patterns"
            )
        entry = self._entry(name, len(patterns))
        checked = [
            check_pattern(pattern, type_, f"argument {place} of {name}")
            for place, (pattern, type_) in enumerate(
                zip(patterns, entry.parameters, strict=True), 1
            )
        ]
        return self._call(entry, checked)

    def _call(self, entry: Entry, patterns: Sequence[int]) -> list[int]:
        words = self.conversation.invoke(
            entry.number, to_words(patterns, entry.parameters), word_count(entry.results)
        )
        return from_words(words, entry.results)

    def _entry(self, name: str, arguments: int) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            names = ", ".join(self._entries) or "none"
            raise UserError(f"no function {name!r} is exported; there are: {names}")
        takes = len(entry.parameters)
        if takes != arguments:
            types = " ".join(entry.parameters) or "none"
            many = "argument" if takes == 1 else "arguments"
            raise UserError(f"{name} takes {takes} {many} ({types}), got {arguments}")
        return entry

    @property
    def trace(self) -> Trace:
        """The tokens so far, those of the program included."""
        return self.conversation.trace

    def save_trace(self, path: str | Path, note: str = "") -> None:
        """Write what was said so far to a file that anybody can check (docs/model-file.md)."""
        from curta.machine.trace_file import save_conversation

        save_conversation(path, self.conversation, note)

    @property
    def stdout(self) -> bytes:
        """What the program wrote so far."""
        return bytes(self.conversation.stdout)

    @property
    def stderr(self) -> bytes:
        """The same for its standard error."""
        return bytes(self.conversation.stderr)

    @property
    def figures(self) -> Figures:
        """Tokens, instructions, seconds and bytes so far."""
        return self.conversation.figures
