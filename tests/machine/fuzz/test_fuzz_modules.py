"""Random modules in the transformer's weights: they do what they do in wasmtime, call after call.

A module has many functions, so that the prompt is read once for many calls. Results, traps with
their places, and now and then all of memory and the globals are compared.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import wasmtime
from oracle import Wasmtime, function_type, one_nan
from probes import first_difference, with_probes
from random_modules import CONSTANTS, draw_module
from rounds import seeds
from test_lower_random import without_host
from weights_run import WeightsInstance

from curta import Machine
from curta.machine.load import lower_program
from curta.machine.wasm import FunctionType, Module, encode

ENGINE = wasmtime.Engine()
MODULES = 4
FUNCTIONS = 24
CALLS_OF_EACH = 12


@seeds()
def test_modules_do_in_the_weights_what_they_do_in_wasmtime(machine: Machine, seed: int) -> None:
    tally = Counter[str]()
    for number in range(MODULES):
        check(machine, f"{seed} {number}", tally)
    print(dict(tally))
    assert tally["results"] > MODULES * FUNCTIONS


def check(machine: Machine, seed: str, tally: Counter[str]) -> None:
    random = Random(seed)
    module = with_probes(without_host(draw_module(random.randrange, FUNCTIONS)))
    binary = encode(module)
    ours = WeightsInstance(machine, lower_program(binary))
    theirs = Wasmtime(ENGINE, binary)
    types = {
        entry.name: function_type(module, entry.name)
        for entry in module.exports
        if entry.kind == "func"
    }
    names = [name for name in types if name.startswith("f")] * CALLS_OF_EACH
    random.shuffle(names)
    for number, name in enumerate(names, 1):
        type_ = types[name]
        arguments = [random.choice(CONSTANTS[kind]) for kind in type_.parameters]
        ours.invoke("refuel")
        theirs.invoke(FunctionType(), "refuel", ())
        got = one_nan(type_, ours.invoke(name, arguments))
        expected = one_nan(type_, theirs.invoke(type_, name, arguments))
        where = (seed, number, name, arguments)
        assert got == expected, where
        if isinstance(got, str):
            assert ours.where == f"in {function_name(module, theirs.place)}", where
        tally[got if isinstance(got, str) else "results"] += 1
    difference = first_difference(
        ours.invoke,
        lambda name, arguments: theirs.invoke(types[name], name, arguments),
        len(module.globals),
    )
    assert not difference, (seed, difference)
    tally["modules"] += 1
    tally["tokens"] += ours.generated


def function_name(module: Module, index: int | None) -> str:
    """As curta speaks of a function that has no name but that of its export."""
    for entry in module.exports:
        if entry.kind == "func" and entry.index == index:
            return f"function ${entry.name}"
    return f"function {index}"
