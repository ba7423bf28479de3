"""The library's WASI: real C programs beside wasmtime's own WASI, then function by function."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.machine.runtime.runtime_wasi import (
    Machine,
    Surroundings,
    compile_program,
    make_machine,
    run_on_library,
    run_on_wasmtime,
)
from tests.machine.runtime.runtime_wasi_signatures import SIGNATURES

PROGRAMS = Path(__file__).parent / "programs"
NUMBERS = b"Ada Lovelace\n3 0.5\n-7 1e3\n12 2.25\nthe rest\nof it"
CASES = {
    "floats": Surroundings(),
    "lines": Surroundings(standard_input=NUMBERS),
    "lines-empty": Surroundings(),
    "lines-long": Surroundings(standard_input=b"x" * 5000 + b"\n1 2\n"),
    "surroundings": Surroundings(
        arguments=("program", "two words", ""),
        environment=(("HOME", "/home/ada"), ("EMPTY", "")),
    ),
    "surroundings-bare": Surroundings(),
}
SUCCESS, EBADF, EINVAL, ENOSYS, ENOTDIR, ESPIPE = 0, 8, 28, 52, 54, 70


@cache
def compiled(name: str, *, import_memory: bool) -> bytes:
    return compile_program(PROGRAMS / f"{name}.c", import_memory=import_memory)


@pytest.mark.parametrize("case", CASES)
def test_programs_do_what_they_do_on_wasmtime(case: str) -> None:
    name = case.split("-")[0]
    expected = run_on_wasmtime(compiled(name, import_memory=False), CASES[case])
    got = run_on_library(compiled(name, import_memory=True), CASES[case])
    assert got == expected
    assert got.output


@pytest.fixture
def machine() -> Machine:
    surroundings = Surroundings(("a", "bc"), (("K", "v"),), b"one\ntwo\nend", seed=7)
    return make_machine(surroundings)


def word(machine: Machine, address: int) -> int:
    return int.from_bytes(machine.memory.read(machine.store, address, address + 4), "little")


def words(machine: Machine, *values: int) -> bytes:
    return b"".join((value & 0xFFFFFFFF).to_bytes(4, "little") for value in values)


def put(machine: Machine, address: int, *values: int) -> None:
    machine.memory.write(machine.store, words(machine, *values), address)


def read_bytes(machine: Machine, address: int, count: int) -> bytes:
    return bytes(machine.memory.read(machine.store, address, address + count))


def test_every_function_refuses_a_file_that_is_not_open(
    machine: Machine,
) -> None:
    first_is_file = [name for name in SIGNATURES if name.startswith(("fd_", "path_", "sock_"))]
    for name in first_is_file:
        count = len(SIGNATURES[name]) + SIGNATURES[name].count("I")
        arguments = [9] * count
        assert machine.call(name, *arguments) == EBADF, name


def test_files_that_are_streams_refuse_what_streams_cannot_do(machine: Machine) -> None:
    assert machine.call("fd_seek", 1, 0, 0, 0, 64) == ESPIPE
    assert machine.call("fd_tell", 0, 64) == ESPIPE
    assert machine.call("fd_prestat_get", 3, 64) == EBADF
    assert machine.call("path_open", 1, 0, 64, 1, 0, 0, 0, 0, 0, 0, 64) == ENOTDIR
    assert machine.call("proc_raise", 6) == ENOSYS
    assert machine.call("fd_write", 0, 64, 0, 128) == EBADF
    assert machine.call("fd_read", 1, 64, 0, 128) == EBADF


def test_a_closed_file_is_no_file(machine: Machine) -> None:
    assert machine.call("fd_close", 1) == SUCCESS
    assert machine.call("fd_close", 1) == EBADF
    assert machine.call("fd_write", 1, 64, 0, 128) == EBADF
    assert machine.call("fd_write", 2, 64, 0, 128) == SUCCESS


def test_read_stops_after_a_newline_a_full_buffer_and_the_end(machine: Machine) -> None:
    put(machine, 64, 256, 3, 300, 0, 320, 100)  # buffers of 3, 0 and 100 bytes
    counts = []
    for _ in range(5):
        assert machine.call("fd_read", 0, 64, 3, 128) == SUCCESS
        counts.append(word(machine, 128))
    assert counts == [4, 4, 3, 0, 0]
    assert machine.host.position == len(b"one\ntwo\nend") + 3  # the end was met three times


def test_write_takes_all_buffers_of_any_length(machine: Machine) -> None:
    text = bytes(range(1, 40))
    machine.memory.write(machine.store, text, 500)
    for length in range(20):
        put(machine, 64, 500, length, 501, 0, 503, 9)
        machine.host.run.output.clear()
        assert machine.call("fd_write", 1, 64, 3, 128) == SUCCESS
        assert bytes(machine.host.run.output) == text[:length] + text[3:12]
        assert word(machine, 128) == length + 9


def test_arguments_and_environment(machine: Machine) -> None:
    assert machine.call("args_sizes_get", 64, 68) == SUCCESS
    assert (word(machine, 64), word(machine, 68)) == (2, 5)
    assert machine.call("args_get", 72, 200) == SUCCESS
    assert (word(machine, 72), word(machine, 76)) == (200, 202)
    assert read_bytes(machine, 200, 5) == b"a\0bc\0"
    assert machine.call("environ_sizes_get", 64, 68) == SUCCESS
    assert (word(machine, 64), word(machine, 68)) == (1, 4)
    assert machine.call("environ_get", 72, 300) == SUCCESS
    assert read_bytes(machine, 300, 4) == b"K=v\0"


def clock(machine: Machine, which: int) -> int:
    assert machine.call("clock_time_get", which, 0, 0, 64) == SUCCESS
    return word(machine, 64) | word(machine, 68) << 32


def test_the_clock_counts_readings_and_sleep(machine: Machine) -> None:
    assert machine.call("clock_res_get", 1, 64) == SUCCESS
    assert word(machine, 64) == 1_000_000
    assert [clock(machine, 1) for _ in range(3)] == [1_000_000, 2_000_000, 3_000_000]
    assert clock(machine, 0) == 946_684_800_000_000_000 + 4_000_000
    assert machine.call("clock_time_get", 4, 0, 0, 64) == EINVAL
    # userdata, tag 0 (clock), clock id 1, timeout 5 s, precision, relative
    put(machine, 256, 11, 12, 0, 0, 1, 0, 5_000_000_000, 5_000_000_000 >> 32, 0, 0, 0, 0)
    assert machine.call("poll_oneoff", 256, 512, 1, 64) == SUCCESS
    assert (word(machine, 64), word(machine, 512), word(machine, 516)) == (1, 11, 12)
    assert clock(machine, 1) == 5_005_000_000


def test_poll_reports_files_as_ready_before_any_sleep(machine: Machine) -> None:
    put(machine, 256, 1, 0, 0, 0, 1, 0, 1000, 0, 0, 0, 0, 0)
    put(machine, 304, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)  # read of file 0
    put(machine, 352, 3, 0, 2, 0, 8, 0, 0, 0, 0, 0, 0, 0)  # write to file 8
    assert machine.call("poll_oneoff", 256, 512, 3, 64) == SUCCESS
    assert word(machine, 64) == 2
    assert read_bytes(machine, 512, 11) == words(machine, 2, 0) + b"\0\0\1"
    assert read_bytes(machine, 544, 11) == words(machine, 3, 0) + b"\x08\0\2"
    assert machine.call("poll_oneoff", 256, 512, 0, 64) == EINVAL


def test_random_bytes_follow_from_the_seed_and_look_random() -> None:
    def draw(seed: int, *counts: int) -> bytes:
        machine = make_machine(Surroundings(seed=seed))
        out = b""
        for count in counts:
            machine.memory.write(machine.store, bytes(4), 1024 + count)
            assert machine.call("random_get", 1024, count) == SUCCESS
            out += read_bytes(machine, 1024, count)
            assert read_bytes(machine, 1024 + count, 4) == bytes(4)
        return out

    assert draw(1, 4096) == draw(1, 4096)
    assert draw(1, 8, 7, 1) != draw(2, 8, 7, 1)
    sample = draw(3, 40000)
    ones = sum(byte.bit_count() for byte in sample)
    assert abs(ones - 160000) < 5 * 283  # five standard deviations
    expected = len(sample) / 256
    deviation = sum((sample.count(bytes([b])) - expected) ** 2 for b in range(256)) / expected
    assert 150 < deviation < 370  # chi-squared with 255 degrees of freedom
