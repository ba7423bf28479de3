"""The gallery as a whole: quick to import, complete, and friendly about wrong input."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from curta.errors import TokenError
from curta.gallery import COUNTERPARTS, NAMES, PROGRAMS

# From tracr/compiler/lib.py; and from ALTA's framework/program_registry.py and folder of examples.
TRACR_LIBRARY = """
    make_length make_reverse make_pair_balance make_shuffle_dyck make_shuffle_dyck2 make_hist
    make_sort_unique make_sort make_sort_freq make_frac_prevs shift_by detect_pattern
    make_count_less_freq make_count make_nary_sequencemap
"""
ALTA_PROGRAMS = """
    parity_sequential_absolute parity_sequential_relative parity_sum_mod_2
    sparse_parity_sequential_absolute sparse_parity_sequential_relative sparse_parity_sum_mod_2
    addition sort_unique subleq scan scan_parser_program scan_sparse_program
"""

WRONG_INPUTS = {
    "parity": ["102", "abc"],
    "parity_sequential": ["2"],
    "copy": ["A", "é"],
    "reverse": ["="],
    "sort": ["B"],
    "histogram": ["a1"],
    "length": ["?"],
    "count": ["banana", "ab in abc", "a in 7"],
    "token_counts": ["1"],
    "double_histogram": ["1"],
    "count_rare": ["aaa", "x: aaa", "2: 7", "99999999: a"],
    "majority": ["1"],
    "unique": ["!"],
    "sort_records": ["a1", "1", "11"],
    "sort_frequency": ["1"],
    "dyck1": ["[]"],
    "dyckn": ["(a)"],
    "shuffle_dyck": ["x"],
    "prefix_fractions": ["hello"],
    "pair_balance": ["[]"],
    "shift": ["abc", "-1: abc"],
    "detect_pattern": ["abc", ": abc"],
    "sequence_map": ["1; 2", "12; 3; 4"],
    "addition": ["1", "1 + x", "-1 + 2", "1 + 2 + 3"],
    "subtraction": ["1", "1 - x", "1 - 2 - 3"],
    "multiplication": ["1", "1 * 1.5", " * 2"],
    "division": ["1", "1 / x", "1 / 0"],
    "counter": ["3", "5 to 4", "a to b"],
    "modular_counter": ["17", "17 mod 0", "9999999 mod 5"],
    "dfa": ["0a1", "0a; 0; a", "; 0; a", "0a1; a; a", "0a1; 0; A"],
    "dfa_compiled": ["x"],
    "subleq": ["", "a b c", "40000", "1 : 2 : 3"],
    "scan": ["", "jump opposite", "turn", "walk and run and jump", "after walk"],
}


def test_import_is_quick_and_light() -> None:
    code = (
        "import json, sys, time; start = time.perf_counter(); import curta.gallery;"
        "print(json.dumps([sorted(m for m in sys.modules if m in ('torch', 'numpy', 'highspy'))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[]]


def test_programs_are_named_after_their_modules_in_order() -> None:
    assert [program.name for program in PROGRAMS.values()] == list(NAMES)
    assert all(program.cases and program.summary for program in PROGRAMS.values())


def test_unknown_program() -> None:
    assert "sudoku" not in PROGRAMS
    with pytest.raises(KeyError):
        PROGRAMS["sudoku"]


def test_every_example_of_tracr_and_alta_has_a_counterpart() -> None:
    assert set(COUNTERPARTS["tracr"]) == set(TRACR_LIBRARY.split())
    assert set(COUNTERPARTS["alta"]) == set(ALTA_PROGRAMS.split())
    assert {ours for table in COUNTERPARTS.values() for ours in table.values()} <= set(NAMES)


def test_wrong_inputs_are_listed_for_every_program() -> None:
    assert list(WRONG_INPUTS) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_input_is_refused_with_an_explanation(name: str) -> None:
    for text in WRONG_INPUTS[name]:
        with pytest.raises(TokenError, match=r"expected|looks like|too large|at least|need|only"):
            PROGRAMS[name].encode(text)
