"""The operation that shows how a machine grows."""

from __future__ import annotations

import pytest

from curta.machine.extensions.byte_swap import BYTE_SWAP
from curta.machine.instructions import Instruction
from tests.support.conversation import assert_same, program_of, spoken


@pytest.mark.slow
def test_weights_with_the_operation_do_it_and_all_others() -> None:
    words = [0, 1, 0x12345678, 0xFF000080, 2**32 - 1]
    program = []
    for word in words:
        program.append(Instruction("copy", d=1, immediate=word))
        program.append(Instruction("byte_swap", a=1, d=2))
        program.append(Instruction("rem_u", a=2, immediate=1000, d=3))
    again = program_of(*program, Instruction("exit"))
    assert_same(again, extensions=(BYTE_SWAP,))
    one = spoken(again, extensions=(BYTE_SWAP,))[4:8]
    assert one == ["L1", "M1", "M0", "L0"]  # 2**24
