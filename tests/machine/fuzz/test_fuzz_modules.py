"""Random modules in the transformer's weights: they do what they do in wasmtime, call after call.

A module has many functions, so that the prompt is read once for many calls. Results, traps with
their places, and what was recorded of the computation are compared, at the end all of memory and
the globals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
import wasmtime

from curta import Machine
from curta.machine.load import lower_program, prove_program
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import FunctionType, Module
from tests.machine.fuzz.liveness import RECORDS, livelier
from tests.machine.fuzz.probes import DIGEST, PAGE, STEP, Ask, first_difference, with_probes
from tests.machine.fuzz.rounds import seeds
from tests.machine.fuzz.weights_run import WeightsInstance
from tests.machine.lower.test_lower_random import without_host
from tests.machine.wasm.oracle import Outcome, Wasmtime, function_type, one_nan
from tests.machine.wasm.random_modules import CONSTANTS, draw_module
from tests.support.slow import all_but, draws

ENGINE = wasmtime.Engine()
MODULES, WILD = draws(4, 2), 0
"""All modules but one are calm: they jump and trap less, so that more is executed."""
FUNCTIONS, DENSE = 20, 120
CALLS_OF_EACH = 6
CALLS_BETWEEN_LOOKS = 20
REFUSED_AT_MOST = 1000
"""One function in so many; they branch again and again on the same globals."""


@seeds()
def test_modules_do_in_the_weights_what_they_do_in_wasmtime(machine: Machine, seed: int) -> None:
    tally = Counter[str]()
    for number in range(MODULES):
        check(machine, f"{seed} {number}", tally, calm=number != WILD)
    print(dict(tally))
    assert tally["results"] > MODULES * FUNCTIONS
    assert tally["records"] > MODULES * 1000
    assert tally["refused"] <= tally["functions"] / REFUSED_AT_MOST


WERE_REFUSED = ("0 2", "0 3", "7 13", "7 18", "7 21")
"""One function of each was: WebAssembly forks where the program does not, or a divisor is known on
one side only.
"""


@pytest.mark.parametrize("seed", all_but((), WERE_REFUSED))
def test_functions_of_hundreds_of_branches_are_proved(seed: str) -> None:
    verdicts = prove_program(encode(drawn(seed, DENSE, calm=True)))
    assert len(verdicts) > DENSE
    assert not [verdict for verdict in verdicts if verdict.refused]


def drawn(seed: str, functions: int, *, calm: bool) -> Module:
    random = Random(seed)
    module = without_host(draw_module(random.randrange, functions, calm=calm))
    return with_probes(livelier(module, random))


def check(machine: Machine, seed: str, tally: Counter[str], *, calm: bool = True) -> None:
    random = Random(seed)
    module = drawn(seed, FUNCTIONS, calm=calm)
    binary = encode(module)
    verdicts = prove_program(binary)
    tally["functions"] += len(verdicts)
    tally["refused"] += sum(verdict.refused is not None for verdict in verdicts)
    ours = WeightsInstance(machine, lower_program(binary, prove=False))
    theirs = Wasmtime(ENGINE, binary)
    types = {
        entry.name: function_type(module, entry.name)
        for entry in module.exports
        if entry.kind == "func"
    }

    def ask(name: str, arguments: Sequence[int]) -> Outcome:
        return theirs.invoke(types[name], name, arguments)

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
        if number % CALLS_BETWEEN_LOOKS == 0:
            tally["records"] += compare_records(ours.invoke, ask, (seed, number))
    difference = first_difference(ours.invoke, ask, len(module.globals))
    assert not difference, (seed, difference)
    tally["modules"] += 1
    tally["tokens"] += ours.generated


def compare_records(ours: Ask, theirs: Ask, where: object) -> int:
    """What was recorded since the last look; the number of records."""
    count, expected = ours(RECORDS, ()), theirs(RECORDS, ())
    assert count == expected, where
    assert isinstance(count, tuple)
    end = PAGE + -(-count[0] // STEP) * STEP
    assert ours(DIGEST, (PAGE, end)) == theirs(DIGEST, (PAGE, end)), where
    return count[0] // 8


def function_name(module: Module, index: int | None) -> str:
    """As curta speaks of a function that has no name but that of its export."""
    for entry in module.exports:
        if entry.kind == "func" and entry.index == index:
            return f"function ${entry.name}"
    return f"function {index}"
