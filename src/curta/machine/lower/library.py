"""The runtime library as modules, which of its functions stand for what, and what programs import.

- arithmetic: numeric instructions, by their names
- wasi: functions of WASI preview 1
- bulk: instructions on whole stretches of memory and tables

Native instructions are what the library imports from "curta". Modules of users may import them too,
and operations that the machine is extended by.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from curta.errors import LinkError
from curta.machine.lower.code import Callee
from curta.machine.parts.operations import Extension
from curta.machine.runtime.build import LIBRARIES
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import FunctionType, Module
from curta.machine.wasm.opcodes import ValueType

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
_NATIVE_PARAMETERS = """
mul_high ii | carry ii | add3 iii | sub3 iii | funnel_shl iii | funnel_shr iii | trap i | exit i
write ii | read | argument i | environ i | load_state i | store_state ii | peek8 i | peek32 i
poke8 ii | poke32 ii
"""
"""i for 32 bits, I for 64."""
_GIVE_NOTHING = ("proc_exit", "trap", "exit", "write", "store_state", "poke8", "poke32")
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


def wasi_function(module: str, name: str, type_: FunctionType) -> Callee:
    """The function that stands for an import from WASI."""
    expected = _types(_WASI_PARAMETERS).get(name)
    if expected is None:
        raise LinkError(
            f'unknown import: "{module}" "{name}" is no function of WASI preview 1; '
            "compile for wasm32-wasi"
        )
    hint = "; compile for WASI preview 1" if module == "wasi_unstable" else ""
    _require(module, name, type_, expected, hint)
    return WASI, exported_functions(WASI)[name]


def check_native(name: str, type_: FunctionType, extensions: Sequence[Extension]) -> None:
    """Refuse what is not a native instruction, or not used as one."""
    natives = _types(_NATIVE_PARAMETERS)
    one: tuple[ValueType, ...] = ("i32",)
    added = {
        extension.name: FunctionType(one * extension.parameters, one) for extension in extensions
    }
    if name in added and name in natives:
        raise LinkError(
            f'ambiguous import: "curta" "{name}" is an extension here, and what programs of any '
            "machine may import; give the extension another name"
        )
    expected = added.get(name) or natives.get(name)
    if expected is None:
        raise LinkError(f'unknown import: "curta" "{name}" {_unknown(name, sorted(natives))}')
    _require(NATIVES, name, type_, expected)


def _require(
    module: str, name: str, type_: FunctionType, expected: FunctionType, hint: str = ""
) -> None:
    if type_ != expected:
        raise LinkError(
            f'incompatible import type: "{module}" "{name}" is {expected}, not {type_}{hint}'
        )


def _unknown(name: str, natives: list[str]) -> str:
    """Why there is no such instruction, and what to do."""
    from curta.machine.extensions import built_in

    if name in built_in():
        return (
            f"is an extension, which this machine does not have; build one that does: "
            f"Machine(extensions=[{name.upper()}]), with {name.upper()} from {built_in()[name]} "
            f"(--extension {name})"
        )
    return (
        f"is no native instruction; there are {', '.join(natives)}; machines can have "
        f"others as extensions (--extension), of which there are {', '.join(built_in())}"
    )
