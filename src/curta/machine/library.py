"""The runtime library as modules, which of its functions stand for what, and what programs import.

- arithmetic: numeric instructions, by their names
- wasi: functions of WASI preview 1
- bulk: instructions on whole stretches of memory and tables

Native instructions are what the library imports from "curta". Modules of users may import those too
that leave the private memory alone, and operations that the machine is extended by.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from curta.errors import LinkError
from curta.machine.core_program import Callee
from curta.machine.parts.operations import Extension
from curta.machine.runtime.build import LIBRARIES
from curta.machine.wasm import ValueType
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import FunctionType, Import, Module

ARITHMETIC, WASI, BULK = "arithmetic", "wasi", "bulk"
NATIVES = "curta"
WASI_MODULES = ("wasi_snapshot_preview1", "wasi_unstable")
_BULK_NAMES = ("memory.", "table.")

_WASI_PARAMETERS = """
args_get ii | args_sizes_get ii | clock_res_get ii | clock_time_get iIi | environ_get ii
environ_sizes_get ii | fd_advise iIIi | fd_allocate iII | fd_close i | fd_datasync i
fd_fdstat_get ii | fd_fdstat_set_flags ii | fd_fdstat_set_rights iII | fd_filestat_get ii
fd_filestat_set_size iI | fd_filestat_set_times iIIi | fd_pread iiiIi | fd_prestat_dir_name iii
fd_prestat_get ii | fd_pwrite iiiIi | fd_read iiii | fd_readdir iiiIi | fd_renumber ii
fd_seek iIii | fd_sync i | fd_tell ii | fd_write iiii | path_create_directory iii
path_filestat_get iiiii | path_filestat_set_times iiiiIIi | path_link iiiiiii
path_open iiiiiIIii | path_readlink iiiiii | path_remove_directory iii | path_rename iiiiii
path_symlink iiiii | path_unlink_file iii | poll_oneoff iiii | proc_exit i | proc_raise i
random_get ii | sched_yield | sock_accept iii | sock_recv iiiiii | sock_send iiiii
sock_shutdown ii
"""
_NATIVES = """
mul_high ii | carry ii | add3 iii | sub3 iii | funnel_shl iii | funnel_shr iii | trap i | exit i
write ii | read | argument i | environ i
"""
"""i for 32 bits, I for 64."""
_LIBRARY_ONLY = ("load_state", "store_state", "peek8", "peek32", "poke8", "poke32")
"""Natives of the private memory, where tables of functions lie, too: not for modules of users."""
_GIVE_NOTHING = ("proc_exit", "trap", "exit", "write")
"""All others give 32 bits; those of WASI, an error number."""


@cache
def _types(text: str) -> dict[str, FunctionType]:
    """What a table of parameters says."""
    letters: dict[str, ValueType] = {"i": "i32", "I": "i64"}
    types = {}
    for entry in text.strip().replace("\n", "|").split("|"):
        name, *words = entry.split()
        parameters = tuple(letters[letter] for letter in "".join(words))
        types[name] = FunctionType(parameters, () if name in _GIVE_NOTHING else ("i32",))
    return types


@cache
def library_module(name: str) -> Module:
    """A library, decoded. It was valid when it was built; the tests say so."""
    (library,) = (library for library in LIBRARIES if library.name == name)
    return decode(library.path.read_bytes())


@cache
def exported_functions(name: str) -> dict[str, int]:
    """What a library exports, by name."""
    module = library_module(name)
    return {entry.name: entry.index for entry in module.exports if entry.kind == "func"}


def instruction_function(name: str) -> Callee:
    """The function that stands for an instruction."""
    library = BULK if name.startswith(_BULK_NAMES) else ARITHMETIC
    return library, exported_functions(library)[name]


def imported_function(
    module: Module, entry: Import, extensions: Sequence[Extension]
) -> Callee | str:
    """What an import is: a function of a library, or the name of a native instruction."""
    what, added = f'"{entry.module}" "{entry.name}"', [e.name for e in extensions]
    expected = _provided(entry.module, extensions).get(entry.name)
    if not isinstance(entry.description, int) or expected is None:
        raise LinkError(f"unknown import: {_unknown(what, entry)}")
    if (
        entry.module == NATIVES
        and entry.name in added
        and entry.name in (*_types(_NATIVES), *_LIBRARY_ONLY)
    ):
        raise LinkError(
            f"ambiguous import: {what} is an extension here, and a native instruction of any "
            "machine; give the extension another name"
        )
    type_ = module.types[entry.description]
    if type_ != expected:
        hint = "; compile for WASI preview 1" if entry.module == "wasi_unstable" else ""
        raise LinkError(f"incompatible import type: {what} is {expected}, not {type_}{hint}")
    return entry.name if entry.module == NATIVES else (WASI, exported_functions(WASI)[entry.name])


def _provided(module: str, extensions: Sequence[Extension]) -> dict[str, FunctionType]:
    """The functions that programs can import from a module."""
    if module in WASI_MODULES:
        return _types(_WASI_PARAMETERS)
    one: tuple[ValueType, ...] = ("i32",)
    added = {e.name: FunctionType(one * e.parameters, one) for e in extensions}
    return added | _types(_NATIVES) if module == NATIVES else {}


def _unknown(what: str, entry: Import) -> str:
    """Why there is no such thing to import, and what to do."""
    from curta.machine.extensions import built_in

    if not isinstance(entry.description, int):
        return f"{what} is a {entry.kind}, and nothing provides one; define it in the module"
    if entry.module in WASI_MODULES:
        return f"{what} is no function of WASI preview 1; compile for wasm32-wasi"
    if entry.module != NATIVES:
        return (
            f"nothing provides {what}; programs can import functions of WASI preview 1 "
            f"({WASI_MODULES[0]}), and host functions are not supported"
        )
    name = entry.name
    if name in built_in():
        return (
            f"{what} is an extension, which this machine does not have; build one that does: "
            f"Machine(extensions=[{name.upper()}]), with {name.upper()} from {built_in()[name]} "
            f"(--extension {name})"
        )
    return (
        f"{what} is no native instruction; there are {', '.join(sorted(_types(_NATIVES)))}; "
        f"machines can have others as extensions (--extension): {', '.join(built_in())}"
    )
