"""Every ordered pair of instructions, with every kind of operand: lowered as wasmtime has it.

The default suite goes through a sample of the pairs with all kinds of operands; `-m slow` through
all of them. `-s` shows how much was covered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest

from curta.machine.wasm.module import Module
from tests.machine.lower.differences import Tally, compare
from tests.machine.wasm.chain_draw import chain_module, draw_arguments
from tests.machine.wasm.chain_meter import Meter
from tests.machine.wasm.chain_nodes import Node, nodes_of, random_node
from tests.machine.wasm.chain_table import Pair, pairs
from tests.support.slow import draws

CALLS = 6
PACK = 96
"""Functions in a module: the functions of the library are lowered once for each module."""
SAMPLE = draws(40, 16)
BLOCKS = 50
MOST_TURNS = 8


def modules_for(wanted: Sequence[Pair], random: Random, meter: Meter) -> Iterator[Module]:
    """Modules until everything is covered that there is to cover of these pairs."""
    left: Sequence[Pair] = wanted
    for turn in range(MOST_TURNS):
        nodes = [node for pair in left for node in nodes_of(pair, random, 1 if turn else 2)]
        for module in packed(nodes, random):
            meter.read(module)
            yield module
        left = [pair for pair in left if meter.missing([pair])]


def packed(nodes: Sequence[Node], random: Random, size: int = PACK) -> Iterator[Module]:
    for first in range(0, len(nodes), size):
        yield chain_module(nodes[first : first + size], random)


def check(modules: Iterator[Module], random: Random) -> Tally:
    tally = Tally()
    for module in modules:
        compare(module, draw_arguments, random, CALLS, tally)
    print(tally)
    assert tally.nans <= tally.calls / 2000
    return tally


def test_pairs_do_what_wasmtime_does() -> None:
    random, meter = Random("sample"), Meter()
    sample = random.sample(pairs(), SAMPLE)
    tally = check(modules_for(sample, random, meter), random)
    covered, items = meter.share(sample)
    print(f"{covered:,} of {items:,} items of {len(sample)} pairs\n{meter.report()}")
    assert not meter.missing(sample)
    assert not tally.differences, "\n".join(map(str, tally.differences))


@pytest.mark.slow
def test_longer_chains_do_what_wasmtime_does() -> None:
    random = Random("longer")
    nodes = [random_node(random, 3 + number % 3) for number in range(400)]
    tally = check(packed(nodes, random), random)
    assert not tally.differences, "\n".join(map(str, tally.differences))


def test_the_meter_counts_what_is_there() -> None:
    """More pairs, drawn and read; nothing is run."""
    random, meter = Random("meter"), Meter()
    table = pairs()[::80]
    for _ in modules_for(table, random, meter):
        pass
    print(meter.report())
    assert meter.share(table)[0] == meter.share(table)[1] > 4_500


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_all_pairs_do_what_wasmtime_does(block: int) -> None:
    random, meter = Random(block), Meter()
    wanted = pairs()[block::BLOCKS]
    tally = check(modules_for(wanted, random, meter), random)
    assert not meter.missing(wanted)
    assert not tally.differences, "\n".join(map(str, tally.differences))
