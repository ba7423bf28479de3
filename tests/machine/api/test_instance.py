"""Instances: conversations with a program, here with the machine in plain Python."""

from __future__ import annotations

import io
import math
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from curta import Machine, Trap
from curta.errors import CurtaError, ExitError, FileError, LimitError, ProgramError, UserError
from curta.machine import conversation
from curta.machine.conversation import Conversation, ConversationLimits, Figures
from curta.machine.encode import encode
from curta.machine.host import Host
from curta.machine.instance import Instance
from curta.machine.loaded import LoadedProgram
from curta.machine.prompt import decode_prompt
from tests.machine.api.core_programs import program

LOADED = LoadedProgram.from_core(program())


def started(host: Host | None = None, limits: ConversationLimits | None = None) -> Instance:
    return Machine("reference").start(LOADED, host, limits or ConversationLimits())


def test_results_are_python_numbers() -> None:
    instance = started()
    assert instance.invoke("add", 30, 12) == 42
    assert instance.invoke("add", 2**31 - 1, 1) == -(2**31)
    assert instance.invoke("add", 2**32 - 1, -1) == -2
    assert instance.invoke("swap", -(2**63) + 5) == (-(2**31), 5)
    assert instance.invoke("same", 1.5) == 1.5
    assert instance.invoke("same", 3) == 3.0
    assert math.isnan(float(instance.invoke("same", math.nan)))  # type: ignore[arg-type]
    assert instance.invoke("_start") is None
    assert instance.invoke("add", np.int64(4), True) == 5


def test_bits_keep_the_payload_of_a_nan() -> None:
    assert started().invoke_bits("same", [0x7FF00000_00000001]) == [0x7FF00000_00000001]
    assert started().invoke_bits("add", [0xFFFFFFFF, 0]) == [0xFFFFFFFF]


@pytest.mark.parametrize(
    ("name", "numbers", "words"),
    [
        ("add", (1,), "add takes 2 arguments"),
        ("add", (1, 1.5), "argument 2 of add is of type i32: 1.5 is not an integer"),
        ("add", (2**32, 0), "argument 1 of add is of type i32: 4294967296 is outside"),
        ("add", (-(2**31) - 1, 0), "outside of"),
        ("same", ("x",), "'x' is not a number"),
        ("same", (None,), "None is not a number"),
        ("same", (10**400,), "does not fit"),
        ("nothing", (), "no function 'nothing' is exported; there are: add, swap"),
    ],
)
def test_what_is_no_argument_is_a_clear_error(
    name: str, numbers: tuple[float, ...], words: str
) -> None:
    with pytest.raises(UserError, match=words.replace("(", r"\(")):
        started().invoke(name, *numbers)


def test_patterns_are_checked_too() -> None:
    with pytest.raises(UserError, match="-1 is not the bit pattern of an i32"):
        started().invoke_bits("add", [-1, 0])


def test_a_trap_has_its_message_and_its_place_and_is_survived() -> None:
    instance = started()
    with pytest.raises(Trap, match="integer divide by zero") as caught:
        instance.invoke("divide", 1, 0)
    assert caught.value.reason == "integer divide by zero"
    assert instance.invoke("divide", -7, 2) == -3
    with pytest.raises(Trap, match="integer overflow"):
        instance.invoke("divide", -(2**31), -1)
    assert instance.invoke("add", 1, 1) == 2


def test_a_trap_in_the_library_is_placed_in_the_users_function() -> None:
    instance = started()
    with pytest.raises(Trap) as caught:
        instance.invoke("divide", 1, 0)
    assert caught.value.where == "in function $stub0"  # the user's code that was executed last


def test_a_program_can_end_itself() -> None:
    instance = started()
    with pytest.raises(ExitError) as caught:
        instance.invoke("quit", 70000)
    assert caught.value.code == 70000
    assert instance.invoke("add", 1, 1) == 2


@pytest.mark.parametrize("stdin", [b"hello", io.BytesIO(b"hello")], ids=["bytes", "file"])
def test_input_and_output(stdin: bytes | io.BytesIO) -> None:
    out: list[bytes] = []
    err: list[bytes] = []
    instance = started(Host(stdin, out.append, err.append))
    instance.invoke("_start")
    assert (instance.stdout, instance.stderr) == (b"hello", b"!")
    assert (b"".join(out), err) == (b"hello", [b"!"])


def test_output_comes_before_the_next_byte_is_asked_for() -> None:
    heard: list[bytes] = []

    class Person:
        def read(self, size: int) -> bytes:
            assert size == 1
            return b"abc"[len(heard) :][:1]

    started(Host(Person(), heard.append)).invoke("_start")
    assert heard == [b"a", b"b", b"c"]


def test_no_input_is_an_empty_one() -> None:
    instance = started()
    instance.invoke("_start")
    assert instance.stdout == b""


def test_the_trace_is_the_whole_conversation() -> None:
    instance = started()
    prompt = encode(program())
    assert instance.trace[: len(prompt)] == prompt
    before = len(instance.trace)
    instance.invoke("add", 1, 5000)
    said = instance.trace[before:]
    assert said[:6] == ["L1", "L8", "L12", "J9", "await.", "L1"]
    assert said[6:] == ["await.", "M1", "L904", "M1", "L905", "J-15", "await."]
    assert list(instance.trace) == instance.trace[:]
    assert instance.trace[-1] == "await."
    assert len(instance.trace.ids) == len(instance.trace) == instance.figures.tokens
    assert "await." in repr(instance.trace)
    with pytest.raises(IndexError):
        instance.trace[len(instance.trace)]


def test_figures_count_instructions() -> None:
    instance = started()
    before = instance.figures
    instance.invoke("add", 1, 2)
    after = instance.figures
    assert (
        after.instructions - before.instructions == 8
    )  # await, mul, add, call, 2 awaits, add, jump
    assert after.prompt_tokens == len(encode(program()))
    assert after.generated == len(instance.trace) - after.prompt_tokens
    assert after.seconds > before.seconds > 0


def test_a_token_limit_is_an_error_and_not_a_hang() -> None:
    limit = LOADED.prompt().size + 10_000
    seen: list[Figures] = []
    instance = started(Host(on_progress=seen.append), ConversationLimits(max_tokens=limit))
    with pytest.raises(LimitError, match=rf"limit of {limit:,} tokens"):
        instance.invoke("spin")
    assert len(instance.trace) == instance.figures.tokens
    assert seen[-1] == instance.figures
    assert instance.figures.generated == 10_000
    with pytest.raises(CurtaError, match="limit of"):
        instance.invoke("add", 1, 1)


def test_figures_are_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not behind every chunk: a run waits for its ledger then, which another thread keeps. But how
    far it came in the end is told whatever the time."""

    def told(untold: float) -> list[Figures]:
        monkeypatch.setattr(conversation, "UNTOLD_SECONDS", untold)
        limit, seen = LOADED.prompt().size + 300_000, list[Figures]()
        instance = started(Host(on_progress=seen.append), ConversationLimits(max_tokens=limit))
        del seen[:]
        with pytest.raises(LimitError):
            instance.invoke("spin")
        *before, last = seen
        assert last == instance.figures
        assert all(b.seconds >= a.seconds + untold for a, b in pairwise(before))
        return before

    assert len(told(0)) > 1
    assert len(told(1000)) == 1, "when it began"


def test_the_last_figures_told_are_those_of_the_run() -> None:
    seen: list[Figures] = []
    instance = started(Host(on_progress=seen.append))
    assert seen[-1] == instance.figures
    for name, words in (("add", (1, 1)), ("divide", (1, 0)), ("add", (2, 2))):
        with suppress(Trap):
            instance.invoke(name, *words)
        assert seen[-1] == instance.figures


def test_a_limit_below_the_prompt() -> None:
    with pytest.raises(LimitError, match="limit of 10 tokens"):
        started(limits=ConversationLimits(max_tokens=10))


@pytest.mark.parametrize("limits", [{"max_tokens": -1}, {"max_memory": 1.5}])
def test_limits_are_checked(limits: dict[str, int]) -> None:
    with pytest.raises(UserError, match="expected a number that is not negative"):
        ConversationLimits(**limits)


def test_without_a_trace_nothing_is_kept_but_the_results() -> None:
    instance = started(limits=ConversationLimits(keep_trace=False))
    assert instance.invoke("add", 1, 2) == 3
    assert len(instance.trace) == 0
    with pytest.raises(Trap, match="divide by zero"):
        instance.invoke("divide", 1, 0)


def test_levels_are_checked() -> None:
    with pytest.raises(UserError, match="expected one of"):
        Machine("magic")  # type: ignore[arg-type]


def test_prompts_are_what_encode_says() -> None:
    assert LOADED.prompt().tolist() == [_id(token) for token in encode(program())]
    again = decode_prompt(LOADED.prompt())
    assert again.instructions == program().instructions
    assert again.segments == program().segments


def _id(token: str) -> int:
    from curta.machine.ids import ID_OF

    return ID_OF[token]


def test_a_loaded_program_survives_its_file() -> None:
    again = LoadedProgram.from_bytes(LOADED.to_bytes())
    assert again.core_program() == LOADED.core_program() == program()
    assert again.prompt().tolist() == LOADED.prompt().tolist()
    content = LOADED.to_bytes()
    changed = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
    for broken in (b"", content[:-1], content[:40], b"x" + content, content + b"x", changed):
        with pytest.raises(UserError, match="not a lowered program"):
            LoadedProgram.from_bytes(broken)


def test_forged_programs_are_refused() -> None:
    """With a correct digest: what no program has, and the ledger in C does not look for."""
    rows = [LOADED.rows.copy() for _ in range(3)]
    rows[0]["d"][0], rows[1]["target"][0], rows[2]["operation"][0] = 1 << 16, 1 << 24, 1 << 20
    origins = np.concatenate([LOADED.origins, LOADED.origins])
    forged = [*(replace(LOADED, rows=each) for each in rows), replace(LOADED, origins=origins)]
    for one in forged:
        with pytest.raises(FileError, match=r"not a lowered program: (an op|there are more)"):
            LoadedProgram.from_bytes(one.to_bytes())


def test_an_instance_that_is_executing_cannot_be_invoked() -> None:
    def ask(_: Figures) -> None:
        if instances:
            instances[0].invoke("add", 1, 2)

    instances: list[Instance] = []
    instances.append(started(Host(on_progress=ask)))
    with pytest.raises(UserError, match="is being executed"):
        instances[0].invoke("add", 1, 2)


def test_input_that_fails_ends_the_run() -> None:
    """What was asked before would go on in what is asked next."""

    class Broken:
        def read(self, size: int, /) -> bytes:
            raise OSError("unplugged")

    instance = started(Host(Broken()))
    with pytest.raises(OSError, match="unplugged"):
        instance.invoke("_start")
    with pytest.raises(CurtaError, match="interrupted"):
        instance.invoke("add", 1, 2)


@pytest.mark.parametrize("error", [Trap("unreachable"), ExitError(7)])
def test_how_another_program_ended_is_not_how_this_one_did(error: CurtaError) -> None:
    """It came out of a function of the host; what it interrupted would go on in what comes next."""

    def tell(_: bytes) -> None:
        raise error

    instance = started(Host(b"input", on_stdout=tell))
    with pytest.raises(CurtaError, match="interrupted") as found:
        instance.run()
    assert found.value.__cause__ is error
    with pytest.raises(CurtaError, match="interrupted"):
        instance.invoke("add", 1, 2)


def test_a_conversation_that_did_not_begin_cannot_be_used() -> None:
    """Nor while it is beginning, when there is nothing yet to be told of it."""
    begun = list[Conversation]()

    def starts(conversation: Conversation) -> None:
        begun.append(conversation)
        assert conversation.figures.tokens == 0
        with pytest.raises(ProgramError, match="interrupted as it began"):
            Instance(conversation).invoke("add", 1, 2)

    def interrupt(figures: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        started(Host(on_start=starts, on_progress=interrupt))
    with pytest.raises(ProgramError, match="interrupted as it began"):
        Instance(begun[0]).invoke("add", 1, 2)
