"""Random sequences of WASI's functions in the transformer's weights, beside wasmtime's own WASI."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from curta import Machine
from curta.machine.toolchain import read_program
from curta.machine.verify.on_wasmtime import Outcome, run_on_wasmtime
from tests.machine.fuzz.rounds import seeds

SCRIPTS = 2
CALLS = 60
PROGRAM = Path(__file__).parent / "wasi_script.c"
FLAGS = ("-Wno-everything",)
OPERATIONS = {  # as in the program, and how often
    "write": 6,
    "read": 3,
    "arguments": 1,
    "variables": 1,
    "clock": 2,
    "random": 2,
    "no file": 6,
    "stream": 6,
    "close": 0,
}
CLOSE, END = list(OPERATIONS).index("close"), len(OPERATIONS)
LETTERS = "abc =\tÄß\U0001f600\n"


@seeds()
def test_calls_do_what_they_do_in_wasmtime(machine: Machine, seed: int, tmp_path: Path) -> None:
    tally = Counter[str]()
    for number in range(SCRIPTS):
        check(machine, Random(f"{seed} {number}"), tmp_path, tally)
    print(dict(tally))
    assert tally["calls"] == SCRIPTS * (CALLS + 2)


def check(machine: Machine, random: Random, folder: Path, tally: Counter[str]) -> None:
    rows = script(random)
    (folder / "script.inc").write_text("".join(f"{{{', '.join(row)}}},\n" for row in rows))
    module = read_program(PROGRAM, [*FLAGS, f"-I{folder}"])
    arguments = [text(random) for _ in range(random.randrange(5))]
    variables = {f"NAME{place}": text(random) for place in range(random.randrange(5))}
    given = bytes(random.choice(b"\n ab\0\xff") for _ in range(random.randrange(2000)))
    expected = run_on_wasmtime(module, ["program", *arguments], variables, given)
    run = machine.run(module, args=arguments, env=variables, stdin=given, name="program")
    assert Outcome(run.stdout, run.stderr, run.exit_code) == expected, rows
    assert len(expected.stdout) > CALLS
    tally["calls"] += len(rows)
    tally["tokens"] += run.figures.generated


def script(random: Random) -> list[tuple[str, ...]]:
    """Operations and operands; towards the end a stream may be closed."""
    chosen = random.choices(range(len(OPERATIONS)), list(OPERATIONS.values()), k=CALLS)
    chosen.insert(random.randrange(CALLS // 2, CALLS), CLOSE)
    rows = [(kind, *(random.getrandbits(16) for _ in range(3))) for kind in chosen]
    rows.append((END, random.randrange(126), 0, 0))
    return [tuple(map(str, row)) for row in rows]


def text(random: Random) -> str:
    return "".join(random.choice(LETTERS) for _ in range(random.randrange(12)))
