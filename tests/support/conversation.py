"""Conversations with the machine's weights, compared with the reference machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from curta.engine import Engine, Level
from curta.machine.core_program import CoreProgram, Segment
from curta.machine.encode import encode, encode_segment, encode_word
from curta.machine.instructions import CoreInstruction
from curta.machine.parts.operations import Extension
from curta.machine.reference import CoreMachine
from curta.machine.vocabulary import AWAIT, READ
from curta.machine.weights import load_machine

Given = int | Segment
"""What a host appends: a word that was asked for, or bytes of memory."""


Extensions = tuple[Extension, ...]


@cache
def weights(level: Level, extensions: Extensions = ()) -> Engine:
    return load_machine(level, extensions)


def program_of(*instructions: CoreInstruction, segments: Sequence[Segment] = ()) -> CoreProgram:
    return CoreProgram(instructions, tuple(segments))


def spoken(
    program: CoreProgram,
    given: Sequence[Given] = (),
    level: Level = "native",
    extensions: Extensions = (),
) -> list[str]:
    """All tokens after the prompt, what the host appends among them."""
    engine = weights(level, extensions)
    session, names = engine.session(), engine.vocabulary
    prompt = np.array(engine.encode(encode(program)), dtype=np.int32)
    *_, last = session.read(prompt, np.ones(len(prompt), dtype=np.bool_))
    following = int(last[-1])
    trace: list[str] = []
    left = list(given)
    while True:
        trace.append(names[following])
        stopped = following in engine.stops
        if stopped and not left:
            return trace
        following = session.feed(following)
        if stopped and trace[-1] in (READ, AWAIT):
            appended = []
            while isinstance(left[0], Segment):
                appended += encode_segment(left.pop(0))
            appended += encode_word(left.pop(0))
            for token in engine.encode(appended):
                following = session.feed(token)
            trace += appended


def expected(
    program: CoreProgram, given: Sequence[Given] = (), extensions: Extensions = ()
) -> tuple[list[str], list[slice]]:
    """The same of the reference machine, and which of it the machine says, stop by stop."""
    machine = CoreMachine(program, extensions)
    left, turns = list(given), list[slice]()
    while True:
        start = len(machine.tokens)
        wanted = machine.run()
        turns.append(slice(start, len(machine.tokens)))
        if not left:
            return machine.tokens, turns
        if wanted in (READ, AWAIT):
            while isinstance(left[0], Segment):
                machine.tokens += encode_segment(left[0])
                machine.give_memory(left.pop(0))
            machine.give(left.pop(0))


def assert_same(
    program: CoreProgram,
    given: Sequence[Given] = (),
    level: Level = "native",
    extensions: Extensions = (),
) -> None:
    """The weights say what the reference machine says; else the first difference. They read all of
    it: what they say behind tokens that are right so far is what they would have gone on with.
    """
    right, turns = expected(program, given, extensions)
    engine = weights(level, extensions)
    tokens = np.array(engine.encode([*encode(program), *right]), dtype=np.int32)[:-1]
    asked = np.arange(len(tokens)) >= len(tokens) - len(right)
    said = np.concatenate([*engine.session().read(tokens, asked)])[asked]
    for turn in turns:
        for place in range(turn.start, turn.stop):
            got, wanted = engine.vocabulary[said[place]], right[place]
            after = right[:place][-8:]
            assert got == wanted, f"token {place}: {got}, expected {wanted}, after {after}"
            assert (said[place] in engine.stops) == (place == turn.stop - 1)
