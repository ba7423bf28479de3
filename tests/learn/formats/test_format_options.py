"""Formats that draw how they write, machines, and combinations that make no sense."""

from __future__ import annotations

import re

import numpy as np
import pytest

from curta.errors import ExperimentError, TokenError
from curta.learn import catalogue
from curta.learn.alphabet import PAUSE
from curta.learn.formats.base import Format, formats_for
from curta.learn.formats.sentences import WORDS
from curta.learn.language import Language
from curta.learn.tasks.base import Task
from curta.learn.turing_machines import HALT, LEFT, MINUS, MOVES, STAY, Command, Machine
from tests.support.learn_texts import (
    ANSWERS,
    NUMBER,
    digit_texts,
    language,
    rows_of,
    some_operands,
    texts_of,
)


def written(task: str, format_: str, rows: int = 256, places: int = 3) -> list[tuple[str, ...]]:
    """Operands, question and answer of each row."""
    made = language(task, format_)
    digits, lengths = some_operands(made, rows, places)
    texts = texts_of(made, rows_of(made, digits, lengths))
    return [
        (*digit_texts(number, length), *text)
        for number, length, text in zip(digits, lengths, texts, strict=True)
    ]


def simulated(machine: Machine, tapes: list[str]) -> tuple[str, str, str]:
    """The trace, the last tape and the last state: cell by cell, in a dictionary."""
    cells = [dict(enumerate(reversed(tape))) for tape in tapes] + [{}]
    heads, state, trace = [0] * machine.tapes, machine.states[0], ""
    while state in machine.states:
        seen = [cell.get(head) for cell, head in zip(cells, heads, strict=True)]
        command = machine.rule(state, tuple(None if s is None else int(s) for s in seen))
        shown = "".join(s or "_" for s in seen)
        wrote = "_" if command.write is None else str(command.write)
        trace += f"[{state}]{shown}>{wrote}{''.join(MOVES[m + 1] for m in command.moves)};"
        cells[-1][heads[-1]] = None if wrote == "_" else wrote
        heads = [head + move for head, move in zip(heads, command.moves, strict=True)]
        state = command.state
    last = "".join(cells[-1].get(at) or "" for at in range(30, -2, -1))
    return trace + f"[{state}]", last, state


@pytest.mark.parametrize(
    "task",
    [
        "subtraction",
        "reverse",
        *(
            pytest.param(task, marks=pytest.mark.slow)
            for task in ("addition", "comparison", "parity", "bitwise_or", "copy")
        ),
    ],
)
def test_machines_do_what_their_tables_say_and_solve_the_task(task: str) -> None:
    machine = language(task, "turing").task.machine(10)
    made = language(task, "turing")
    for question, answer in ((row[-2], row[-1]) for row in written(task, "turing", 128)):
        trace, last, state = simulated(machine, re.findall(NUMBER, question))
        right = ANSWERS[task](question, 10)
        assert answer == trace + right
        if task == "comparison":
            assert f"is{right}" in trace.rsplit("[", 2)[-2]
        else:
            shown = right.lstrip("-")
            assert last.lstrip("0") == shown.lstrip("0")
            assert (state == MINUS) == right.startswith("-")
    assert made.alphabet.symbols[-1] == f"[{MINUS}]"


def test_a_machine_needs_a_small_base() -> None:
    with pytest.raises(ExperimentError, match=r"base = 100.*up to 16"):
        language("addition", "turing(base=100)")
    still = Machine(("a",), 1, lambda state, seen: Command(None, (STAY,), HALT), 2)
    assert still.names == ("a", HALT, MINUS)
    assert MOVES[LEFT + 1] == "L"


def test_hints_follow_one_another_from_anywhere() -> None:
    begins = set()
    for a, b, question, answer in written("addition", "hints(hints=20)"):
        text = question + answer
        pairs = [re.findall(r"([A-Z])(\d)", part) for part in re.split(r"[+=]", text)]
        assert "".join(d for _, d in pairs[0]) == a
        assert "".join(d for _, d in pairs[1]) == b
        assert int("".join(d for _, d in pairs[2])) == int(a) + int(b)
        first = pairs[0][-1][0]
        begins.add(first)
        for part in pairs:
            assert [letter for letter, _ in reversed(part)] == [
                chr(ord(first) + at) for at in range(len(part))
            ]
    # Sums have four digits at most, so there are 17 ways to begin.
    assert begins == {chr(ord("A") + at) for at in range(17)}


def test_letters_stand_for_digits_in_a_share_of_the_rows() -> None:
    made = language("addition", "symbolic(share=0.3, seed=5)")
    assert isinstance(made.format, Format)
    names = made.alphabet.second_digits
    assert sorted(names) == list("ABCDEFGHIJ")
    assert names != tuple("ABCDEFGHIJ")
    table = {ord(name): str(digit) for digit, name in enumerate(names)}
    in_letters = 0
    for a, b, question, answer in written("addition", "symbolic(share=0.3, seed=5)"):
        text = question + answer
        assert text.translate(table) == f"{a}+{b}={int(a) + int(b)}"
        letters = bool(re.search("[A-J]", text))
        assert letters != bool(re.search("[0-9]", text))
        in_letters += letters
    # 256 rows: a standard deviation of 7.
    assert abs(in_letters - 0.3 * 256) < 36


def test_spaces_are_in_questions_only() -> None:
    counts = []
    for a, b, question, answer in written("addition", "spaces(share=0.5)"):
        assert question.replace(" ", "") == f"{a}+{b}="
        assert answer == str(int(a) + int(b))
        counts.append(question.count(" ") / len(question.replace(" ", "")))
    assert abs(np.mean(counts) - 0.5) < 0.08


@pytest.mark.parametrize(
    "task",
    ["sorting(numbers=3)", pytest.param("division(remainder=False)", marks=pytest.mark.slow)],
)
def test_sentences_can_be_taken_apart(task: str) -> None:
    made = language(task, "sentences")
    said = set()
    for *operands, question, answer in written(task, "sentences"):
        frame = re.sub(rf"{NUMBER}.*{NUMBER}", "{}", question)
        assert frame in made.task.sentences
        said.add(frame)
        if made.task.name == "division":
            operands = [operands[0], operands[1] if int(operands[1]) else "1"]
        assert re.findall(NUMBER, question) == operands
        between = re.split(NUMBER, re.search(rf"{NUMBER}.*{NUMBER}", question)[0])[1:-1]
        symbol = made.task.symbols[0]
        assert set(between) <= set(WORDS[symbol])
        end = "=" if "=" in made.task.symbols else ":"
        right = ANSWERS[made.task.name](symbol.join(operands) + end, 10)
        assert answer == right.split("r")[0]
    assert said == set(made.task.sentences)


def test_pauses_keep_the_symbols_of_the_format() -> None:
    made = Language(catalogue.task("addition"), catalogue.format_("symbolic"), pauses=2)
    assert made.alphabet.second_digits[0] == "A"
    assert made.alphabet.encode(f"F+G={PAUSE}{PAUSE}")[-2:] == [made.alphabet.token(PAUSE)] * 2


def test_a_pause_is_no_symbol_of_any_task_or_format() -> None:
    for task in catalogue.parts(Task).values():
        for made in catalogue.parts(Format).values():
            assert PAUSE not in (*task.symbols, *made.symbols)


@pytest.mark.parametrize(
    ("task", "format_", "message"),
    [
        (
            "sorting",
            "scratchpad",
            "with columns or partials; formats for sorting: .*padded",
        ),
        ("division", "right_to_left", "needs a task with columns; .*decomposed"),
        ("addition", "decomposed", "partials or quotients; .*scratchpad.*turing"),
        ("multiplication", "turing", "machine; .*decomposed"),
        ("fractions", "padded", "do not tell .*; formats for fractions: hints, plain"),
        ("comparison", "fixed", "do not tell"),
    ],
)
def test_combinations_that_make_no_sense_say_what_does(
    task: str, format_: str, message: str
) -> None:
    with pytest.raises(ExperimentError, match=message):
        language(task, format_)


def test_the_formats_named_for_a_task_are_those_that_take_it() -> None:
    for name, made in catalogue.parts(Task).items():
        task = made()
        taken = []
        for format_, made_format in catalogue.parts(Format).items():
            try:
                Language(task, made_format())
            except ExperimentError:
                continue
            taken.append(format_)
        assert tuple(sorted(taken)) == formats_for(task), name
        assert {"plain", "reversed", "hints", "symbolic", "sentences"} <= set(taken)


@pytest.mark.parametrize(
    ("format_", "message"),
    [
        ("plain(base=1)", "base = 1: must be an integer from 2"),
        ("fixed(width=0)", "width = 0: must be"),
        ("hints(hints=0)", "hints = 0: must be"),
        ("symbolic(share=1.5)", "share = 1.5: must be from 0 to 1"),
        ("spaces(share=-1)", "share = -1: must be from 0 to 1"),
    ],
)
def test_options_are_checked(format_: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        catalogue.format_(format_)


def test_numbers_that_are_too_long_are_refused() -> None:
    with pytest.raises(ExperimentError, match="up to 5 digits, but width = 4: set width=5"):
        language("addition", "fixed(width=4)").width(2, 5)
    with pytest.raises(ExperimentError, match="up to 6 digits, but hints = 5: set hints=6"):
        language("addition", "hints(hints=5)").width(2, 5)


def test_symbols_that_are_not_there_are_named() -> None:
    with pytest.raises(TokenError, match="'x' is not in the alphabet"):
        language("addition").alphabet.token("x")
