"""Code that knows the program says what the general code says, however it is asked."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from curta import Machine
from curta.engine import beside, builds, hot
from curta.engine.base import Answers
from curta.engine.native.kit import Kit, Place, program_to_c
from curta.engine.native_level import Native, NativeSession
from curta.errors import ProgramError
from curta.machine.bake import bake, load_baked
from curta.machine.conversation import Conversation, Figures
from curta.machine.ids import Ids
from tests.machine.fuzz.c_generator import CProgram
from tests.machine.fuzz.rounds import FIRST_SEED, ROUNDS

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_OF_RANDOM = 400_000
"""Tokens of a random program."""
MIXTURE = r"""
#include <stdint.h>
#include <stdio.h>

static uint8_t bytes[256];
static uint32_t words[64];
static int64_t wide = 1;

static uint32_t gcd(uint32_t a, uint32_t b) { return b ? gcd(b, a % b) : a; }
static int32_t add(int32_t a, int32_t b) { return a + b; }
static int32_t shift(int32_t a, int32_t b) {
    return (a >> (b & 31)) ^ (int32_t)((uint32_t)a << (b & 7));
}
static int32_t (*const table[])(int32_t, int32_t) = {add, shift};

int main(void) {
    uint32_t x = 12345, found = 0;
    int32_t y = -7;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[x >> 24] += (uint8_t)i;
        uint32_t at = (x >> 9) % 61;
        *(uint32_t *)((char *)words + at * 4 + (i % 9 == 0)) ^= x; /* now and then unaligned */
        *(uint16_t *)(bytes + (i & 254)) += (uint16_t)(x >> 3);
        found += gcd(x & 1023, words[at] | 1);
        y = table[i & 1](y, (int32_t)x) / ((int32_t)(i % 5) - 7) + y % 11;
        wide = wide * 6364136223846793005LL + (int64_t)y;
        switch (i % 6) {
        case 0: found ^= (uint32_t)__builtin_clz(x | 1); break;
        case 1: found += (uint32_t)__builtin_popcount(x); break;
        case 3: found -= (uint32_t)__builtin_ctz(x | 256); break;
        case 4: found = (found << 5) | (found >> 27); break;
        }
        if ((int8_t)bytes[i & 255] < -3) found |= 64;
        if (i % 50 == 49) printf("%u %d\n", found, y);
    }
    printf("%u %d %llx\n", found, y, (unsigned long long)wide);
    return words[0] ? (int)(found & 127) : 3;
}
"""


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine that makes code at once, of small samples, and has none from before."""
    monkeypatch.setenv("CURTA_PLACES", "now")
    monkeypatch.setattr(hot, "SAMPLED_NOW", 3000)
    monkeypatch.setattr(hot, "WINDOW_NOW", 3000)
    monkeypatch.setattr(hot.Workshop, "find", lambda shop, program: shop.codes.get(program))
    machine = Machine()
    machine.engine.workshop.codes.clear()  # type: ignore[union-attr]
    machine.engine.workshop.latest = None  # type: ignore[union-attr]
    machine.engine.workshop.parted = None  # type: ignore[union-attr]
    return machine


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("places"), 400)


@pytest.fixture(scope="module")
def short_mixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("short"), 250)


def written(folder: Path, rounds: int) -> Path:
    path = folder / "mixture.c"
    path.write_text(f"#define ROUNDS {rounds}\n{MIXTURE}")
    return path


def tokens_of(machine: Machine, program: Path, **options: object) -> tuple[Ids, Figures]:
    """What was said, and by whom, however the run ended."""
    begun: list[Conversation] = []
    with suppress(ProgramError):
        machine.run(program, keep_trace=True, on_start=begun.append, **options)
    return begun[0].trace.ids, begun[0].figures


def general(monkeypatch: pytest.MonkeyPatch, program: Path, **options: object) -> Ids:
    """By the general step alone, which knows nothing of operations."""
    with monkeypatch.context() as slow:
        slow.setattr(NativeSession, "generate", generate_by_steps)
        return tokens_of(Machine(), program, **options)[0]


def generate_by_steps(
    session: NativeSession, first: int, count: int, answers: Answers | None = None
) -> Ids:
    said = [session.engine.check_token(first)]
    session.warming = None
    while len(said) < count and said[-1] not in session.engine.stops:
        said.append(session.feed(said[-1]))
    return np.array(said, dtype=np.int32)


def generate_plainly(
    session: NativeSession, first: int, count: int, answers: Answers | None = None
) -> Ids:
    """Without code for places."""
    session.warming = None
    session.library.set_places(session.state, None)
    return PLAIN(session, first, count, answers)


PLAIN = NativeSession.generate


def by_templates(monkeypatch: pytest.MonkeyPatch, program: Path, **options: object) -> Ids:
    """By the code for all programs."""
    with monkeypatch.context() as plain:
        plain.setattr(NativeSession, "generate", generate_plainly)
        return tokens_of(Machine(), program, **options)[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + ROUNDS // 4))
def test_random_programs(
    now: Machine, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Much of what they do comes behind the sample that their code was made of."""
    random = Random(f"places {seed}")
    program = tmp_path / "random.c"
    program.write_text(CProgram(random, 3 + random.randrange(6)).text)
    said, _ = tokens_of(now, program, max_tokens=MOST_OF_RANDOM)
    again, run = tokens_of(now, program, max_tokens=MOST_OF_RANDOM)
    expected = by_templates(monkeypatch, program, max_tokens=MOST_OF_RANDOM)
    np.testing.assert_array_equal(said, expected)
    np.testing.assert_array_equal(again, expected)
    assert run.placed > 0


@pytest.mark.slow
def test_a_program_of_many_kinds(
    now: Machine, mixture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, run = tokens_of(now, mixture)
    again, second = tokens_of(now, mixture)
    expected = general(monkeypatch, mixture)
    with monkeypatch.context() as plain:
        plain.setattr(NativeSession, "generate", generate_plainly)
        np.testing.assert_array_equal(tokens_of(Machine(), mixture)[0], expected)
    np.testing.assert_array_equal(said, expected)
    np.testing.assert_array_equal(again, expected)
    assert second.placed > 0.5 * second.generated

    # In pieces of any size: what is left of an instruction is said by the general code.
    monkeypatch.setattr(NativeSession, "generate", in_pieces)
    pieces, run = tokens_of(now, mixture)
    np.testing.assert_array_equal(pieces, expected)
    assert run.placed > 0

    # Places of another program are not taken for these: nothing of them is used.
    workshop = now.engine.workshop  # type: ignore[union-attr]
    for program, code in list(workshop.codes.items()):
        wrong = tuple(
            replace(place, fields=tuple(n + 1 for n in place.fields)) for place in code.made.places
        )
        workshop.codes[program] = replace(code, made=replace(code.made, places=wrong))
    workshop.latest = workshop.parted = None
    monkeypatch.setattr(hot, "SAMPLED_NOW", 1 << 30)
    monkeypatch.setattr(NativeSession, "generate", PLAIN)
    other, run = tokens_of(now, mixture)
    np.testing.assert_array_equal(other, expected)
    assert run.placed == 0


def in_pieces(
    session: NativeSession, first: int, count: int, answers: Answers | None = None
) -> Ids:
    """The same tokens, asked for in pieces of 1 to 60."""
    sizes = np.random.default_rng(session.length).integers(1, 60, size=1)
    return PLAIN(session, first, min(count, int(sizes[0])), answers)


def test_samples_and_code_go_on_from_chapter_to_chapter(
    now: Machine, short_mixture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of which is long enough for a sample of its own."""
    monkeypatch.setattr(hot, "SAMPLED_NOW", 3000)
    monkeypatch.setattr(hot, "WINDOW_NOW", 1000)
    monkeypatch.setattr(builds, "MOST_PLACES", 60)
    said, figures = tokens_of(now, short_mixture, chapter_tokens=10_000)
    expected = general(monkeypatch, short_mixture, chapter_tokens=10_000)
    np.testing.assert_array_equal(said, expected)
    assert figures.chapters > 5
    assert figures.placed > 0


@pytest.mark.slow
def test_code_is_made_in_another_process(
    now: Machine, mixture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And taken over when it is there."""
    monkeypatch.setenv("CURTA_PLACES", "later")
    monkeypatch.setattr(builds, "MOST_PLACES", 60)
    monkeypatch.setattr(hot, "COLD", 5000)
    monkeypatch.setattr(hot, "SAMPLED", 5000)
    monkeypatch.setattr(hot, "WINDOW", 1000)
    monkeypatch.setattr(beside, "begin", finished(beside.begin))
    for longest in ("chunk", "longest_chunk"):
        monkeypatch.setattr(Native, longest, 2000)
    said, figures = tokens_of(now, mixture)
    np.testing.assert_array_equal(said, general(monkeypatch, mixture))
    assert 0 < figures.placed < figures.generated


@pytest.mark.slow
def test_a_baked_program_goes_over_as_a_prompted_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "baked.safetensors"
    source = tmp_path / "quiet.c"
    quiet = MIXTURE.replace("#include <stdio.h>", "#define printf(...)")
    source.write_text(f"#define ROUNDS 1000\n{quiet}")
    machine = bake(source)
    machine.save(path)
    machine.prepare(path)
    monkeypatch.setenv("CURTA_PLACES", "later")
    monkeypatch.setattr(hot, "COLD", 5000)
    monkeypatch.setattr(hot, "SAMPLED", 5000)
    monkeypatch.setattr(beside, "begin", finished(beside.begin))
    for longest in ("chunk", "longest_chunk"):
        monkeypatch.setattr(Native, longest, 2000)
    baked = load_baked(path)
    run = baked.run()
    assert 0.5 * run.figures.generated < run.figures.placed < run.figures.generated
    monkeypatch.setattr(NativeSession, "generate", generate_plainly)
    expected = baked.run()
    assert expected.figures.placed == 0
    np.testing.assert_array_equal(run.trace.ids, expected.trace.ids)
    assert run.exit_code == expected.exit_code == Machine().run(source).exit_code


def finished(begin):  # type: ignore[no-untyped-def]
    def begun(*arguments):  # type: ignore[no-untyped-def]
        process = begin(*arguments)
        process.wait()
        return process

    return begun


@pytest.mark.slow
def test_what_was_not_sampled_is_left_to_the_general_code(
    now: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the sample come larger words, other branches and in the end a trap."""
    path = tmp_path / "grows.c"
    path.write_text(
        "static unsigned t[8];\n"
        "int main(void) { volatile unsigned x = 1, zero = 0; unsigned i = 0;\n"
        "for (; i < 20000; i++) { x = i < 1500 ? i & 63 : x * 17 + i; t[i & 7] += x;\n"
        "if (i > 19000) t[x & 7] ^= *(unsigned *)((char *)t + 1 + (i & 3)); }\n"
        "return (int)(t[0] / zero); }\n"
    )
    said, run = tokens_of(now, path)
    np.testing.assert_array_equal(said, general(monkeypatch, path))
    assert run.placed > 0.5 * run.generated


ROUNDS = 3000
LOOP = f"""(module (memory 1) (func (export "_start") (local i32 i32)
  (local.set 0 (i32.const {ROUNDS}))
  (loop
    {"(local.set 1 (i32.add (i32.mul (local.get 1) (i32.const 5)) (local.get 0)))" * 20}
    (i32.store (i32.const 0) (local.get 1))
    (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"""


def test_the_general_code_ends_where_there_is_code(
    now: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one place of a loop, which is not passed over in any round behind the sample."""
    monkeypatch.setattr(builds, "MOST_PLACES", 1)
    path = tmp_path / "loop.wat"
    path.write_text(LOOP)
    said, run = tokens_of(now, path)
    again, second = tokens_of(now, path)
    expected = by_templates(monkeypatch, path)
    np.testing.assert_array_equal(said, expected)
    np.testing.assert_array_equal(again, expected)
    assert 0 < run.placed <= second.placed
    assert ROUNDS * 0.9 < second.placed < 0.1 * second.generated


GROWING = f"""(module (memory 1) (func (export "_start")
  (local $n i32) (local $x i32) (local $y i64)
  (local.set $n (i32.const {ROUNDS}))
  (loop
    (if (i32.lt_u (local.get $n) (i32.const {ROUNDS - 200})) (then
      (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 17)) (local.get $n)))))
    (local.set $y (i64.add (i64.mul (local.get $y) (i64.extend_i32_u (local.get $x)))
                           (i64.const 5)))
    (i32.store (i32.and (local.get $n) (i32.const 1020)) (local.get $x))
    (if (i32.gt_u (local.get $x) (i32.const 0xffff0000)) (then
      (local.set $x (i32.shr_u (local.get $x) (i32.const 13)))))
    (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"""


def test_an_instruction_that_goes_another_way_is_begun_again(
    now: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are 0 in the sample, of up to three digits behind it: nothing is made of these."""
    monkeypatch.setattr(hot, "MOST_BUILDS", 1)
    path = tmp_path / "growing.wat"
    path.write_text(GROWING)
    tokens_of(now, path)
    said, run = tokens_of(now, path)
    expected = by_templates(monkeypatch, path)
    np.testing.assert_array_equal(said, expected)
    np.testing.assert_array_equal(said[:20_000], general(monkeypatch, path)[:20_000])
    assert run.placed > 0.2 * run.generated


OUTLIVES = """
import builtins
from curta import Machine
from curta.engine import hot
from curta.machine.wasm.text import assemble

instance = Machine().begin(assemble('''(module (func (export "_start") (local i32)
  (local.set 0 (i32.const 100000))
  (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))'''))
instance.run()
builtins.kept = instance
hot.sys = None  # as Python does to the names of modules before it ends
"""


def test_a_run_that_is_there_when_python_ends_goes_without_a_word() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", OUTLIVES], capture_output=True, text=True, check=False
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


def test_a_kit_leaves_out_what_a_place_does_not_do() -> None:
    template = "\n".join(
        ["{", "//@if 1 field1", "a();", "//@end", "//@may 0 1", "b();", "//@say 0", "c();",
         "ARRIVE(place + 1);", "GO;", "//@end", "//@say 1", "d();", "//@end", "//@end", "}"]
    )  # fmt: skip
    facts = '/* {"classes": [[0], [1]], "ending": [0], "selector": 0} */'
    sections = {"facts": facts, "begin": "begin();", "template7": template, "leave": "}"}
    parts = (f"/// {name}\n{text}\n///\nbetween();" for name, text in sections.items())
    kit = Kit.of("\n".join(["head();", *parts]))
    assert kit == Kit([[0], [1]], [0], 0, "head();\n", "begin();", "}", {"7": template})
    places = [
        Place(3, (7, 0), (4,), frozenset({(0,)})),
        Place(4, (7, 1), (3, 99), frozenset({(1,)})),
        Place(5, (8, 1), (), frozenset()),
    ]
    source = program_to_c(kit, places)
    assert "here[] = {1, 0};" in source  # only place 3 leads to place 4
    assert "case 4:" not in source
    third, fourth = source.split("place3:")[1].split("place4:")
    assert "a();" not in third
    assert "c();\nto = (place + 1);" in third
    assert "d();" not in third
    assert "if (to == 4) goto place4;" in third
    assert "a();" in fourth
    assert "c();" not in fourth
    assert "d();" in fourth
    assert "place5" not in source  # there is no template for it


def test_a_kit_takes_tokens_back_where_another_way_begins() -> None:
    template = ["//@may 0 1", "//@say 0", "a();", "//@may 0 1", "//@say 0", "b();", "//@done"]
    template += ["//@may 0 1", "//@say 0", "c();", "//@end", "//@say 1", "d();", "//@end", "//@end"]
    template += ["//@end", "//@say 1", "e();", "//@end", "//@end", "//@end", "//@say 1", "f();"]
    template += ["//@end", "//@end"]
    kit = Kit([[0], [1]], [1], 0, "", "", "}", {"7": "\n".join(template)})

    def lines(*said: tuple[int, ...]) -> list[str]:
        source = program_to_c(kit, [Place(3, (7,), (), frozenset(said))])
        return source.split("field0 = 7;\n")[1].split("\n}")[0].split("\n")

    def back(tokens: int) -> str:
        return f"next -= {tokens}; goto give_up;"

    assert lines((1,)) == [back(0), "f();"]
    assert lines((0, 1)) == ["a();", back(1), "e();", back(0)]
    assert lines((0, 0, 1)) == ["a();", "b();", back(0), "d();", back(1), back(0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "args", "stdin"),
    [
        ("sha256.c", ("--own", "4096"), b""),
        ("queens.c", ("8",), b""),
        ("collatz64.c", (), b""),
        ("nbody.c", ("20",), b""),
        ("mandelbrot.c", ("40",), b""),
        ("hungarian.c", (), b""),
        ("lisp.c", (), b"(+ 1 2)\n"),
    ],
)
def test_examples(
    now: Machine,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    args: tuple[str, ...],
    stdin: bytes,
) -> None:
    program = EXAMPLES / name
    said, _ = tokens_of(now, program, args=args, stdin=stdin)
    again, run = tokens_of(now, program, args=args, stdin=stdin)
    expected = general(monkeypatch, program, args=args, stdin=stdin)
    np.testing.assert_array_equal(said, expected)
    np.testing.assert_array_equal(again, expected)
    assert run.placed > 0


def test_code_is_compared_again_once_something_was_taken(
    now: Machine, short_mixture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only directly behind the prompt it is enough that it fitted there before."""
    monkeypatch.setattr(builds, "MOST_PLACES", 60)
    for _ in range(3):
        tokens_of(now, short_mixture)
    workshop = now.engine.workshop  # type: ignore[attr-defined]
    program, code = workshop.fitting
    session = now.engine.session()
    session.take(program.prompt[0] if len(program.prompt[0]) else program.prompt[1])
    warming, compared = hot.Warming(workshop, session.state, program), list[object]()
    warming.has = lambda fields: bool(compared.append(fields))  # type: ignore[method-assign]
    warming.is_known = True
    assert warming.fits(code)
    warming.given(np.zeros(1, dtype=np.int32))
    assert not warming.fits(code)
    assert len(compared) == 1


def test_runs_are_named_by_what_is_said_first_and_not_by_where_it_lies() -> None:
    shared = np.array([1, 2, 3], dtype=np.int32)
    shared.flags.writeable = False
    changing = shared.copy()
    cut = (shared[:2], shared[2:]), (shared[:0], shared), (changing[:2], changing[2:])
    programs = [hot.Program(*parts) for parts in cut]
    changing[0] = 7
    other = hot.Program(changing[:2], changing[2:])
    assert len({each.name for each in programs}) == 1
    assert other.name != programs[0].name
    assert all(one.is_same(same) for one in programs for same in programs)
    assert not any(one.is_same(other) for one in programs)
