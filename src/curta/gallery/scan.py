"""SCAN: commands in a little English, translated into actions.

"jump opposite left twice and walk" means LTURN LTURN JUMP LTURN LTURN JUMP WALK. A command has one
clause or two; with "after", the second is carried out first. Every clause is made of repeated
units, and all that a unit depends on is its verb, direction and manner:

    plain        action                        length [directed] + [acts]
    directed     turn action
    opposite     turn turn action              length 2 + [acts]
    around       (turn action) four times      length 4 (1 + [acts])

where [acts] is 0 for the verb "turn" itself. A word's clause is the number of "and" and "after"
before it, so lookups by clause find verb, direction, manner and repetitions. Action number i of
the answer then is a matter of comparing i with the lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from curta.compiler import (
    Graph,
    Node,
    at_least,
    at_most,
    both,
    equals,
    function_table,
    product,
    select,
)
from curta.errors import TokenError
from curta.gallery.idioms import has_been, since
from curta.gallery.program import STOP, Case, GalleryProgram

VERBS = ("walk", "look", "run", "jump", "turn")
ACTIONS = ("WALK", "LOOK", "RUN", "JUMP", "LTURN", "RTURN")
WORDS = (*VERBS, "left", "right", "opposite", "around", "twice", "thrice", "and", "after")
EXAMPLE = "jump opposite left twice and walk"
CLAUSE = re.compile(
    r"((walk|look|run|jump)( ((opposite|around) )?(left|right))?"
    r"|turn ((opposite|around) )?(left|right))( twice| thrice)?"
)


@dataclass(frozen=True)
class Clause:
    """What a clause says, and how long its actions are."""

    verb: Node
    """1 to 4; 0 is "turn"."""
    right: Node
    around: Node
    unit: Node
    length: Node


def build() -> Graph:
    graph = Graph([*WORDS, *ACTIONS, "=", "."])
    index = since(graph.is_token("="))
    clauses = [read_clause(graph, number) for number in range(2)]
    swapped = has_been(graph.is_token("after"))
    first, second = choose(swapped, *clauses[::-1]), choose(swapped, *clauses)
    in_first = at_most(index, first.length - 1)
    clause = choose(in_first, first, second)
    offset = index - graph.gate(1 - in_first, first.length)
    finished = at_least(index, first.length + second.length)
    graph.emit(ACTIONS, action(clause, offset), when=1 - finished)
    graph.emit_token(".", when=finished)
    graph.stop_after(".")
    return graph


def read_clause(graph: Graph, number: int) -> Clause:
    conjunctions = graph.assume(graph.running_sum(graph.is_token("and", "after")), 0, 1)

    def said(values: dict[str, int]) -> Node:
        """The value of the clause's word that is one of these; 0 if there is none."""
        here = graph.is_token(*values)
        value = graph.feature("meaning", values)
        key = graph.gate(here, conjunctions + 1)
        return graph.lookup(query=number + 1, key=key, value=value, missing=0)

    verb = said({"walk": 1, "look": 2, "run": 3, "jump": 4})
    directed, right = said({"left": 1, "right": 1}), said({"right": 1})
    around, opposite = said({"around": 1}), said({"opposite": 1})
    acts = at_least(verb, 1)
    repetitions = said(dict.fromkeys(VERBS, 1)) + said({"twice": 1, "thrice": 2})
    turns = directed + opposite + 3 * around
    unit = turns + acts + 3 * both(around, acts)
    return Clause(verb, right, around, unit, product(unit, repetitions))


def choose(condition: Node, then: Clause, otherwise: Clause) -> Clause:
    """One of two clauses, field by field."""
    return Clause(
        verb=select(condition, then.verb, otherwise.verb),
        right=select(condition, then.right, otherwise.right),
        around=select(condition, then.around, otherwise.around),
        unit=select(condition, then.unit, otherwise.unit),
        length=select(condition, then.length, otherwise.length),
    )


def action(clause: Clause, offset: Node) -> Node:
    """The number of the action at an offset in the clause."""
    passed = at_least(offset, clause.unit) + at_least(offset, 2 * clause.unit)
    place = offset - product(clause.unit, passed)
    odd = function_table(place, [0, 1] * 4)
    turn_of_action = select(clause.around, odd, equals(place, clause.unit - 1))
    acts = both(turn_of_action, at_least(clause.verb, 1))
    return select(acts, clause.verb - 1, 4 + clause.right)


def encode(text: str) -> list[str]:
    words = text.split()
    clauses = re.split(r" and | after ", " ".join(words))
    if len(clauses) > 2 or not all(CLAUSE.fullmatch(clause) for clause in clauses):
        raise TokenError(f"{text!r} is no SCAN command; a command looks like {EXAMPLE!r}")
    return [*words, "="]


def decode(tokens: Iterable[str]) -> str:
    return " ".join(token for token in tokens if token != STOP)


def reference(text: str) -> str:
    command = " ".join(text.split())
    if " after " in command:
        second, first = command.split(" after ")
        return f"{reference(first)} {reference(second)}"
    return " ".join(" ".join(actions(clause.split())) for clause in command.split(" and "))


def actions(words: list[str]) -> list[str]:
    times = {"twice": 2, "thrice": 3}.get(words[-1], 1)
    act = [] if words[0] == "turn" else [words[0].upper()]
    turn = ["LTURN"] * ("left" in words) + ["RTURN"] * ("right" in words)
    if "around" in words:
        return (turn + act) * 4 * times
    return (turn * (2 if "opposite" in words else 1) + act) * times


def random_input(random: Random) -> str:
    return random.choice([" and ", " after "]).join(
        random_clause(random) for _ in range(random.randint(1, 2))
    )


def random_clause(random: Random) -> str:
    words = [random.choice(VERBS)]
    if words[0] == "turn" or random.random() < 0.7:
        words += random.choice([[], ["opposite"], ["around"]])
        words += random.choice([["left"], ["right"]])
    return " ".join([*words, *random.choice([[], ["twice"], ["thrice"]])])


PROGRAM = GalleryProgram(
    name="scan",
    summary="commands in a little English, translated into actions",
    build=build,
    encode=encode,
    decode=decode,
    cases=(
        Case(EXAMPLE, "LTURN LTURN JUMP LTURN LTURN JUMP WALK"),
        Case("walk", "WALK"),
        Case("turn left", "LTURN"),
        Case("look right after turn opposite left", "LTURN LTURN RTURN LOOK"),
        Case("jump around right", "RTURN JUMP RTURN JUMP RTURN JUMP RTURN JUMP"),
        Case("turn around left twice", " ".join(["LTURN"] * 8)),
        Case("run thrice after jump twice", "JUMP JUMP RUN RUN RUN"),
    ),
    reference=reference,
    random_input=random_input,
)
