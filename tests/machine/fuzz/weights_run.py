"""An instance in the transformer's weights, spoken of in the terms of the wasmtime oracle."""

from __future__ import annotations

from collections.abc import Sequence

from curta import Machine
from curta.errors import LimitError, Trap
from curta.machine.conversation import ConversationLimits
from curta.machine.host import Host
from curta.machine.loaded import LoadedProgram
from tests.machine.wasm.oracle import FUEL, SAME_TRAP, Outcome

MOST_TOKENS = 8_000_000


class WeightsInstance:
    """Bit patterns in; bit patterns out, or the reason of a trap."""

    def __init__(
        self,
        machine: Machine,
        program: LoadedProgram,
        max_tokens: int = MOST_TOKENS,
        *,
        keep_trace: bool = True,
    ) -> None:
        limits = ConversationLimits(max_tokens, keep_trace=keep_trace)
        self.instance = machine.start(program, Host(), limits)
        self.where = ""
        """The place of the last trap."""

    def invoke(self, name: str, arguments: Sequence[int] = ()) -> Outcome:
        try:
            return tuple(self.instance.invoke_bits(name, arguments))
        except Trap as trap:
            self.where = trap.where
            return SAME_TRAP.get(trap.reason, trap.reason)
        except LimitError:
            return FUEL

    @property
    def generated(self) -> int:
        """Tokens that were said since the program was."""
        return self.instance.figures.generated
