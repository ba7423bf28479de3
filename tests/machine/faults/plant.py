"""Plants faults in the lowering and says who notices them.

    python tests/machine/faults/plant.py --seed 0 --out faults.jsonl

Every fault changes one thing: in the tables and the source of the lowering, between its passes, or
in what comes out. `--kinds` takes the beginnings of kinds. The table of what the checkers, the
validator and the corpus notice, each alone, comes at the end.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

_MACHINE = Path(__file__).parents[1]
for _folder in (_MACHINE / "faults", _MACHINE / "wasm", _MACHINE / "lower"):
    sys.path.insert(0, str(_folder))

from tests.machine.faults.corpus import make_corpus  # noqa: E402
from tests.machine.faults.drawing import Plan, draw_faults  # noqa: E402
from tests.machine.faults.fault_table import lists, record, recorded, table  # noqa: E402
from tests.machine.faults.judging import Judge, Verdict  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=[""])
    parser.add_argument("--out", type=Path, help="a file that gets a line of JSON for each fault")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to stop")
    parser.add_argument("--everywhere", action="store_true", help="look at all programs each time")
    parser.add_argument("--read", type=Path, nargs="*", help="only count what such files say")
    options = parser.parse_args()
    if options.read:
        lines = [line for path in options.read for line in path.read_text().splitlines()]
        read = [recorded(line) for line in lines]
        print(lists(read), table(read), sep="\n\n")
        return
    os.environ.setdefault("CURTA_CACHE", str(Path.home() / ".cache" / "curta"))
    begun = time.monotonic()
    judge = Judge.of(make_corpus())
    for name, reason in judge.left_out.items():
        print(f"left out: {name}: {reason[:160]}")
    print(f"{len(judge.rights)} programs, {time.monotonic() - begun:.1f} s", flush=True)
    verdicts: list[Verdict] = []
    for fault in draw_faults(judge, Plan(), options.seed):
        if not fault.kind.startswith(tuple(options.kinds)):
            continue
        if time.monotonic() - begun > options.seconds:
            print("stopped: no more time")
            break
        verdicts.append(judge.judge(fault, everywhere=options.everywhere))
        _tell(verdicts[-1], options.out)
    print(lists(verdicts), table(verdicts), f"{time.monotonic() - begun:.0f} s", sep="\n\n")


def _tell(verdict: Verdict, out: Path | None) -> None:
    if out is not None:
        with out.open("a") as file:
            file.write(record(verdict) + "\n")
    if verdict.holes:
        print(f"HOLE {verdict.fault}: {verdict.holes[0]}", flush=True)


if __name__ == "__main__":
    main()
