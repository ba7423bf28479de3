"""What names a tool on a command line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from curta.delegate.tools import tools_of
from curta.errors import UserError

HERE = Path(__file__).parent
MODULE = """(module
  (func (export "_initialize"))
  (func (export "add") (param i64 i64) (result i64) (i64.add (local.get 0) (local.get 1)))
  (func (export "both") (param f64) (result f64 i32) (local.get 0) (i32.const 7)))"""


def test_a_file_is_all_of_its_functions_and_a_name_is_one() -> None:
    everything = tools_of([f"{HERE}/tools.c"])
    assert {"gcd", "mean", "solved"} <= {tool.name for tool in everything}
    (only,) = tools_of([f"{HERE}/tools.c:gcd"])
    assert only.call({"a": 12, "b": 18}).value == 6


def test_a_program_is_a_tool_that_reads_and_prints(tmp_path: Path) -> None:
    (tmp_path / "next-one.c").write_text(
        """/* The next letter. */
        void put(int, int) __attribute__((import_module("curta"), import_name("write")));
        int get(void) __attribute__((import_module("curta"), import_name("read")));
        int zero(void) { __builtin_trap(); }
        int main(int count, char **words) {
            int letter = get();
            return letter < 0 ? zero() : (put(1, letter + 1), letter == 'b');
        }"""
    )
    (tool,) = tools_of([f"{tmp_path}/next-one.c"])
    assert (tool.name, tool.description) == ("next_one", "The next letter.")
    assert tool.call({"input": "a"}).text == "b"
    assert tool.call({"input": "b"}).text == "c\n(ended with exit code 1)"
    assert tool.call({}).text == "gave up"
    assert tool.call({"input": 1}).text == "input: expected a text"
    (function,) = tools_of([f"{tmp_path}/next-one.c:zero"])
    assert function.call({}).text == "gave up"


def test_headers_beside_a_file_can_be_included(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("#define THREE 3\n")
    (tmp_path / "a.c").write_text('#include "own.h"\nint three(void) { return THREE; }\n')
    (tool,) = tools_of([f"{tmp_path}/a.c"])
    assert tool.call({}).value == 3
    (tmp_path / "own.h").write_text("#define THREE 4\n")
    (tool,) = tools_of([f"{tmp_path}/a.c"])
    assert tool.call({}).value == 4


def test_functions_of_a_module_take_and_give_numbers(tmp_path: Path) -> None:
    (tmp_path / "m.wat").write_text(MODULE)
    add, both = tools_of([f"{tmp_path}/m.wat"])
    assert add.sandboxed
    assert add.parameters["properties"]["p1"]["maximum"] == 2**63 - 1
    assert add.call({"p0": 2**62, "p1": -1}).value == 2**62 - 1
    assert both.call({"p0": 0.5}).value == [0.5, 7]


def test_the_calculator_is_a_tool() -> None:
    (tool,) = tools_of(["calc"])
    answer = tool.call({"expression": "2/3"})
    assert (answer.text, answer.value, answer.exact) == ("0.666667", Fraction(2, 3), False)
    assert tool.call({"expression": "1/0"}).text == "undefined"
    assert tool.call({"words": "1"}).text == "no argument 'words'"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("tools.txt", "expected calc, or a file"),
        ("absent.c", "there is no file absent.c"),
        (f"{HERE}/statistics_tool.py", "say which function of it, as in"),
        (f"{HERE}/tools.c:absent", "has no function absent; there are: days_between"),
        (f"{HERE}/tools.c:where", "where cannot be a tool: it returns struct point"),
        (f"{HERE}/tools.c:gcd {HERE}/tools.c:gcd", "there is a tool gcd already"),
    ],
)
def test_a_word_that_names_no_tool_says_what_to_do(word: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        tools_of(word.split())


def test_a_file_without_functions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("static int none(void) { return 1; }\n")
    with pytest.raises(UserError, match="has no function that can be called"):
        tools_of([f"{tmp_path}/a.c"])
