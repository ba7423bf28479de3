"""Programs with holes, and examples of what they do: `curta fit examples/fit_programs.py:table`.

Each function returns a problem; `size` says how much of the program is unknown, `seed` which
program was hidden. What a fit finds need not be that program: several may do the same.

What is chosen among a few is written with a mark for each, 0 or 1, not as the number of the choice.
A token of which it is not known what it is then stays a distribution all the way; as a number it
would be a mean, and the mean of the first and the third choice is the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from random import Random

from curta.compiler import Graph, Node, at_least, clamp, maximum
from curta.compiler import product as times
from curta.gallery.idioms import fetch, latest
from curta.hybrid.fit import UNKNOWN, Example, Hole, Problem

MOST_EXAMPLES = 200


def numbers(low: int, high: int) -> list[str]:
    return [str(n) for n in range(low, high + 1)]


def chosen(marks: Sequence[Node], values: Sequence[Node]) -> Node:
    """The value whose mark is 1; of marks that are shares, the mean."""
    gates = (mark.graph.gate(mark, value) for mark, value in zip(marks, values, strict=True))
    return sum(gates, marks[0].graph.constant(0))


# -- the constants of a formula -------------------------------------------------------------------

INPUTS = 12
LARGEST = 60


def kernel(size: int = 2, seed: int = 0) -> Problem:
    """y = max(a0 x + b0, a1 x + b1, ...), between 0 and 60; size lines have 2 size constants."""
    random = Random(seed)
    lines = [(random.randint(-5, 5), random.randint(0, 40)) for _ in range(size)]
    examples = [
        Example((str(x), "="), (str(min(max(0, *(a * x + b for a, b in lines)), LARGEST)),))
        for x in range(INPUTS)
    ]
    return Problem(
        partial(kernel_graph, size),
        examples,
        holes={
            **{f"a{k}": Hole(-5, 5) for k in range(size)},
            **{f"b{k}": Hole(0, 40) for k in range(size)},
        },
    )


def kernel_graph(size: int) -> Graph:
    graph = Graph([*numbers(0, LARGEST), "="])
    value = graph.feature("value", {token: int(token) for token in numbers(0, LARGEST)})
    x = fetch(graph.position - 1, value)
    best = graph.constant(0)
    for k in range(size):
        factor = graph.assume(graph.declare(f"a{k}"), -8, 8)
        best = maximum(best, times(factor, x) + graph.declare(f"b{k}"))
    graph.emit(numbers(0, LARGEST), clamp(best, 0, LARGEST))
    return graph


# -- a table --------------------------------------------------------------------------------------


def table(size: int = 8, seed: int = 0) -> Problem:
    """A table t of so many numbers, of which only t[t[x]] is told. It is a part of the prompt."""
    random = Random(seed)
    hidden = [random.randrange(size) for _ in range(size)]
    entries = tuple(f"entry{n}" for n in range(size))
    examples = [Example((*entries, str(x)), (str(hidden[hidden[x]]),)) for x in range(size)]
    values = numbers(0, size - 1)
    return Problem(partial(table_graph, size), examples, blanks=dict.fromkeys(entries, values))


def table_graph(size: int) -> Graph:
    graph = Graph(numbers(0, size - 1))
    marks = [graph.is_token(value) for value in graph.tokens]
    entries = [[fetch(graph.constant(n), mark) for mark in marks] for n in range(size)]
    inner = [chosen(marks, column) for column in zip(*entries, strict=True)]
    for value, column in zip(graph.tokens, zip(*entries, strict=True), strict=True):
        graph.score(value, chosen(inner, column))
    return graph


# -- an automaton, from strings that it accepts and strings that it does not ----------------------

SYMBOLS = "ab"


def automaton(size: int = 3, seed: int = 0) -> Problem:
    """So many states, two symbols. Its table is a part of the prompt, and all of it is blank; only
    whether a string is accepted is told, none of the states on the way.
    """
    random = Random(seed)
    while True:
        table = [[random.randrange(size) for _ in SYMBOLS] for _ in range(size)]
        accepts = [random.choice([False, True]) for _ in range(size)]
        words = ["".join(w) for n in range(1, 8) for w in product(SYMBOLS, repeat=n)]
        told = {word: accepted(table, accepts, word) for word in words}
        if 0.3 < sum(told.values()) / len(told) < 0.7:
            break
    steps = tuple(f"[{state}{symbol}]" for state in range(size) for symbol in SYMBOLS)
    verdicts = tuple(f"[{state}?]" for state in range(size))
    shown = random.sample(words, min(MOST_EXAMPLES, len(words)))
    return Problem(
        partial(automaton_graph, size),
        [
            Example(
                (*steps, *verdicts, *word, "="),
                (*[UNKNOWN] * len(word), "yes" if told[word] else "no"),
            )
            for word in shown
        ],
        blanks={
            **{step: [f"q{state}" for state in range(size)] for step in steps},
            **{verdict: ["no", "yes"] for verdict in verdicts},
        },
    )


def accepted(table: list[list[int]], accepts: list[bool], word: str) -> bool:
    state = 0
    for symbol in word:
        state = table[state][SYMBOLS.index(symbol)]
    return accepts[state]


def automaton_graph(size: int) -> Graph:
    """Every step says the next state; behind the last symbol it says the verdict."""
    states = [f"q{state}" for state in range(size)]
    graph = Graph([*states, *SYMBOLS, "no", "yes", "="])
    head = 3 * size
    equal_sign = latest(graph.is_token("="), graph.position)
    said = graph.position - equal_sign
    symbol = fetch(said + head, graph.is_token("b"))
    is_over = at_least(said, equal_sign - head)
    here = [graph.is_token("q0", "="), *(graph.is_token(state) for state in states[1:])]
    for state in states:
        mark = graph.is_token(state)
        following = chosen(here, [fetch(symbol + 2 * n, mark) for n in range(size)])
        graph.score(state, following, when=1 - is_over)
    accepts = graph.is_token("yes")
    verdict = chosen(here, [fetch(graph.constant(2 * size + n), accepts) for n in range(size)])
    graph.emit(["no", "yes"], verdict, when=is_over)
    return graph


# -- the program of a small interpreter -----------------------------------------------------------

OPERATIONS = {
    "inc": lambda x: x + 1,
    "dec": lambda x: x - 1,
    "dbl": lambda x: 2 * x,
    "neg": lambda x: -x,
    "abs": abs,
}
BOUND = 20


def after(name: str, value: int) -> int:
    return min(max(OPERATIONS[name](value), -BOUND), BOUND)


def interpreter(size: int = 3, seed: int = 0) -> Problem:
    """An accumulator and so many instructions, all blank; what comes out is told, for all that can
    go in, and nothing on the way.
    """
    random = Random(seed)
    names = list(OPERATIONS)
    hidden = [random.choice(names) for _ in range(size)]
    blanks = tuple(f"[{k}]" for k in range(size))
    examples = []
    for x in range(-8, 9):
        value = x
        for name in hidden:
            value = after(name, value)
        examples.append(Example((*blanks, str(x)), (*[UNKNOWN] * (size - 1), str(value))))
    return Problem(partial(interpreter_graph, size), examples, blanks=dict.fromkeys(blanks, names))


def interpreter_graph(size: int) -> Graph:
    """Every step says what the accumulator is behind one more instruction."""
    values = numbers(-BOUND, BOUND)
    graph = Graph([*OPERATIONS, *values])
    does = [fetch(graph.position - size, graph.is_token(name)) for name in OPERATIONS]
    for value in values:
        come = [
            graph.is_token(*(v for v in values if after(name, int(v)) == int(value)))
            for name in OPERATIONS
        ]
        graph.score(value, chosen(does, come))
    return graph
