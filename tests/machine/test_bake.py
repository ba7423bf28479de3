"""A program in the weights says what the same program says from the prompt."""

from __future__ import annotations

import base64
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from curta import Machine, Trap
from curta.compiler import compile
from curta.compiler.derived import bends_of
from curta.compiler.model import file_notes
from curta.compiler.resolve import resolve
from curta.engine import load
from curta.engine.evaluate import GraphSession
from curta.errors import FileError, LimitError, ProofError, UserError
from curta.gallery import PROGRAMS
from curta.machine.bake import MOST_BAKED, PROGRAM_NOTE, BakedMachine, bake, load_baked
from curta.machine.computer import build
from curta.machine.core_program import PRIVATE, CoreProgram, Segment
from curta.machine.encode import encode_word
from curta.machine.instructions import MEMORY_PAGES, CoreInstruction
from curta.machine.loaded import LoadedProgram
from curta.machine.reference import CoreMachine
from curta.machine.run import MachineLevel
from curta.machine.stored import with_stores
from curta.machine.vocabulary import START

PROGRAM = CoreProgram(
    (
        CoreInstruction("await", d=40000),
        CoreInstruction("jump_table", a=40000, immediate=2),
        CoreInstruction("jump", target=5),  # entry 0
        CoreInstruction("jump", target=7),  # entry 1
        CoreInstruction("jump", target=0),
        CoreInstruction("copy", d=MEMORY_PAGES, immediate=1),
        CoreInstruction("jump", target=0),
        CoreInstruction("await", d=0),
        CoreInstruction("load32", a=0, d=1, immediate=4),
        CoreInstruction("peek32", a=0, d=2),
        CoreInstruction("xor", a=1, immediate=0xDEADBEEF, d=1),
        CoreInstruction("sub", a=0, immediate=1, d=0),
        CoreInstruction("jump_ne", a=0, immediate=0, target=8),
        CoreInstruction("load32", a=0, d=1, immediate=65533),
    ),
    (Segment(4, b"exactly"), Segment(6, b"\0!"), Segment(PRIVATE + 1, b"\xff\xff\xff\xff")),
)
WORDS = [0, 1, 6]
COUNTER = """
static int total;
static const char letters[] = "abcdefgh";
int add(int x) { return total += x; }
int letter(int n) { return letters[n - 1]; }
long long square(int x) { return (long long)x * x; }
int fail(void) { __builtin_trap(); }
"""


def assert_says_what_the_reference_says(
    feed: Callable[[int], int], names: Sequence[str], stops: Container[int]
) -> None:
    """`feed` is given a token and says the next; the host answers with WORDS."""
    ids = {name: number for number, name in enumerate(names)}
    reference, following, said = CoreMachine(with_stores(PROGRAM)), feed(ids[START]), list[str]()
    for word in [*WORDS, None]:
        reference.run()
        while True:
            said.append(names[following])
            stopped = following in stops
            following = feed(following)
            if stopped:
                break
        if word is not None:
            digits = encode_word(word)
            said += digits
            reference.give(word)
            for digit in digits:
                following = feed(ids[digit])
    assert said == reference.tokens
    assert "trap4" in said


@pytest.mark.slow
def test_the_graph_of_a_baked_program_says_what_the_prompted_one_says() -> None:
    graph = resolve(build((), with_stores(PROGRAM).instructions))
    vocabulary = tuple(graph.tokens)
    assert "add#" not in vocabulary
    assert_says_what_the_reference_says(GraphSession(graph).feed, vocabulary, graph.stops)


@pytest.mark.slow
def test_a_baked_program_says_what_the_prompted_one_says(tmp_path: Path) -> None:
    path = tmp_path / "program.safetensors"
    bake(PROGRAM).save(path)
    baked = load_baked(path, prove=False)
    engine = load(baked.model, "native")
    prompt = baked.program.prompt()
    assert [engine.vocabulary[token] for token in prompt] == [START]
    assert_says_what_the_reference_says(engine.session().feed, engine.vocabulary, engine.stops)


@pytest.mark.slow
def test_a_baked_library_answers_like_the_prompted_one(tmp_path: Path) -> None:
    source = tmp_path / "counter.c"
    source.write_text(COUNTER)
    path = tmp_path / "counter.safetensors"
    bake(source, library=True).save(path)
    baked, prompted = load_baked(path).instantiate(), Machine().instantiate(source)
    assert dict(baked.exports) == dict(prompted.exports)
    assert baked.figures.prompt_tokens < 100 < prompted.figures.prompt_tokens
    for instance in (baked, prompted, load_baked(path, "reference").instantiate()):
        assert [instance.invoke("add", number) for number in (40, 2)] == [40, 42]
        assert instance.invoke("square", -100000) == 10**10
        with pytest.raises(Trap, match=r"unreachable \(in function \$fail\)"):
            instance.invoke("fail")
        assert instance.invoke("letter", 3) == ord("c")


@pytest.mark.slow
def test_a_prepared_file_needs_no_weights_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "program.safetensors"
    baked = bake(PROGRAM)
    baked.save(path)
    baked.prepare(path)
    monkeypatch.setattr("curta.machine.bake.load_model", Mock(side_effect=AssertionError))
    conversation = load_baked(path, prove=False).begin().conversation
    assert conversation.trace[-1] == "await."


@pytest.mark.slow
def test_levels_of_a_baked_machine_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "program.safetensors"
    bake(PROGRAM).save(path)

    def tokens(level: MachineLevel) -> list[str]:
        conversation = load_baked(path, level, prove=False).begin().conversation
        for number in (1, 1):
            with suppress(Trap):
                conversation.invoke(number, [6])
        return list(conversation.trace)

    said = tokens("native")
    assert said.count("trap4") == 2
    assert tokens("hull") == said
    assert tokens("reference") == said


def test_other_models_are_no_baked_programs(tmp_path: Path) -> None:
    from curta.compiler import compile

    path = tmp_path / "model.safetensors"
    compile(next(iter(PROGRAMS.values())).build(), 100).save(path)
    with pytest.raises(FileError, match="no baked program; `curta bake` makes one"):
        load_baked(path)
    with pytest.raises(FileError, match="no such file"):
        load_baked(tmp_path / "nothing.safetensors")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match=r"not a complete safetensors file .* `curta bake`"):
        load_baked(path)


def test_extensions_are_the_ones_that_a_file_was_baked_with(tmp_path: Path) -> None:
    from curta.compiler import compile
    from curta.machine.extensions.byte_swap import BYTE_SWAP

    note = base64.b64encode(LoadedProgram.from_core(PROGRAM).to_bytes()).decode()
    path = tmp_path / "model.safetensors"
    model = compile(next(iter(PROGRAMS.values())).build(), 100)
    model.save(path, notes={PROGRAM_NOTE: note})
    with pytest.raises(UserError, match=r"byte_swap \(--extension\) means nothing to it"):
        load_baked(path, extensions=[BYTE_SWAP])
    with pytest.raises(UserError, match="was baked without the extension byte_swap"):
        load_baked(path, "reference", [BYTE_SWAP])


def test_baked_files_are_no_programs_for_other_machines(tmp_path: Path) -> None:
    for use in (Machine("reference").run, bake):
        with pytest.raises(UserError, match=r"load_baked\(path\)"):
            use(tmp_path / "program.safetensors")


def test_what_curta_exports() -> None:
    import curta

    assert curta.bake is bake
    assert curta.load_baked is load_baked
    assert [name for name in curta.__all__ if getattr(curta, name, None) is None] == []
    assert set(curta.__all__) <= set(dir(curta))


def test_too_many_instructions_are_refused_before_the_work_begins() -> None:
    program = CoreProgram((CoreInstruction("await", d=40000),) * (MOST_BAKED + 1))
    with pytest.raises(LimitError, match=r"32,769 core instructions.* run it from the prompt"):
        bake(program)


def test_the_certificate_covers_the_longest_program() -> None:
    """Columns that change as much as they can at every instruction."""
    most = 0xFFFF
    column = [number % 2 * most for number in range(MOST_BAKED)]
    first, bends = bends_of(column)
    rising = sum(abs(weight) * (MOST_BAKED - place) for place, weight in bends)
    assert first + rising < 2**53


def test_a_level_that_there_is_not() -> None:
    with pytest.raises(UserError, match="expected one of"):
        BakedMachine(LoadedProgram.from_core(PROGRAM), "x", Mock(), "quick")  # type: ignore[arg-type]


def test_a_file_that_was_written_anew_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    """The program, the weights and what is kept for them belong together."""
    path = tmp_path / "program.safetensors"
    weights = compile(PROGRAMS["length"].build(), max_tokens=64)

    def save(name: str) -> BakedMachine:
        program = replace(LoadedProgram.from_core(PROGRAM), functions=(name,))
        machine = BakedMachine(program, name, lambda: weights)
        machine.save(path)
        return machine

    first = save("first")
    opened = load_baked(path, prove=False)
    save("second")
    with pytest.raises(FileError, match="written anew"):
        _ = opened.model
    assert load_baked(path, prove=False).model.certificate == weights.certificate
    with pytest.raises(FileError, match="another program"):
        first.prepare(path)


def test_what_was_baked_without_a_proof_says_so(tmp_path: Path) -> None:
    path = tmp_path / "program.safetensors"
    weights = compile(PROGRAMS["length"].build(), max_tokens=64)
    program = LoadedProgram.from_core(PROGRAM)
    BakedMachine(program, "program", lambda: weights).save(path)
    with pytest.raises(ProofError, match=r"without a proof .*--unproved"):
        load_baked(path)
    assert not load_baked(path, prove=False).proved
    BakedMachine(program, "program", lambda: weights, proved=True).save(path)
    assert load_baked(path).proved


def test_a_file_that_is_replaced_while_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note of a proof would be the old file's, the weights the new one's."""
    weights = compile(PROGRAMS["length"].build(), max_tokens=64)
    program = LoadedProgram.from_core(PROGRAM)
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    BakedMachine(program, "program", lambda: weights, proved=True).save(first)
    BakedMachine(program, "program", lambda: weights).save(second)

    def notes(path: Path, command: str) -> dict[str, str]:
        found = file_notes(path, command)
        second.replace(path)
        return found

    monkeypatch.setattr("curta.machine.bake.file_notes", notes)
    with pytest.raises(FileError, match="written anew while it was opened"):
        load_baked(first)
