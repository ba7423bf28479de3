"""Core code of one function before it is placed: steps, labels, operands.

An *operand* is one number: a register if it is not negative, else ~k for the constant k. Numbers
of 64 bits are two operands, the low word first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Callee = tuple[str, int]
"""A function: the module that it is from (USER or the name of a library), and its index there."""
USER = "user"

NO_REGISTER = -1
NO_LABEL = -1
LABEL = "label"
"""The name of a step that does nothing; jumps lead to it."""
ZERO_OPERAND = ~0
ENDS = frozenset({"jump", "jump_table", "return", "exit", "trap"})
"""After these the next step is not reached."""


class Step:
    """A core instruction, its registers or NO_REGISTER. Without register b the immediate counts.

    `label` is where a jump leads, or which one is here. `callee` is what a call leads to.
    A call has `slot`, the first register of the callee's frame; `takes` and `gives` are words of
    its arguments and results, from there on. A return gives registers 0 to `gives`; a jump with a
    callee leaves for it with registers 0 to `takes`.
    `ways` are the labels of a jump_table.
    """

    __slots__ = (
        *("name", "a", "b", "c", "d", "immediate", "label", "place"),
        *("callee", "slot", "takes", "gives", "ways"),
    )

    def __init__(
        self,
        name: str,
        d: int = NO_REGISTER,
        a: int = NO_REGISTER,
        b: int = NO_REGISTER,
        c: int = NO_REGISTER,
        immediate: int = 0,
        label: int = NO_LABEL,
        place: int = -1,
    ) -> None:
        self.name = name
        self.d = d
        self.a = a
        self.b = b
        self.c = c
        self.immediate = immediate
        self.label = label
        self.place = place
        self.callee: Callee | None = None
        self.slot = 0
        self.takes = 0
        self.gives = 0
        self.ways: tuple[int, ...] = ()

    def clone(self) -> Step:
        """The same step once more."""
        twin = Step(
            self.name, self.d, self.a, self.b, self.c, self.immediate, self.label, self.place
        )
        twin.callee, twin.ways = self.callee, self.ways
        twin.slot, twin.takes, twin.gives = self.slot, self.takes, self.gives
        return twin

    def __repr__(self) -> str:
        fields = [f"{name}={getattr(self, name)}" for name in self.__slots__[1:]]
        return f"{self.name}({', '.join(fields)})"


@dataclass(slots=True)
class FunctionCode:
    """What a function was lowered to. `parameters` and `results` are counted in words."""

    callee: Callee
    name: str
    parameters: int
    results: int
    steps: list[Step]
    first_local: int
    """The first register that a caller does not set."""
    first_cell: int
    """The first register of the operand stack."""
    frame: int
    """How many registers it uses."""
    labels: int
    """How many labels there are."""
    needs: set[Callee] = field(default_factory=set)
    """What it calls."""


def words(types: tuple[str, ...]) -> int:
    """How many registers values of these types take."""
    return sum(2 if type_[1:] == "64" else 1 for type_ in types)


def return_register(parameters: int, results: int) -> int:
    """Where in its frame a function finds out where to return to."""
    return max(parameters, results)
