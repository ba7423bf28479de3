"""Flags of the C compiler: curta's own, and what those of users mean.

The stack is 1 MiB and comes first in memory (zig's default is 16 MiB), so that addresses stay below
2^24: larger numbers are more tokens. Of WebAssembly's later features the compiler may use those
that the machine has. Assertions stay on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from curta.errors import UserError

FEATURES = "mvp+sign_ext+mutable_globals+bulk_memory+nontrapping_fptoint+multivalue"
FLAGS = (
    "--target=wasm32-wasi",
    f"-mcpu={FEATURES}",
    "-O2",
    "-g0",
    "-UNDEBUG",  # zig defines it whenever it optimises
    "-fno-sanitize=undefined",  # zig adds checks of its own if it does not
    "-Wl,-z,stack-size=1048576",
    # Programs for other systems ask for clock(), raise(), mmap() and getpid(): stand-ins of the
    # C library, linked only where they are used.
    "-D_WASI_EMULATED_PROCESS_CLOCKS",
    "-D_WASI_EMULATED_SIGNAL",
    "-D_WASI_EMULATED_MMAN",
    "-D_WASI_EMULATED_GETPID",
)
CPLUSPLUS_FLAGS = ("-fno-exceptions",)
LIBRARIES = (
    "-lwasi-emulated-process-clocks",
    "-lwasi-emulated-signal",
    "-lwasi-emulated-mman",
    "-lwasi-emulated-getpid",
)
COMMON = (*FLAGS, *CPLUSPLUS_FLAGS, *LIBRARIES)
"""By what the libraries that come with curta are compiled."""
LIBRARY_FLAGS = ("-mexec-model=reactor", "-fvisibility=default", "-Wl,--export-dynamic")
"""For a program whose functions are called one by one: it needs no main, all are exported."""
HARMLESS = (
    r"-(?:O\w?|g\d?|w|W(?![lpa],)[\w=+-]+|[DU]\w.*|pedantic(?:-errors)?|std=[\w+]+|m[\w=.+-]+"
    r"|f(?!\S*(?:profile|module|plugin|pch))[\w-]+(?:=[\w-]+)?|l[\w.+-]+)"
)
"""Flags that read no files. Libraries of `-l` are the compiler's own if there is no `-L`."""
PLAIN = (
    r"-(?:[DUI].+|O[0-3]?|g[\w-]*|w|W(?![lpa],)[\w=+-]+|std=[\w+]+|pedantic(?:-errors)?|lm"
    r"|i(?:system|quote|dirafter).+|mexec-model=reactor|ffp-contract=\w+|ferror-limit=\d+"
    r"|f(?:no-)?(?:wrapv|strict-(?:aliasing|overflow)|[\w-]*math|math-errno|signed-zeros|builtin[\w-]*"
    r"|inline[\w-]*|[\w-]*loops|[\w-]*vectorize|common|rtti))"
)
"""Flags, in one word, that speak of the program alone, not of the libraries that it is linked with.
zig would compile its library once more for some of them (-fwrapv)."""
UNLINKED = ("-c", "-r", "-shared", "--shared")
SEARCHED = ("-isystem", "-iquote", "-idirafter", "-I")
PAIRED = (*SEARCHED, "-include", "-D", "-U")
"""Flags whose meaning is the next word, if they are words of their own."""


def are_plain(flags: Sequence[str]) -> bool:
    """Whether a program with these flags is linked with the same libraries as most."""
    words = iter(flags)
    return all(re.fullmatch(PLAIN, word) or (word in PAIRED and next(words, "")) for word in words)


def check(flags: Sequence[str]) -> None:
    """Refuse flags by which there is no program."""
    for flag in flags:
        if flag in UNLINKED:
            raise UserError(f"{flag} makes no program: curta links sources, all at once")


def searched(flags: Sequence[str]) -> list[str] | None:
    """The folders in which flags have headers looked for; None if there are other flags than those
    that are known to read no files, or to read files that the compiler lists.
    """
    folders, words = ["."], iter(flags)  # where a file of -include may be
    for word in words:
        option = next((option for option in SEARCHED if word.startswith(option)), None)
        if option is not None:
            folders.append(word.removeprefix(option) or next(words, ""))
        elif word in (*PAIRED, "-x"):
            next(words, "")
        elif not re.fullmatch(HARMLESS, word) and not os.path.isfile(word):
            return None
    return folders
