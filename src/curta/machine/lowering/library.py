"""The runtime library as modules, and which of its functions stand for what.

- arithmetic: numeric instructions, by their names
- wasi: functions of WASI preview 1
- bulk: instructions on whole stretches of memory and tables
"""

from __future__ import annotations

from functools import cache

from curta.errors import LinkError
from curta.machine.lowering.code import Callee
from curta.machine.runtime.build import LIBRARIES
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import FunctionType, Module
from curta.machine.wasm.opcodes import ValueType

ARITHMETIC, WASI, BULK = "arithmetic", "wasi", "bulk"
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
"""i for 32 bits, I for 64. All give an error number, but proc_exit, which does not return."""
_LETTERS: dict[str, ValueType] = {"i": "i32", "I": "i64"}


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


@cache
def _wasi_types() -> dict[str, FunctionType]:
    types = {}
    for entry in _WASI_PARAMETERS.replace("\n", "|").split("|"):
        if entry.strip():
            name, *letters = entry.split()
            parameters = tuple(_LETTERS[letter] for letter in "".join(letters))
            types[name] = FunctionType(parameters, () if name == "proc_exit" else ("i32",))
    return types


def wasi_function(module: str, name: str, type_: FunctionType) -> Callee:
    """The function that stands for an import from WASI."""
    types = _wasi_types()
    if name not in types:
        raise LinkError(
            f'unknown import: "{module}" "{name}" is no function of WASI preview 1; '
            "compile for wasm32-wasi"
        )
    if type_ != types[name]:
        hint = "; compile for WASI preview 1" if module == "wasi_unstable" else ""
        raise LinkError(
            f'incompatible import type: "{module}" "{name}" is {types[name]}, not {type_}{hint}'
        )
    return WASI, exported_functions(WASI)[name]
