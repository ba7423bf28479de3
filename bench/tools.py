"""Benchmark of tools: how long until a file is a tool, and a call until there is an answer.

Run: python bench/tools.py [--rounds N]. The C library is compiled before the clock runs. "New" is a
file that nobody saw before, "kept" one whose module and lowering are in the cache.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from curta.delegate.tools import Bounds, tools_of
from curta.delegate.tools.strangers import Strangers
from report import print_machine, print_table, spread

SOURCE = """
#include <string.h>
unsigned long long gcd(unsigned long long a, unsigned long long b) {{
    while (b) {{ unsigned long long rest = a % b; a = b; b = rest; }}
    return a;
}}
double mean(const double *values, int n) {{
    double sum = {round};
    for (int i = 0; i < n; i++) sum += values[i];
    return (sum - {round}) / n;
}}
int length(const char *text) {{ return strlen(text); }}
"""
PYTHON = "def mean(values: list[float]) -> float:\n    return sum(values) / len(values)\n"
STRANGE = "int main(void) {{ return {round} % 2; }}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=9)
    rounds = range(options.parse_args().rounds)
    print_machine(["numpy"])
    strangers = Strangers(Bounds())
    strangers.prepare()
    with TemporaryDirectory() as folder:
        print_table(
            "seconds", ["what", "median (least-most)"], rows(Path(folder), strangers, rounds)
        )


def rows(folder: Path, strangers: Strangers, rounds: Sequence[int]) -> list[list[str]]:
    now = time.time_ns()
    files = [folder / f"tool{n}.c" for n in rounds]
    for n, file in enumerate(files):
        file.write_text(SOURCE.format(round=now + n))
    (folder / "mean.py").write_text(PYTHON)
    new = [timed(partial(tools_of, [str(file)])) for file in files]
    kept = [timed(partial(tools_of, [str(file)])) for file in files]
    gcd, mean, length = tools_of([str(files[0])])
    (python,) = tools_of([f"{folder}/mean.py:mean"])
    hundred = {"values": [n / 7 for n in range(100)]}
    calls: dict[str, Callable[[], object]] = {
        "call: gcd of two words of 64 bits": lambda: gcd.call({"a": 2**63, "b": 3**39}),
        "call: mean of 100 doubles": lambda: mean.call({"values": hundred["values"]}),
        "call: length of a text of 1,000 bytes": lambda: length.call({"text": "x" * 1000}),
        "call: Python, in a process of its own": lambda: python.call(hundred),
    }
    found = {"a file of C, new": new, "a file of C, kept": kept}
    found |= {name: [timed(call) for _ in rounds] for name, call in calls.items()}
    sources = [STRANGE.format(round=now + n) for n in rounds]
    for name in ("run_c, new", "run_c, kept"):
        found[name] = [timed(partial(strangers.run_c, source)) for source in sources]
    return [[name, spread(seconds, 4)] for name, seconds in found.items()]


def timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
