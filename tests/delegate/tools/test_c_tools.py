"""Functions of C as tools: what their signatures say, and what they answer beside native code."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.delegate.given_up import GIVEN_UP
from curta.delegate.tools import Tool, wrapper
from curta.delegate.tools.compile import Source
from curta.delegate.tools.program import MainTool, ProgramTool, c_tools
from curta.delegate.tools.signature import Function
from curta.delegate.tools.tool import Bounds
from curta.engine.toolchain import build_library
from curta.errors import ToolError

Tools = dict[str, ProgramTool]
INT = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
SHORT = {"type": "integer", "minimum": -(2**15), "maximum": 2**15 - 1}


# -- signatures ---------------------------------------------


def test_a_comment_describes_a_function_and_its_parameters(tools: Tools) -> None:
    tool = tools["days_between"]
    assert tool.description == "Days between two dates, roughly."
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "first": INT | {"description": "the earlier one"},
            "second": INT | {"description": "the later one"},
        },
        "required": ["first", "second"],
        "additionalProperties": False,
    }
    assert tools["gcd"].description == "The greatest common divisor."


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "gcd": {"a": {"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, "b": ...},
        "mean": {"values": {"type": "array", "items": {"type": "number"}}},
        "dot": {"x": {"type": "array", "items": SHORT}, "y": {"type": "array", "items": INT}},
        "reverse": {"words": {"type": "string"}},
        "greet": {"name": {"type": "string"}},
        "sort": {"values": {"type": "array", "items": INT}},
        "primes_below": {"limit": INT},
        "split": {"seconds": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}},
        "solved": {
            "board": {"type": "array", "items": INT, "minItems": 4, "maxItems": 4},
            "colour": INT,
        },
        "count": {},
    }.items(),
)  # fmt: skip
def test_a_signature_is_a_schema(name: str, expected: dict[str, Any], tools: Tools) -> None:
    properties = tools[name].parameters["properties"]
    assert list(properties) == list(expected)
    assert all(properties[each] == kind for each, kind in expected.items() if kind is not ...)


@pytest.mark.parametrize(
    ("name", "reason"),
    {
        "missing_length": "p needs its length behind it, such as int n_p",
        "sized": "buffer is char *: say const char *, or call it out_buffer",
        "any": "takes any number of arguments",
        "where": "it returns struct point: return a number, a text",
    }.items(),
)
def test_what_cannot_be_a_tool_says_why(
    name: str, reason: str, found: dict[str, Tool | ToolError]
) -> None:
    assert reason in str(found[name])


def test_only_functions_with_a_body_that_others_can_call_are_offered(
    found: dict[str, Tool | ToolError],
) -> None:
    assert not {"hidden", "_private", "declared", "main", "strlen"} & set(found)


# -- answers ---------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("reverse", {"words": ""}, ""),
        ("reverse", {"words": bytes(range(1, 128)).decode()}, bytes(range(127, 0, -1)).decode()),
        ("nothing", {"is_there": 1}, "yes"),
        ("nothing", {"is_there": 0}, None),
        ("greet", {"name": "Zoë 🦉"}, "hello Zoë 🦉"),
        ("primes_below", {"limit": 12}, [2, 3, 5, 7, 11]),
        ("primes_below", {"limit": 0}, []),
        ("running", {"values": [1, 2, 0.5]}, [1.0, 3.0, 3.5]),
        ("running", {"values": []}, []),
        ("split", {"seconds": 7385}, {"hours": 2, "minutes": 3}),
        ("solved", {"board": [0, 1, 2, 3], "colour": 5}, {"result": True, "board": [8, 7, 6, 5]}),
        ("half", {"number": 3}, 1.5),
        ("NATIVE", {}, {"result": 4, "out_result": 3, "out": 3, "out_x": 3}),
        ("digits", {"digits": [1, 255]}, 255),
        ("take", {"at": 6, "room": 7}, 42),
        ("days_between", {"first": 2.0, "second": 5}, 3),
    ],
)
def test_a_call_has_a_result(name: str, arguments: Any, value: Any, tools: Tools) -> None:
    answer = tools[name].call(arguments)
    assert (answer.value, answer.error) == (value, None)
    assert answer.tokens > 0


def test_what_was_rounded_is_not_exact(tools: Tools) -> None:
    assert not tools["half"].call({"number": 3}).exact
    assert not tools["running"].call({"values": [1]}).exact
    assert tools["primes_below"].call({"limit": 5}).exact


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("divide", {"a": 1, "b": 0}, "divided by zero"),
        ("divide", {"a": -(2**31), "b": -1}, "a number is too large"),
        ("divide", {"a": 1}, "b is missing"),
        ("divide", {"a": 1, "b": 2, "c": 3}, "no argument 'c'"),
        ("divide", {"a": 2**31, "b": 1}, "a: expected a whole number from -2147483648"),
        ("divide", {"a": "1", "b": 1}, "a: expected a whole number"),
        ("divide", {"a": True, "b": 1}, "a: expected a whole number"),
        ("divide", [1, 2], "arguments: expected an object"),
        ("spin", {}, "took too long"),
        ("leave", {"code": 3}, "ended itself with exit code 3"),
        ("outside", {"page": 20_000}, "used memory that is not there"),
        ("mean", {"values": []}, "not a number"),
        ("mean", {"values": [1e308, 1e308]}, "infinite"),
        ("mean", {"values": [math.nan]}, "values[0]: expected a number that a float can hold"),
        ("half", {"number": 1e300}, "number: too large"),
        ("dot", {"x": [1, 2], "y": [3]}, "y: expected a list of 2"),
        ("dot", {"x": [1, 40_000], "y": [3, 4]}, "x[1]: expected a whole number"),
        ("solved", {"board": [1], "colour": 0}, "board: expected a list of 4"),
        ("reverse", {"words": "a\0b"}, "words: expected a text without zero characters"),
        ("reverse", {"words": "\ud800"}, "words: expected a text without halves of characters"),
        ("reverse", {"words": "é"}, "text is not UTF-8"),
        ("reverse", {"words": "x" * 5_000}, "result too long"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_short_words(
    name: str, arguments: Any, words: str, tools: Tools
) -> None:
    answer = tools[name].call(arguments)
    assert answer.text.startswith(words)
    assert len(answer.text) <= 80
    assert (answer.value, answer.exact) == (None, False)
    assert answer.error


@pytest.mark.parametrize("written", [b"", b"\1\0"])
def test_results_that_were_overwritten_are_refused(written: bytes) -> None:
    function = Function("f", "", (), "int")
    with pytest.raises(ToolError, match="f overwrote its own results"):
        wrapper.read(function, written, {})


def test_a_call_knows_nothing_of_others(tools: Tools) -> None:
    assert [tools["count"].call({}) for _ in range(3)] == [tools["count"].call({})] * 3


def test_calls_at_once_do_not_disturb_one_another(tools: Tools) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda n: tools["primes_below"].call({"limit": n}), range(2, 40))
    assert [len(answer.value) for answer in answers] == [
        sum(all(n % d for d in range(2, n)) for n in range(2, limit)) for limit in range(2, 40)
    ]


# -- beside native code ---------------------------------------------


@pytest.fixture(scope="module")
def native() -> ctypes.CDLL:
    """The same file, compiled for this computer."""
    source = Path(__file__).with_name("tools.c").read_text()
    return ctypes.CDLL(str(build_library(source, name="tools_test")))


def function(library: ctypes.CDLL, name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
    found = library[name]
    found.restype, found.argtypes = result, parameters
    return found


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
INTS = st.integers(-(2**31), 2**31 - 1)
BIG = st.integers(0, 2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(a=BIG, b=BIG)
def test_gcd_is_that_of_native_code(a: int, b: int, tools: Tools, native: ctypes.CDLL) -> None:
    theirs = function(native, "gcd", ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)
    assert tools["gcd"].call({"a": a, "b": b}).value == theirs(a, b)


@given(first=INTS, second=INTS)
def test_differences_wrap_around_alike(
    first: int, second: int, tools: Tools, native: ctypes.CDLL
) -> None:
    theirs = function(native, "days_between", ctypes.c_int, ctypes.c_int, ctypes.c_int)
    answer = tools["days_between"].call({"first": first, "second": second})
    assert answer.value == theirs(first, second)


@given(words=WORDS)
def test_texts_have_the_same_bytes(words: str, tools: Tools, native: ctypes.CDLL) -> None:
    theirs = function(native, "bytes", ctypes.c_uint, ctypes.c_char_p)
    assert tools["bytes"].call({"words": words}).value == theirs(words.encode())
    assert tools["greet"].call({"name": words}).value == f"hello {words}"


@given(values=st.lists(FLOATS, min_size=1, max_size=20))
def test_means_are_rounded_alike(values: list[float], tools: Tools, native: ctypes.CDLL) -> None:
    theirs = function(native, "mean", ctypes.c_double, ctypes.c_void_p, ctypes.c_int)
    expected = theirs((ctypes.c_double * len(values))(*values), len(values))
    answer = tools["mean"].call({"values": values})
    assert answer.value == expected if math.isfinite(expected) else answer.error


@given(pairs=st.lists(st.tuples(st.integers(-(2**15), 2**15 - 1), INTS), max_size=20))
def test_arrays_of_two_types_are_multiplied_alike(
    pairs: list[tuple[int, int]], tools: Tools
) -> None:
    x, y = [one for one, _ in pairs], [two for _, two in pairs]
    assert tools["dot"].call({"x": x, "y": y}).value == sum(one * two for one, two in pairs)


@given(values=st.lists(INTS, max_size=20))
def test_an_array_is_sorted_in_its_place(values: list[int], tools: Tools) -> None:
    assert tools["sort"].call({"values": values}).value == sorted(values)


def test_a_call_that_nobody_waits_for_ends(tools: Tools) -> None:
    given_up = Event()
    given_up.set()
    context = copy_context()
    context.run(GIVEN_UP.set, given_up)
    answer = context.run(tools["spin"].call, {})
    assert answer.error == "nobody waits for the call any more"
    assert answer.tokens < 50_000_000


@pytest.mark.parametrize(
    "text",
    [
        "/* Says hello. */\n#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n",
        "/* Apart. */\n#include <stdio.h>\n"
        "/* Says\n * hello. */\nint main(void) { puts(\"hello\"); }\n",
    ],
)  # fmt: skip
def test_a_program_is_described_by_the_comment_above_main_or_its_first(text: str) -> None:
    tool = c_tools(Source("hello.c", text), Bounds())["hello"]
    assert isinstance(tool, MainTool)
    assert " ".join(tool.description.split()) == "Says hello."
    assert tool.call({}).text == "hello\n"
