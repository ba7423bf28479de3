"""The default machine's weights, their C, and zig's libraries: files that come with curta.

`python -m curta.machine.package` makes them anew; `--check` only says whether they are what the
sources give. A file's name is the key under which the cache would have it (`store.py`): where the
sources were changed, nobody finds it, and what it holds is made when it is needed.
"""

from __future__ import annotations

import argparse
import lzma
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from curta.compiler import compile
from curta.engine.model_cache import MODELS, NATIVE
from curta.engine.native.emit import model_to_c
from curta.machine.computer import build
from curta.machine.flags import COMMON
from curta.machine.instructions import MOST_TOKENS
from curta.machine.libc import archives
from curta.machine.toolchain import zig
from curta.machine.weights import native_key, weights_key, with_facts
from curta.store import PACKAGED


def package() -> Iterator[tuple[Path, bytes]]:
    """The files, the libraries first, made from sources: nothing is taken from a cache."""
    for part, packed in archives.made(zig(), COMMON).items():
        yield PACKAGED / archives.ARCHIVES.name / f"{archives.key(part, COMMON)}.xz", packed
    model = compile(build(()), MOST_TOKENS)
    yield PACKAGED / MODELS.name / f"{weights_key()}.xz", model.to_bytes()
    yield PACKAGED / NATIVE.name / f"{native_key()}.xz", with_facts(model, model_to_c(model))


def differences(files: dict[Path, bytes]) -> list[str]:
    """What is missing, or not as it should be, or too much."""
    there = {path for path in PACKAGED.glob("*/*") if path.suffix == ".xz"}
    wrong = [f"{path.name} is missing" for path in files.keys() - there]
    wrong += [f"{path.name} is not made any more" for path in there - files.keys()]
    for path in there & files.keys():
        if lzma.decompress(path.read_bytes()) != files[path]:
            wrong.append(f"{path.name} has other bytes")
    return wrong


def write(files: dict[Path, bytes]) -> None:
    for path in PACKAGED.glob("*/*"):
        path.unlink()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(content, preset=9))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m curta.machine.package", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    files = dict(package())
    wrong = differences(files)
    if wrong and options.check:
        print("\n".join(["python -m curta.machine.package makes them again:", *wrong]))
        return 1
    if wrong:
        write(files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
