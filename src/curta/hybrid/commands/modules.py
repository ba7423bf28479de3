"""`curta hybrid modules`: what a language model can be given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """List the modules that curta ships: --module NAME takes all functions of one, --module
    NAME:FUNCTION a single one. Gallery programs (curta gallery) are modules, too, as gallery:NAME.
    """


def run(options: Options) -> int:
    """Files, when to use them, and their functions, of which none is compiled."""
    from curta.delegate.tools.signature import Function, functions_of
    from curta.delegate.tools.words import source_at
    from curta.hybrid.modules import registry, use_of

    for name, path in registry().items():
        print(f"{name}\n    {use_of(path)}")
        for function in functions_of(source_at(path)).values():
            if isinstance(function, Function):
                print(f"    {name}:{function.name}({', '.join(function.schema['properties'])})")
    return 0
