"""WASI for wasm3, which has none of its own in Python: arguments, standard input and output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SIGNATURES = {
    "args_sizes_get": "i(ii)",
    "args_get": "i(ii)",
    "environ_sizes_get": "i(ii)",
    "environ_get": "i(ii)",
    "fd_write": "i(iiii)",
    "fd_read": "i(iiii)",
    "fd_fdstat_get": "i(ii)",
    "fd_close": "i(i)",
    "fd_seek": "i(iIii)",
    "proc_exit": "v(i)",
}
"""Of the functions that there are: each is a method of `Host`."""
CHARACTER_DEVICE, NOT_SEEKABLE = 2, 70


class ExitError(Exception):
    """The program has ended."""


class Host:
    """What a program asks its host for; numbers are places in the program's memory."""

    def __init__(self, runtime: Any, arguments: list[bytes], stdin: bytes) -> None:
        self.runtime = runtime
        self.arguments = arguments
        self.stdin = stdin
        self.stdout = bytearray()

    def link(self, module: Any) -> None:
        for name, signature in SIGNATURES.items():
            try:
                module.link_function("wasi_snapshot_preview1", name, signature, getattr(self, name))
            except RuntimeError:  # not imported
                continue

    def put(self, at: int, content: bytes) -> None:
        self.runtime.get_memory(0)[at : at + len(content)] = content

    def put_words(self, *words: tuple[int, int]) -> int:
        for at, value in words:
            self.put(at, value.to_bytes(4, "little"))
        return 0

    def number(self, at: int) -> int:
        return int.from_bytes(self.runtime.get_memory(0)[at : at + 4], "little")

    def pieces(self, vectors: int, count: int) -> Iterator[tuple[int, int]]:
        """Where each piece of a list of them begins, and its length."""
        for at in range(vectors, vectors + 8 * count, 8):
            yield self.number(at), self.number(at + 4)

    def args_sizes_get(self, count: int, size: int) -> int:
        return self.put_words((count, len(self.arguments)), (size, sum(map(len, self.arguments))))

    def args_get(self, pointers: int, at: int) -> int:
        for place, text in enumerate(self.arguments):
            self.put_words((pointers + 4 * place, at))
            self.put(at, text)
            at += len(text)
        return 0

    def environ_sizes_get(self, count: int, size: int) -> int:
        return self.put_words((count, 0), (size, 0))

    def environ_get(self, pointers: int, at: int) -> int:
        return 0

    def fd_write(self, file: int, vectors: int, count: int, written: int) -> int:
        before = len(self.stdout)
        for at, size in self.pieces(vectors, count):
            self.stdout.extend(self.runtime.get_memory(0)[at : at + size])
        return self.put_words((written, len(self.stdout) - before))

    def fd_read(self, file: int, vectors: int, count: int, found: int) -> int:
        total = 0
        for at, size in self.pieces(vectors, count):
            content, self.stdin = self.stdin[:size], self.stdin[size:]
            self.put(at, content)
            total += len(content)
        return self.put_words((found, total))

    def fd_fdstat_get(self, file: int, at: int) -> int:
        self.put(at, bytes([CHARACTER_DEVICE]) + bytes(23))
        return 0

    def fd_close(self, file: int) -> int:
        return 0

    def fd_seek(self, file: int, offset: int, whence: int, at: int) -> int:
        return NOT_SEEKABLE

    def proc_exit(self, code: int) -> None:
        raise ExitError(code)
