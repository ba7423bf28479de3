"""A trap of an access says which address it wanted, and of how many there are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta import Machine, Trap
from curta.machine.wasm.text import assemble

ACCESSES = {
    "i32.load8_u": (1, 0),
    "i32.load16_s": (2, 6),
    "i32.load": (4, 70_000),
    "i64.load": (8, 3),
    "i32.store8": (1, 65_536),
    "i64.store": (8, 0),
}
"""How many bytes they move, and the offset of the one that is tested."""
BYTES = 2 << 16


def function(name: str, offset: int) -> str:
    value = f"({name[:3]}.const 5)" if "store" in name else ""
    access = f"({name} offset={offset} (i32.add (local.get 0) (local.get 1)) {value})"
    told = access if value else f"(drop {access})"
    return f'(func (export "{name}") (param i32 i32) {told})'


MODULE = assemble(
    f"(module (memory 2) {' '.join(function(n, offset) for n, (_, offset) in ACCESSES.items())})"
)
INSTANCES = [Machine(level).instantiate(MODULE) for level in ("reference", "native")]
edges = st.integers(0, 2**32 - 1) | st.integers(BYTES - 9, BYTES + 9) | st.integers(-9, 9)


@given(st.sampled_from(sorted(ACCESSES)), edges, edges)
def test_an_access_beyond_memory(name: str, one: int, other: int) -> None:
    size, offset = ACCESSES[name]
    address = (one + other) % 2**32 + offset
    for instance in INSTANCES:
        if address + size <= BYTES:
            instance.invoke(name, one, other)
            continue
        with pytest.raises(Trap, match="out of bounds memory access") as trap:
            instance.invoke(name, one, other)
        found = re.search(r"at address (-?[\d,]+)(?: of 131,072|: below 0)", trap.value.where)
        assert found is not None
        told = int(found[1].replace(",", ""))
        wanted = [address, address + 4][: max(size // 4, 1)]  # a word of the two is beyond memory
        assert told in [a - 2**32 if 2**31 <= a < 2**32 else a for a in wanted]


def test_other_traps_have_no_address() -> None:
    instance = Machine("reference").instantiate(
        assemble('(module (func (export "f") (drop (i32.div_u (i32.const 1) (i32.const 0)))))')
    )
    with pytest.raises(Trap) as trap:
        instance.invoke("f")
    assert "address" not in trap.value.where
