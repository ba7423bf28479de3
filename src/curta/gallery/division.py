"""Division of two natural numbers of any length, with what is left over: "17 / 5" is "3 r 2".

Long division by subtracting. There is a rest, at first 0. In front of each digit of the quotient,
the dividend's next digit is put behind the rest; then the divisor is taken away as often as it
goes, and how often that was is the digit. A subtraction is a row of tokens, one for each column of
the divisor and one more, from the right, and then a verdict:

    column j    names the rest's digit o and the difference d = o - b_j - borrow, as <o d>; it
                borrows if d < 0, and the new digit is d mod 10; all in the embedding
    "fits"      nothing was left to borrow: what is new is the rest from here on
    [0] ... [9] it did not fit. So many times it did before: that is the quotient's digit

A row finds its rest in the row before, always the same distance back: the new digits behind
"fits", the old ones behind a digit, one column to the left because a digit of the dividend comes
behind them. The last row of all fails, so its old digits are what is left over. Then "~", and the
quotient's digits again without zeros before the first one, "r", and the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from curta.compiler import Graph, Node, at_least, at_most, both, equals, maximum, minimum
from curta.errors import TokenError
from curta.gallery.addition import operand_digit, sizes
from curta.gallery.idioms import DIGITS, fetch, has_been, latest, since, table
from curta.gallery.program import Case, GalleryProgram, joined_after, natural, parts

EXAMPLE = "17 / 5"
LONGEST = 2**20
LEAST = -10
"""The smallest difference in a column: 0 - 9 - 1."""
COLUMNS = tuple(f"<{old} {difference}>" for old in range(10) for difference in range(LEAST, 10))
QUOTIENT = tuple(f"[{digit}]" for digit in range(10))


def build() -> Graph:
    graph = Graph([*DIGITS, "/", "=", *COLUMNS, "fits", *QUOTIENT, "~", "r", "."])
    answering = has_been(graph.is_token("~"))
    end = latest(graph.is_token("="), graph.position).named("end")
    slash = latest(graph.is_token("/"), graph.position).named("slash")
    width = end - slash  # columns of a row: those of the divisor, and one
    done = graph.running_sum(graph.is_token(*QUOTIENT)).named("digits done")
    say_rows(graph, answering, slash, width, done)
    say_result(graph, answering, done, width)
    return graph


def say_rows(graph: Graph, answering: Node, slash: Node, width: Node, done: Node) -> None:
    """All rows, and "~" behind the last one."""
    verdicts = graph.is_token("fits", *QUOTIENT)
    column = since(graph.is_token("=", "fits", *QUOTIENT)).named("column")
    borrow = graph.feature("borrow", {c: int(d < 0) for c, (_, d) in meanings().items()})
    in_row = at_most(column, width - 1)
    left = at_most(done, slash - 1)
    old = rest_digit(graph, column, width, slash, done)
    b = operand_digit(slash + width, width - 1, column)
    working = 1 - answering
    graph.emit(COLUMNS, 20 * old + (old - b - borrow - LEAST), when=both(working, left, in_row))
    fitted = graph.running_sum(graph.is_token("fits"))
    times = fitted - latest(graph.is_token(*QUOTIENT), fitted)
    judged = both(working, 1 - in_row)
    graph.emit_token("fits", when=both(judged, 1 - borrow))
    graph.emit(QUOTIENT, times, when=both(judged, borrow))
    graph.emit_token("~", when=both(working, verdicts, 1 - left))


def meanings() -> dict[str, tuple[int, int]]:
    """The rest's digit and the difference that a column names."""
    pairs = [(old, difference) for old in range(10) for difference in range(LEAST, 10)]
    return dict(zip(COLUMNS, pairs, strict=True))


def rest_digit(graph: Graph, column: Node, width: Node, slash: Node, done: Node) -> Node:
    """The digit of the rest in a column of the row that is being said."""
    fits = latest(graph.is_token("=", "fits", *QUOTIENT), graph.is_token("fits"))
    above = graph.position - width
    new = fetch(above, graph.feature("new", {c: d % 10 for c, (_, d) in meanings().items()}))
    old = fetch(above - 1, rest_feature(graph))
    following = fetch(done, table(graph, "digit", DIGITS))
    first = equals(column, 0)
    carried = both(1 - fits, 1 - first, at_least(done, 1))
    return (
        graph.gate(fits, new)
        + graph.gate(both(1 - fits, first), following)
        + graph.gate(carried, old)
    )


def say_result(graph: Graph, answering: Node, done: Node, width: Node) -> None:
    """The quotient's digits from the first one that is not zero, "r", the rest's in the same way.

    The last digit is said even if it is zero.
    """
    of_rest = has_been(graph.is_token("r"))
    of_quotient = both(answering, 1 - of_rest)
    quotient, quotient_left = quotient_digit(graph, done)
    rest, rest_left = final_rest_digit(graph, width)
    quotient_part, rest_part = both(of_quotient, quotient_left), both(of_rest, rest_left)
    digit = graph.gate(quotient_part, quotient) + graph.gate(rest_part, rest)
    graph.emit(DIGITS, digit, when=quotient_part + rest_part)
    graph.emit_token("r", when=both(of_quotient, 1 - quotient_left))
    graph.emit_token(".", when=both(of_rest, 1 - rest_left))
    graph.stop_after(".")


def quotient_digit(graph: Graph, done: Node) -> tuple[Node, Node]:
    """The digit to be said, filed under its number; and whether there is one."""
    is_digit = graph.is_token(*QUOTIENT)
    begun = has_been(graph.is_token(*QUOTIENT[1:]))
    zeros = graph.running_sum(both(graph.is_token(QUOTIENT[0]), 1 - begun))
    wanted = minimum(zeros + 1, done) + since(graph.is_token("~"))
    digit = graph.lookup(
        query=graph.assume(wanted, 0, LONGEST),
        key=graph.assume(graph.gate(is_digit, done), 0, LONGEST),
        value=table(graph, "quotient", QUOTIENT),
        missing=0,
    )
    return digit, at_most(wanted, done)


def final_rest_digit(graph: Graph, width: Node) -> tuple[Node, Node]:
    """The old digit of the last row that is to be said, and whether there is one."""
    old = rest_feature(graph)
    begin = latest(graph.is_token("~"), graph.position) - 1 - width
    top = maximum(latest(at_least(old, 1), graph.position), begin)
    place = top - since(graph.is_token("r"))
    return fetch(place, old), at_least(place, begin)


def rest_feature(graph: Graph) -> Node:
    """The rest's digit that a column names."""
    return graph.feature("old", {c: old for c, (old, _) in meanings().items()})


def encode(text: str) -> list[str]:
    first, second = parts(text, "/", 2, EXAMPLE)
    divisor = natural(second, EXAMPLE)
    if divisor == "0":
        raise TokenError(f"{text!r}: the divisor has to be at least 1")
    return [*natural(first, EXAMPLE), "/", *divisor, "="]


def decode(tokens: Iterable[str]) -> str:
    return joined_after("~")(tokens).replace("r", " r ")


def reference(text: str) -> str:
    dividend, divisor = map(int, text.split("/"))
    quotient, rest = divmod(dividend, divisor)
    return f"{quotient} r {rest}"


def random_input(random: Random) -> str:
    a, b = (random.choice([10**n, random.randrange(10**n)]) for n in sizes(random))
    return f"{random.choice([a, a * b])} / {b or 1}"


PROGRAM = GalleryProgram(
    name="division",
    summary="the quotient of two natural numbers of any length, and what is left over",
    build=build,
    encode=encode,
    decode=decode,
    cases=(
        Case("17 / 5", "3 r 2"),
        Case("0 / 7", "0 r 0"),
        Case("6 / 7", "0 r 6"),
        Case("1000 / 8", "125 r 0"),
        Case("123456789012345678901234567890 / 987654321", "124999998873437499901 r 574845669"),
        Case("99 / 100", "0 r 99"),
        Case("10 / 1", "10 r 0"),
    ),
    reference=reference,
    random_input=random_input,
)
