"""Counter: all numbers from one to another, in decimal, like the wheels of an odometer.

The model copies the number before and adds 1. Adding 1 raises the last digit that is not 9, turns
the nines behind it to 0 and leaves the rest alone. With z, the position of the last digit of the
previous number that is not 9, and a source position s that runs through that number:

    next digit = digit(s) if s < z,  digit(s) + 1 if s = z,  0 if s > z

If all digits are 9, the new number has one more: 1, then zeros. Counting ends when the number just
said agrees with the limit, which stands at the beginning of the prompt: same length, and no digit
since the last separator that differed.

Everything but the limit is read from the last two numbers, so this program can run for millions of
tokens at a constant cost each: "1 to 2500000" says 18,888,896 tokens.
"""

from __future__ import annotations

from random import Random

from curta.compiler import Graph, Node, at_least, at_most, both, either, equals
from curta.errors import TokenError
from curta.gallery.idioms import DIGITS, fetch, latest, table
from curta.gallery.program import Case, GalleryProgram, joined, natural, parts

EXAMPLE = "8 to 12"
LONG_RUN = "1 to 2500000"


def build() -> Graph:
    graph = Graph([*DIGITS, ";", "=", " ", "."])
    is_mark = graph.is_token(";", "=", " ")
    mark = latest(is_mark, graph.position).named("mark")
    mark_before = fetch(mark - 1, mark).named("mark before")
    said = (graph.position - mark).named("said")
    not_nine = graph.is_token(*DIGITS[:9])
    raised = fetch(mark, latest(not_nine, graph.position)).named("raised")
    grows = at_most(raised, mark_before)
    source = mark_before + 1 + said
    digit = fetch(source, table(graph, "digit", DIGITS))
    next_digit = (
        graph.gate(at_most(source, raised), digit)
        + equals(source, raised)
        + both(grows, equals(said, 0))
    )
    is_first = latest(is_mark, graph.is_token("="))
    number = graph.gate(1 - is_first, next_digit) + graph.gate(is_first, digit)
    length = mark - mark_before - 1 + graph.gate(1 - is_first, grows)
    finished = at_least(said, length)
    done = both(finished, agrees_with_limit(graph, mark, said))
    graph.emit(DIGITS, number, when=1 - finished)
    graph.emit_token(" ", when=finished - done)
    graph.emit_token(".", when=done)
    graph.stop_after(".")
    return graph


def agrees_with_limit(graph: Graph, mark: Node, said: Node) -> Node:
    """Whether the digits since the mark are those at the beginning of the prompt."""
    digit = table(graph, "digit or none", DIGITS, default=-1)
    differs = 1 - equals(digit, fetch(said - 1, digit))
    differed = at_least(latest(differs, graph.position), mark + 1)
    limit_length = latest(graph.is_token(";"), graph.position)
    return 1 - either(differed, 1 - equals(said, limit_length))


def encode(text: str) -> list[str]:
    first, last = (natural(piece, EXAMPLE) for piece in parts(text, "to", 2, EXAMPLE))
    if (len(first), first) > (len(last), last):
        raise TokenError(f"{first} is more than {last}: the counter only counts up")
    return [*last, ";", *first, "="]


def reference(text: str) -> str:
    first, last = map(int, text.split("to"))
    return " ".join(map(str, range(first, last + 1)))


def random_input(random: Random) -> str:
    first = random.choice([random.randint(0, 120), 10 ** random.randint(1, 9) - 3])
    return f"{first} to {first + random.randint(0, 15)}"


PROGRAM = GalleryProgram(
    name="counter",
    summary="all numbers from one to another, in decimal; made to run long",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("8 to 12", "8 9 10 11 12"),
        Case("0 to 0", "0"),
        Case("0 to 10", "0 1 2 3 4 5 6 7 8 9 10"),
        Case("99998 to 100001", "99998 99999 100000 100001"),
        Case("189 to 200", " ".join(map(str, range(189, 201)))),
    ),
    reference=reference,
    random_input=random_input,
    max_tokens=2**25,
)
