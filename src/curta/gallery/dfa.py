"""DFA runner: an automaton in the prompt, and the word that it reads.

"0a1 0b0 1a0 1b1; 0; abba" is a table of transitions (state, letter, next state), the accepting
states, and the word; the run starts in the first state named. Each transition is filed under its
state and letter, so a step of the automaton is one lookup:

    next state = the state filed under (this state, next letter of the word)

The answer is the run, state by state, and "yes" if it ends in an accepting state. Where there is
no transition the run ends with "no".
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from string import ascii_uppercase

from curta.compiler import Graph, Node, at_least, both, equals
from curta.errors import TokenError
from curta.gallery.idioms import DIGITS, LETTERS, fetch, latest, since, table
from curta.gallery.program import STOP, Case, GalleryProgram, characters, parts, random_text

EXAMPLE = "0a1 0b0 1a0 1b1; 0; abba"
STATES = (*DIGITS, *ascii_uppercase)


def build() -> Graph:
    graph = Graph([*STATES, *LETTERS, ";", "=", "yes", "no", "."])
    is_end, is_verdict = graph.is_token("="), graph.is_token("yes", "no")
    state = table(graph, "state", STATES, first=1)
    word = (latest(graph.is_token(";"), graph.position) + 1).named("word")
    end = latest(is_end, graph.position).named("end")
    read = since(is_end) - 1
    letter = fetch(word + read, table(graph, "letter", LETTERS, first=1))
    following = graph.lookup(query=state * 32 + letter, key=filed(graph), value=state, missing=0)
    found = graph.assume(following, 0, len(STATES))
    finished = at_least(read, end - word)
    accepted = both(finished, accepting(graph, state))
    stepping = both(at_least(found, 1), 1 - finished, 1 - is_verdict)
    first = fetch(graph.constant(0), state)
    going_on = 1 - is_end - is_verdict - stepping
    graph.emit(
        STATES,
        graph.gate(1 - is_end, found) + graph.gate(is_end, first) - 1,
        when=is_end + stepping,
    )
    graph.emit_token("yes", when=both(going_on, accepted))
    graph.emit_token("no", when=both(going_on, 1 - accepted))
    graph.emit_token(".", when=is_verdict)
    graph.stop_after(".")
    return graph


def filed(graph: Graph) -> Node:
    """state * 32 + letter at the end of each transition; 0 elsewhere."""
    is_letter, letter = graph.is_token(*LETTERS), table(graph, "letter", LETTERS, first=1)
    state = table(graph, "state", STATES, first=1)
    before, letter_before = graph.position - 1, fetch(graph.position - 1, letter)
    is_transition = both(graph.is_token(*STATES), fetch(before, is_letter))
    return graph.gate(is_transition, fetch(graph.position - 2, state) * 32 + letter_before)


def accepting(graph: Graph, state: Node) -> Node:
    """Whether the state is listed between the two semicolons."""
    listed = equals(graph.running_sum(graph.is_token(";")), 1)
    return graph.lookup(query=state, key=graph.gate(listed, state + 1) - 1, value=1, missing=0)


def encode(text: str) -> list[str]:
    transitions, accepted, word = parts(text, ";", 3, EXAMPLE)
    triples = "".join(transitions.split())
    shapes = (STATES, LETTERS, STATES)
    fits = all(symbol in shapes[place % 3] for place, symbol in enumerate(triples))
    if not triples or len(triples) % 3 or not fits:
        raise TokenError(
            f"{transitions!r}: expected transitions of state (0-9, A-Z), letter (a-z) and state; "
            f"an input looks like {EXAMPLE!r}"
        )
    states = characters(accepted, STATES, EXAMPLE)
    return [*triples, ";", *states, ";", *characters(word, LETTERS, EXAMPLE), "="]


def decode(tokens: Iterable[str]) -> str:
    return " ".join(token for token in tokens if token != STOP)


def reference(text: str) -> str:
    transitions, accepted, word = ("".join(piece.split()) for piece in text.split(";"))
    steps = {transitions[i : i + 2]: transitions[i + 2] for i in range(0, len(transitions), 3)}
    run = [transitions[0]]
    for letter in word:
        if run[-1] + letter not in steps:
            return " ".join([*run, "no"])
        run.append(steps[run[-1] + letter])
    return " ".join([*run, "yes" if run[-1] in accepted else "no"])


def random_input(random: Random) -> str:
    states = random.sample(STATES, 4)
    triples = [s + c + random.choice(states) for s in states for c in "abz"]
    kept = random.sample(triples, random.randint(10, 12))
    return f"{' '.join(kept)}; {' '.join(states[:2])}; {random_text(random, 'abz', 25)}"


PROGRAM = GalleryProgram(
    name="dfa",
    summary="runs the automaton given in the prompt on a word",
    build=build,
    encode=encode,
    decode=decode,
    cases=(
        Case(EXAMPLE, "0 1 1 1 0 yes"),
        Case("0a1 0b0 1a0 1b1; 0; a", "0 1 no"),
        Case("AaB; A; aa", "A B no"),
        Case("AaB; A;", "A yes"),
        Case("ZzZ; ;", "Z no"),
        Case("0a1 1a2 2a0; 0; aaaaaa", "0 1 2 0 1 2 0 yes"),
    ),
    reference=reference,
    random_input=random_input,
)
