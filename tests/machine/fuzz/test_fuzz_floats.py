"""The marathon of floats does what it says: a round of each operation, and a wrong one is seen."""

from __future__ import annotations

import pytest

from curta import Machine
from tests.machine.fuzz import float_marathon


@pytest.mark.slow
@pytest.mark.parametrize("operation", float_marathon.OPERATIONS)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_round(machine: Machine, kind: str, operation: str) -> None:
    assert float_marathon.run_round(machine, f"{kind}.{operation}", (2, 0)) is None


@pytest.mark.slow
def test_a_wrong_row_is_seen(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(float_marathon.Native):
        def checksum(self, first: int, last: int) -> list[int]:
            low, high = super().checksum(first, last)
            return [low, high ^ (first <= 56 < last)]

    monkeypatch.setattr(float_marathon, "Native", Wrong)
    told = float_marathon.run_round(machine, "f64.add", (3, 0))
    assert told is not None
    assert told.count("0x") == 1
