"""Runs lowered programs on the reference machine, as a host would: words in, tokens out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curta.machine.core_program import INITIALISE, CoreProgram
from curta.machine.instructions import MEMORY_PAGES, PAGE, TRAPS
from curta.machine.layout import host_segments
from curta.machine.lower import LowerOptions, lower
from curta.machine.reference import CoreMachine
from curta.machine.vocabulary import AWAIT, DIGIT, EXIT, READ
from curta.machine.wasm.module import Module

Outcome = tuple[int, ...] | str
END_OF_BYTES = 0xFFFF_FFFF
MOST_STEPS = 30_000_000


@dataclass(frozen=True)
class Exit:
    """The program ended itself."""

    code: int


class CoreInstance:
    """An instance: a conversation with the reference machine."""

    def __init__(
        self,
        module: Module | CoreProgram,
        options: LowerOptions | None = None,
        *,
        stdin: bytes = b"",
        arguments: Sequence[bytes] = (),
        environment: Sequence[bytes] = (),
    ) -> None:
        self.program = module if isinstance(module, CoreProgram) else lower(module, options)
        self.machine = CoreMachine(self.program)
        self.stdin = stdin
        self.read = 0
        for segment in host_segments(arguments, environment):
            self.machine.give_memory(segment)
        self.started = self._enter(INITIALISE)

    def _enter(self, number: int, words: Sequence[int] = ()) -> str:
        """The token that the entry ended with."""
        machine = self.machine
        machine.run(MOST_STEPS)
        machine.give(number)
        for word in words:
            ended = machine.run(MOST_STEPS)
            assert ended == AWAIT
            machine.give(word)
        while (ended := machine.run(MOST_STEPS)) == READ:
            byte = self.stdin[self.read] if self.read < len(self.stdin) else END_OF_BYTES
            self.read += 1
            machine.give(byte)
        return ended

    def invoke(self, name: str, *values: int) -> Outcome | Exit:
        """Unsigned bit patterns in and out, or the reason of a trap."""
        entry = self.program.entries[name]
        words: list[int] = []
        for type_, value in zip(entry.parameters, values, strict=True):
            words += [value % (1 << 32), value >> 32][: int(type_[1:]) // 32]
        ended = self._enter(entry.number, words)
        if ended.startswith("trap"):
            return TRAPS[int(ended[4:])]
        if ended == EXIT:
            return Exit(last_words(self.machine.tokens, 1)[0])
        widths = [int(type_[1:]) // 32 for type_ in entry.results]
        said = last_words(self.machine.tokens, sum(widths))
        results = []
        for width in widths:
            results.append(sum(said.pop(0) << 32 * place for place in range(width)))
        return tuple(results)

    def memory(self) -> bytes:
        machine = self.machine
        size = machine.registers.get(MEMORY_PAGES, 0) * PAGE
        content = bytearray(size)
        for address, byte in machine.memory.items():
            if address < size:
                content[address] = byte
        return bytes(content)

    def output(self, name: str = "out") -> bytes:
        """What was written to "out" or "err"."""
        return bytes(int(token[3:]) for token in self.machine.tokens if token.startswith(name))


def last_words(tokens: Sequence[str], count: int) -> list[int]:
    """The words that were said last, in order."""
    words: list[int] = []
    at = len(tokens) - 1
    while len(words) < count:
        if tokens[at][0] == "L":
            word, weight = int(tokens[at][1:]), DIGIT
            while at and tokens[at - 1][0] == "M":
                at -= 1
                word += weight * int(tokens[at][1:])
                weight *= DIGIT
            words.insert(0, word)
        at -= 1
    return words
