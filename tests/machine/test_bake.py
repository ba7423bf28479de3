"""A program in the weights says what the same program says from the prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from curta.engine import load
from curta.errors import FileError
from curta.gallery import PROGRAMS
from curta.machine.bake import bake, load_baked, with_stores
from curta.machine.encode import encode_word
from curta.machine.instructions import MEMORY_PAGES, Instruction
from curta.machine.program import PRIVATE, CoreProgram, Segment
from curta.machine.reference import CoreMachine
from curta.machine.vocabulary import START

PROGRAM = CoreProgram(
    (
        Instruction("await", d=40000),
        Instruction("jump_table", a=40000, immediate=2),
        Instruction("jump", target=5),  # entry 0
        Instruction("jump", target=7),  # entry 1
        Instruction("jump", target=0),
        Instruction("copy", d=MEMORY_PAGES, immediate=1),
        Instruction("jump", target=0),
        Instruction("await", d=0),
        Instruction("load32", a=0, d=1, immediate=4),
        Instruction("peek32", a=0, d=2),
        Instruction("xor", a=1, immediate=0xDEADBEEF, d=1),
        Instruction("sub", a=0, immediate=1, d=0),
        Instruction("jump_ne", a=0, immediate=0, target=8),
        Instruction("load32", a=0, d=1, immediate=65533),
    ),
    (Segment(4, b"exactly"), Segment(6, b"\0!"), Segment(PRIVATE + 1, b"\xff\xff\xff\xff")),
)
WORDS = [0, 1, 6]


def test_a_baked_program_says_what_the_prompted_one_says(tmp_path: Path) -> None:
    path = tmp_path / "program.safetensors"
    bake(PROGRAM).save(path)
    baked = load_baked(path)
    engine = load(baked.model, "native")
    prompt = baked.program.prompt()
    assert [engine.vocabulary[token] for token in prompt] == [START]
    assert "add#" not in engine.vocabulary
    session, reference = engine.session(), CoreMachine(with_stores(PROGRAM))
    following = session.feed(int(prompt[0]))
    said: list[str] = []
    for word in [*WORDS, None]:
        reference.run()
        while True:
            said.append(engine.vocabulary[following])
            stopped = following in engine.stops
            following = session.feed(following)
            if stopped:
                break
        if word is not None:
            digits = encode_word(word)
            said += digits
            reference.give(word)
            for token in engine.encode(digits):
                following = session.feed(token)
    assert said == reference.tokens
    assert "trap4" in said


def test_other_models_are_no_baked_programs(tmp_path: Path) -> None:
    from curta.compiler import compile

    path = tmp_path / "model.safetensors"
    compile(next(iter(PROGRAMS.values())).build(), 100).save(path)
    with pytest.raises(FileError, match="no baked program"):
        load_baked(path)
