"""Every numeric instruction in the transformer's weights, on edges and random operands.

Operands and results are bit patterns, on wasmtime's side in integers, so that Python touches no
NaN. Both pass on the payloads of NaNs as x86-64 does.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import wasmtime

from curta import Machine
from curta.machine.load import lower_program
from curta.machine.wasm import ValueType
from curta.machine.wasm.module import FunctionType
from curta.machine.wasm.opcodes import OPCODES
from curta.machine.wasm.text import assemble
from tests.machine.fuzz.rounds import seeds
from tests.machine.fuzz.weights_run import WeightsInstance
from tests.machine.lower.test_lower_numeric import NAMES, carrier, operand, result
from tests.machine.runtime.runtime_operands import edges
from tests.machine.wasm.oracle import Outcome, Wasmtime

ENGINE = wasmtime.Engine()
CALLS_OF_EACH = 24


@seeds()
def test_every_numeric_instruction_gives_the_same_bits(machine: Machine, seed: int) -> None:
    random, tally = Random(seed), Counter[str]()
    ours = WeightsInstance(machine, lower_program(assemble(module_text())))
    theirs = Wasmtime(ENGINE, assemble(module_text(in_integers=True)))
    for name in NAMES:
        parameters, results = signature(name)
        carriers = FunctionType(*(tuple(map(carrier, kinds)) for kinds in (parameters, results)))
        for _ in range(CALLS_OF_EACH):
            operands = [draw(kind, random) for kind in parameters]
            got: Outcome = ours.invoke(name, operands)
            expected = theirs.invoke(carriers, name, operands)
            assert got == expected, (seed, name, [hex(one) for one in operands])
            tally[got if isinstance(got, str) else "results"] += 1
    print(len(NAMES), "instructions", dict(tally), ours.generated, "tokens")
    assert tally["results"] > len(NAMES) * CALLS_OF_EACH * 0.9


def signature(name: str) -> tuple[tuple[ValueType, ...], tuple[ValueType, ...]]:
    found = OPCODES[name].signature
    assert found is not None
    return found.parameters, found.results


def module_text(*, in_integers: bool = False) -> str:
    """Each instruction as a function of its own."""
    functions = []
    for name in NAMES:
        parameters, results = signature(name)
        places = [f"(local.get {place})" for place in range(len(parameters))]
        if in_integers:
            operands = map(operand, parameters, places)
            body = result(results[0], f"({name} {' '.join(operands)})")
            types = [" ".join(map(carrier, kinds)) for kinds in (parameters, results)]
        else:
            body = f"({name} {' '.join(places)})"
            types = [" ".join(kinds) for kinds in (parameters, results)]
        head = f'(func (export "{name}") (param {types[0]}) (result {types[1]})'
        functions.append(f"{head} {body})")
    return "(module\n" + "\n".join(functions) + ")"


def draw(kind: ValueType, random: Random) -> int:
    """An edge of the format, or any pattern of any length."""
    if random.random() < 0.7:
        return int(random.choice(EDGES[kind]))
    return random.getrandbits(1 + random.randrange(int(kind[1:])))


EDGES = {kind: edges(kind) for kind in ("i32", "i64", "f32", "f64")}
