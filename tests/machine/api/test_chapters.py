"""Chapters: a run says the same however often its state is said again in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta import Machine, Trap
from curta.errors import LimitError, ToolchainError
from curta.machine import conversation, talkers
from curta.machine.conversation import Conversation
from curta.machine.core_program import PRIVATE, Segment
from curta.machine.encode import encode_jump, encode_segment, encode_word
from curta.machine.extents import extents_in, extents_of
from curta.machine.ids import Ids, names
from curta.machine.instance import Instance
from curta.machine.instructions import GLOBALS, LARGEST_FRAME
from curta.machine.ledger import FIRST_FRAME, PlainLedger, new_ledger
from curta.machine.loaded import LoadedProgram
from curta.machine.opening import Opening, decode_opening, opening_ids, opening_of
from curta.machine.prompt import decode_prompt
from curta.machine.run import MachineLevel
from curta.machine.talkers import ReferenceTalker
from curta.machine.vocabulary import ADDRESS_BYTES, FRAME, NEAR, REGISTERS, START
from curta.machine.wasm.text import assemble

MODULE = assemble("""(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (memory 2) (data (i32.const 100) "some bytes")
  (global $count (mut i64) (i64.const 0x100000000))
  (func $fibonacci (export "fibonacci") (param i32) (result i32)
    (if (result i32) (i32.lt_u (local.get 0) (i32.const 2)) (then (local.get 0)) (else
      (i32.add (call $fibonacci (i32.sub (local.get 0) (i32.const 1)))
        (call $fibonacci (i32.sub (local.get 0) (i32.const 2)))))))
  (func $deep (export "deep") (param i32) (result i32)
    (if (result i32) (local.get 0) (then
      (i32.add (local.get 0) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
      (else (i32.const 0))))
  (func (export "divided") (param i64 i64) (result i64)
    (i64.rem_s (i64.div_u (local.get 0) (local.get 1)) (i64.const 1000007)))
  (func $fail (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
  (func (export "late") (param i32)
    (loop (call $fail (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))) (br 0)))
  (func (export "_start") (local i32 i32)
    (loop $next
      (local.set 0 (call $read))
      (if (i32.ge_s (local.get 0) (i32.const 0)) (then
        (i32.store16 (i32.add (i32.const 65530) (i32.mul (local.get 1) (i32.const 9)))
          (call $fibonacci (i32.and (local.get 0) (i32.const 15))))
        (global.set $count (i64.add (global.get $count) (i64.const -3)))
        (call $write (i32.const 1) (i32.rem_u
          (i32.xor (i32.load16_u (i32.add (i32.const 65530) (i32.mul (local.get 1) (i32.const 9))))
            (i32.wrap_i64 (global.get $count))) (i32.const 251)))
        (local.set 1 (i32.add (local.get 1) (i32.const 1)))
        (br $next))))))""")
GIVEN = bytes(range(40, 50))
LENGTHS = (100, 1000)
REFERENCE = Machine("reference")


def program() -> LoadedProgram:
    return REFERENCE.load(MODULE)


def begun(**options: object) -> Instance:
    return REFERENCE.begin(MODULE, stdin=GIVEN, **options)  # type: ignore[arg-type]


def test_a_run_is_the_same_in_chapters_of_any_length() -> None:
    whole = begun()
    whole.run()
    for length in LENGTHS:
        parts = begun(chapter_tokens=length)
        parts.run()
        chapters = parts.conversation.chapters
        assert len(chapters) > 2
        assert parts.stdout == whole.stdout
        assert len(parts.stdout) == len(GIVEN)
        assert np.array_equal(parts.conversation.said(), whole.conversation.said())
        assert parts.figures.instructions == whole.figures.instructions
        assert parts.figures.generated == whole.figures.generated
        assert parts.figures.chapters == len(chapters)
        ends = [chapter.start for chapter in chapters[1:]] + [parts.figures.tokens]
        sizes = [
            end - chapter.start - chapter.opening
            for chapter, end in zip(chapters, ends, strict=True)
        ]
        assert min(sizes[:-1]) >= length


@pytest.mark.parametrize("length", LENGTHS)
def test_functions_are_called_across_pages(length: int) -> None:
    instance = begun(chapter_tokens=length)
    assert instance.invoke("fibonacci", 11) == 89
    assert instance.invoke("divided", -1, 3) == (2**64 - 1) // 3 % 1000007
    with pytest.raises(Trap, match=r"unreachable \(in function \$fail\)"):
        instance.invoke("late", 50)
    with pytest.raises(Trap, match=r"divide by zero \(in function \$divided\)"):
        instance.invoke("divided", 5, 0)  # in a function of the library
    assert instance.invoke("deep", 200) == 20100
    assert instance.figures.chapters > 2


def test_a_deep_stack_is_said_again() -> None:
    instance = begun(chapter_tokens=20_000)
    assert instance.invoke("deep", 30_000) == 30_000 * 30_001 // 2
    assert instance.figures.chapters > 3
    assert max(chapter.opening for chapter in instance.conversation.chapters) > 60_000


def paged(monkeypatch: pytest.MonkeyPatch, **options: object) -> list[Conversation]:
    """A run, and its conversation as it was before every page."""
    seen: list[Conversation] = []
    turn: Callable[[Conversation], Ids] = Conversation._turn_page

    def turned(own: Conversation) -> Ids:
        look(own)
        return turn(own)

    def look(own: Conversation) -> None:
        chapter = own.chapters[-1]
        prompt, said = np.split(own.trace.ids[chapter.start :], [chapter.opening])
        plain = PlainLedger(own.program)
        if len(own.chapters) > 1:
            start = decode_opening(own.program, prompt)
            plain.fill(start.memory, start.registers)
            plain.frame, plain.counter = start.frame, start.counter
        else:
            for segment in decode_prompt(prompt).segments:
                plain.give(segment)
        plain.take(said)
        opening = opening_ids(own.program, opening_of(plain))
        assert np.array_equal(opening, own._opening)
        check_state(own, plain)
        seen.append(own)

    monkeypatch.setattr(Conversation, "_turn_page", turned)
    begun(**options).run()
    return seen


def check_state(own: Conversation, plain: PlainLedger) -> None:
    """The ledger holds what the machine has."""
    assert isinstance(own.talker, ReferenceTalker)
    machine = own.talker.machine
    assert machine is not None
    assert (machine.counter, machine.frame) == (plain.counter, plain.frame)
    held = plain.registers()
    assert {place: word for place, word in enumerate(held.tolist()) if word} == {
        place: word for place, word in machine.registers.items() if word and place < len(held)
    }
    assert {place: byte for place, byte in plain.bytes.items() if byte} == {
        place: byte for place, byte in machine.memory.items() if byte
    }


def test_openings_are_what_the_tokens_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talkers, "REFERENCE_STEPS", 1)
    assert len(paged(monkeypatch, chapter_tokens=300)) > 3


def test_no_more_is_said_by_code_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said beyond the end of a chapter is not heard."""
    monkeypatch.setattr(ReferenceTalker, "placed", 10**6)
    instance = begun(chapter_tokens=1000)
    instance.run()
    assert instance.figures.chapters > 2
    assert 0 < instance.figures.placed <= instance.figures.generated


def near(first: int, end: int) -> st.SearchStrategy[int]:
    """Places all over, and many that are close to each other."""
    far = st.integers(first, end - 1)
    return far | st.integers(first, first + 60) | st.integers(end - 60, end - 1)


@settings(deadline=None)
@given(
    st.dictionaries(near(0, 2 * PRIVATE), st.integers(0, 255), max_size=30),
    st.dictionaries(near(GLOBALS, FIRST_FRAME + 5000), st.integers(0, 2**32 - 1), max_size=30),
    st.integers(0, 200_000),
    st.integers(0, 3000),
)
def test_openings_say_all_of_a_state(
    memory: dict[int, int], registers: dict[int, int], frame: int, counter: int
) -> None:
    own = program()
    held = (
        extents_of(
            [(address, np.array([byte], np.uint8)) for address, byte in memory.items()], np.uint8
        ),
        extents_of(
            [(place, np.array([word], np.uint32)) for place, word in registers.items()], np.uint32
        ),
    )
    one, other = PlainLedger(own), new_ledger(own)
    for ledger in (one, other):
        ledger.fill(*held)
    opening = opening_of(one)
    assert said_equal(own, opening, opening_of(other))
    opening = replace(opening, frame=frame, counter=counter)
    ids = opening_ids(own, opening)
    assert names(ids[len(own.records) :].tolist()) == said_slowly(opening)
    again = decode_opening(own, ids)
    assert (again.frame, again.counter) == (frame, counter)
    found = {first + n: int(b) for first, all_ in again.memory for n, b in enumerate(all_) if b}
    assert found == {address: byte for address, byte in memory.items() if byte}
    words = {first + n: int(w) for first, all_ in again.registers for n, w in enumerate(all_) if w}
    named = FIRST_FRAME + one.size
    assert words == {place: word for place, word in registers.items() if word and place < named}


def said_slowly(opening: Opening) -> list[str]:
    """The definition of what an opening says behind the program."""
    tokens = []
    for first, content in opening.memory:
        tokens += encode_segment(Segment(first, content.tobytes()))
    for first, words in opening.registers:
        tokens += [REGISTERS, *number_said(first)]
        tokens += [token for word in words.tolist() for token in encode_word(word)]
        tokens += encode_jump(-len(words))
    tokens.append(START)
    for done in range(0, opening.frame, LARGEST_FRAME):
        tokens += [FRAME, *number_said(min(LARGEST_FRAME, opening.frame - done))]
    return tokens + encode_jump(opening.counter)


def number_said(number: int) -> list[str]:
    return [f"P{byte}" for byte in number.to_bytes(ADDRESS_BYTES, "big")]


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_pieces(most: int) -> None:
    content = np.random.default_rng(0).integers(0, 5, 500, dtype=np.uint32) // 4
    extents = extents_in(content, 3, most)
    again = np.zeros_like(content)
    end = -100
    for first, held in extents:
        assert held[0]
        assert held[-1]
        assert first // most == (first + len(held) - 1) // most
        assert first - end > 3 or first // most > (end - 1) // most
        again[first : first + len(held)] = held
        end = first + len(held)
    assert np.array_equal(again, content)


def test_many_registers_take_long_jumps() -> None:
    words = np.arange(1, 30_001, dtype=np.uint32)
    words[NEAR - 1 :: 9_000] = 0
    registers = extents_in(np.append(np.zeros(700, np.uint32), words), 0, 8192)
    own = program()
    opening = Opening(extents_of((), np.uint8), registers)
    ids = opening_ids(own, opening)
    assert names(ids[len(own.records) :].tolist()) == said_slowly(opening)
    again = decode_opening(own, ids).registers
    assert np.array_equal(again.firsts, registers.firsts)
    assert np.array_equal(again.content, registers.content)


def test_a_sparse_state_is_said_at_once() -> None:
    """A million extents: what takes a Python object for each would take a minute."""
    own, ledger = program(), new_ledger(program())
    content = np.zeros(1 << 25, dtype=np.uint8)
    content[::32] = 7
    ledger.give(Segment(0, content.tobytes()))
    started = time.perf_counter()
    ids = opening_ids(own, opening_of(ledger))
    opening = decode_opening(own, ids)
    assert time.perf_counter() - started < 10
    assert len(opening.memory) == 1 << 20
    assert len(ids) < len(own.records) + 7 * 2**20 + 100
    again = new_ledger(own)
    again.fill(opening.memory, opening.registers)
    assert said_equal(own, opening_of(again), opening)


def said_equal(own: LoadedProgram, one: Opening, other: Opening) -> bool:
    return np.array_equal(opening_ids(own, one), opening_ids(own, other))


def test_chapters_are_as_long_as_their_openings_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "SHORTEST_CHAPTER", 500)
    monkeypatch.setattr(conversation, "PAYS", 1)
    instance = begun()
    instance.invoke("deep", 9_000)
    chapters = instance.conversation.chapters
    assert len(chapters) > 1
    for chapter, following in pairwise(chapters):
        behind = following.start - chapter.start - chapter.opening
        assert behind >= following.opening


def test_a_chapter_asks_seldom_whether_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the state grows as fast as the chapter that it is worth."""
    monkeypatch.setattr(conversation, "SHORTEST_CHAPTER", 100)
    monkeypatch.setattr(conversation, "PAYS", 1)
    looks = []
    is_over = Conversation._is_over

    def look(own: Conversation) -> bool:
        opened = own._opening
        over = is_over(own)
        if own._opening is not opened:
            looks.append(own._behind)
        return over

    monkeypatch.setattr(Conversation, "_is_over", look)
    assert begun().invoke("deep", 20_000) == 20_000 * 20_001 // 2
    assert len(looks) > 3
    for one, following in pairwise(looks):
        assert following < one or following >= one + one // conversation.LATER


def test_a_state_that_shrinks_leaves_room_for_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next opening is shorter than that of the chapter, which has to end all the same."""
    monkeypatch.setattr(ReferenceTalker, "max_tokens", 100_000)
    monkeypatch.setattr(conversation, "SHORTEST_CHAPTER", 58_000)
    monkeypatch.setattr(conversation, "PAYS", 0)
    instance = begun()
    assert instance.invoke("deep", 13_000) == 13_000 * 13_001 // 2
    assert instance.invoke("fibonacci", 21) == 10946
    openings = [chapter.opening for chapter in instance.conversation.chapters]
    assert max(openings) > 2 * openings[-1]


def test_a_state_that_is_too_large_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = len(program().prompt()) + 50_000
    monkeypatch.setattr(ReferenceTalker, "max_tokens", longest)
    instance = begun()
    with pytest.raises(LimitError, match=r"and the state of its run take [\d,]+ tokens"):
        instance.invoke("deep", 30_000)


def test_a_chapter_without_a_jump_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    adds = "(local.set 0 (i32.add (local.get 0) (i32.load (i32.const 0))))"
    straight = assemble(
        '(module (memory 1) (func (export "f") (param i32) (result i32)'
        f"{adds * 500} (local.get 0)))"
    )
    own = REFERENCE.load(straight)
    monkeypatch.setattr(ReferenceTalker, "max_tokens", len(own.prompt()) + 300)
    instance = REFERENCE.instantiate(straight)
    with pytest.raises(LimitError, match="without a jump behind which another could begin"):
        instance.invoke("f", 5)


def test_weights_go_on_from_an_opening() -> None:
    expected = begun()
    expected.run()
    expected.invoke("deep", 500)
    instance = Machine().begin(MODULE, stdin=GIVEN, chapter_tokens=3000)
    instance.run()
    assert instance.invoke("deep", 500) == 125_250
    assert instance.figures.chapters > 3
    assert instance.stdout == expected.stdout
    assert np.array_equal(instance.conversation.said(), expected.conversation.said())


SHORT = assemble("""(module (memory 1) (func (export "f") (param i32) (result i32)
  (loop
    (i32.store16 (i32.const 7) (i32.add (i32.load (i32.const 6)) (local.get 0)))
    (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
  (i32.load (i32.const 6))))""")


@pytest.mark.parametrize(
    "level",
    ["hull", *(pytest.param(name, marks=pytest.mark.slow) for name in ("evaluate", "plain"))],
)
def test_levels_that_go_token_by_token_turn_pages(level: MachineLevel) -> None:
    if level == "plain":
        pytest.importorskip("torch")
    expected = REFERENCE.instantiate(SHORT)
    instance = Machine(level).instantiate(SHORT, chapter_tokens=25)
    assert instance.invoke("f", 3) == expected.invoke("f", 3)
    said = instance.conversation.said()
    assert np.array_equal(said, expected.conversation.said())
    assert instance.figures.chapters == 2
    turned = REFERENCE.instantiate(SHORT, chapter_tokens=25)
    turned.invoke("f", 3)
    assert np.array_equal(instance.trace.ids, turned.trace.ids)


def test_without_a_c_compiler_the_ledger_is_the_one_in_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> None:
        raise ToolchainError("there is no C compiler")

    expected = begun(chapter_tokens=1000)
    expected.run()
    monkeypatch.setattr("curta.machine.fast_ledger._library", missing)
    instance = begun(chapter_tokens=1000)
    assert isinstance(instance.conversation.ledger, PlainLedger)
    instance.run()
    assert np.array_equal(instance.trace.ids, expected.trace.ids)


def test_what_is_said_again_does_not_count() -> None:
    limit = len(program().prompt()) + 1500
    lengths = []
    for length in (100, 1000, None):
        instance = begun(max_tokens=limit, chapter_tokens=length)
        with pytest.raises(LimitError, match=f"its limit of {limit:,} tokens"):
            instance.run()
        lengths.append(len(instance.conversation.said()))
    assert max(lengths) - min(lengths) < 5  # the machine in Python does whole instructions
