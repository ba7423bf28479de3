"""`curta doctor`: what curta finds on this machine."""

from __future__ import annotations

import importlib.metadata
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

from curta.app.commands import EXTRAS
from curta.errors import CurtaError, UserError
from curta.terminal import AsJson

OPTIONAL = {
    "torch": "level plain, and PyTorch modules",
    "learn": "curta learn, on JAX",
    "delegate": "language models that calculate",
    "web": "curta serve",
    "dev": "curta verify beside wasmtime",
}
"""Extras, and what cannot be done without them."""


@dataclass(frozen=True)
class Options(AsJson):
    """Say what is there of all that curta can use, what is missing, and what to do about it. The
    exit code is 2 if something is missing without which curta run cannot run C.
    """


@dataclass(frozen=True)
class Check:
    """One thing that was looked for.

    name:   of it
    needed: whether curta run cannot do without it
    there:  whether it is there
    found:  what it is, or what is missing
    remedy: what to do, if it is not there
    """

    name: str
    needed: bool
    there: bool
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        state = "ok" if self.there else "MISSING" if self.needed else "missing"
        remedy = f": {self.remedy}" if self.remedy else ""
        return f"{state:8} {self.name:15} {self.found}{remedy}"


@dataclass(frozen=True)
class Report:
    """What was found.

    well:   whether all that is needed is there
    checks: one by one
    """

    well: bool
    checks: tuple[Check, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.checks))


def run(options: Options) -> int:
    """A line for each thing."""
    checks = tuple(looked_for())
    report = Report(all(one.there for one in checks if one.needed), checks)
    options.show(report)
    return 0 if report.well else 2


def looked_for() -> Iterator[Check]:
    """What is needed, then what makes more possible."""
    yield compiler()
    yield zig()
    yield cache()
    yield packaged()
    for extra, use in OPTIONAL.items():
        yield packages(extra, use)
    yield browser()


def compiler() -> Check:
    from curta.engine.toolchain import compiler_version, find_compiler

    try:
        found = find_compiler()
        return Check("C compiler", True, True, f"{found.description}, {compiler_version(found)}")
    except (CurtaError, OSError) as error:
        return Check("C compiler", True, False, str(error))


def zig() -> Check:
    from curta.engine.toolchain import find_zig

    found, remedy = find_zig(), "pip install ziglang"
    if found is None:
        return Check("zig", True, False, "C and C++ are not compiled to WebAssembly", remedy)
    return Check("zig", True, True, f"{importlib.metadata.version('ziglang')} ({found.folder})")


def cache() -> Check:
    """It can be written, or everything is made again every time."""
    from curta.settings import read_settings
    from curta.store import contents

    try:
        folder = read_settings().cache_directory
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            size = sum(one.bytes for one in contents())
        return Check("cache", True, True, f"{folder}, {size / 1e6:,.0f} MB")
    except (UserError, OSError) as error:
        return Check("cache", True, False, str(error), "set CURTA_CACHE to another folder")


def packaged() -> Check:
    """Weights are found if they were made by the sources that are here."""
    from curta.engine.native.source_cache import NATIVE
    from curta.machine.weights import weights_key
    from curta.store import PACKAGED

    key = weights_key()
    if (PACKAGED / NATIVE.name / f"{key}.xz").is_file():
        return Check("weights", False, True, "the machine's come with curta")
    if NATIVE.has(key):
        return Check("weights", False, True, "the machine's are in the cache")
    found = "the machine's are not those of these sources"
    return Check("weights", False, False, found, "the first run makes them, in a minute or two")


def packages(extra: str, use: str) -> Check:
    """Whether all of an extra can be imported; nothing is."""
    names = EXTRAS[extra]
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        remedy = f"pip install 'curta[{extra}]'"
        return Check(extra, False, False, f"{use} ({', '.join(missing)})", remedy)
    versions = (f"{name} {importlib.metadata.version(name)}" for name in names)
    return Check(extra, False, True, f"{use} ({', '.join(versions)})")


def browser() -> Check:
    import webbrowser

    try:
        return Check("browser", False, True, f"for reports ({webbrowser.get().name})")
    except webbrowser.Error:
        remedy = "open them on another machine; each is one file"
        return Check("browser", False, False, "reports are pages", remedy)
