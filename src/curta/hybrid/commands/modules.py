"""`curta hybrid modules`: what a language model can be given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """List the modules that curta ships: --module NAME takes all functions of one, --module
    NAME:FUNCTION a single one. Gallery programs (curta gallery) are modules, too, as gallery:NAME.
    """


def run(options: Options) -> int:
    """Files, when to use them, and their functions."""
    from curta.hybrid.modules import modules_of, registry, use_of

    for name, path in registry().items():
        print(f"{name}\n    {use_of(path)}")
        for module in modules_of([name]):
            arguments = ", ".join(module.tool.parameters["properties"])
            print(f"    {name}:{module.name}({arguments})")
    return 0
