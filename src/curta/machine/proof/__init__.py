"""A proof for every program that what the prompt says does what its WebAssembly does.

`prove` reads the program from the tokens of its prompt and executes both, function by function, on
terms. It knows nothing of how the lowering works: what that claims are hints. docs/proofs.md says
what a proof rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from curta.errors import ProofError, TokenError
from curta.machine.core_program import Claim, Claims, CoreProgram, WasmLocation
from curta.machine.ids import Ids
from curta.machine.library import imported_function
from curta.machine.parts.operations import Extension, Operations
from curta.machine.prompt import decode_prompt
from curta.machine.proof.explain import not_proved
from curta.machine.proof.lemma_store import LemmaStore
from curta.machine.proof.modules import Refused
from curta.machine.proof.whole_program import ProgramProof, Verdict
from curta.machine.wasm.module import Module
from curta.machine.wasm.validate import validate

__all__ = ["LemmaStore", "Verdict", "not_proved", "prove"]


def prove(
    module: Module,
    program: CoreProgram,
    prompt: Ids,
    most_pages: int,
    extensions: Sequence[Extension] = (),
    lemma_store: LemmaStore | None = None,
) -> tuple[Verdict, ...]:
    """A verdict for each function; ProofError for what is wrong with the whole program.

    Of `program` only claims, places and entries are taken; what it does is read from the prompt.
    The module has to be valid, and what it imports has to be there.
    """
    validate(module)
    for entry in module.imports:
        imported_function(module, entry, extensions)
    try:
        claims = Claims(**{name: _plain(getattr(program.claims, name)) for name in _CLAIMS})
        entries = {
            name: replace(one, number=_plain(one.number)) for name, one in program.entries.items()
        }
        places = [_plain(origin.asked) for origin in program.origins]
        decoded = decode_prompt(prompt, Operations(extensions).names)
    except (TokenError, Refused) as error:
        raise ProofError(not_proved("the program", str(error))) from None
    taken = {extension.name: extension.parameters for extension in extensions}
    proof = ProgramProof(decoded, entries, claims, places, module, most_pages, taken, lemma_store)
    return proof.prove()


_CLAIMS = [field.name for field in fields(Claims)]


def _plain(value: Any) -> Any:
    """The same hint, of nothing but plain numbers, words, tuples and mappings, which say the same
    however often they are asked.
    """
    kind = type(value)
    if value is None or kind is int or kind is str:
        return value
    if kind is tuple:
        return tuple(map(_plain, value))
    if kind is WasmLocation or kind is Claim:
        return kind(*map(_plain, value))
    if isinstance(value, Mapping):
        return {_plain(key): _plain(content) for key, content in value.items()}
    raise Refused(f"a claim has {kind.__name__} in it")
