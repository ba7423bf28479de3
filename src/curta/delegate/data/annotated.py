"""Sets whose answers are annotated with calculations, in the form that curta's model writes.

GSM8K: `She sold 48/2 = <<48/2=24>>24 clips.` becomes `She sold <<calc: 48/2>> = 24 clips.`
Calc-X: `<gadget id="calculator">48/2</gadget><output>24</output>` becomes the same.

Every expression is evaluated, and an example is dropped if one of them, or the number that stands
behind it, is not what the calculator says. What was dropped is counted by the reason.
"""

from __future__ import annotations

import importlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any

from curta.delegate.data.draw import Call
from curta.delegate.data.example import CALCULATOR, CALL, Example
from curta.errors import CalculatorError, DataError, FileError

NUMBER = r"[$€£]?-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|[$€£]?-?\.[0-9]+"
SAID = r"(?P<said>[-−–$€£0-9.,+*/x×·÷()% ]*=\s*)?[$€£]?"
WORKED = re.compile(
    rf"{SAID}"
    r"<<(?P<expression>[^<>=]*)=(?P<result>[^<>]*)>>"
    rf"(?P<behind>{NUMBER})?"
)
GADGET = re.compile(
    rf"{SAID}<gadget id=\"calculator\">(?P<expression>.*?)</gadget>\s*"
    rf"<output>(?P<result>.*?)</output>(?P<behind>\s*(?:{NUMBER}))?",
    re.DOTALL,
)
THERE = "\0"
"""Where a call stands, in a text without them."""

UNCALLED = re.compile(
    rf"(?:(?:{NUMBER})\s*[-−–+*/x×·÷(]|√\s*\(?)\s*(?:{NUMBER})[^=\n{THERE}]*"
    rf"=(?!\s*[$€£]?{THERE})"
)
"""An equation that a model would have to compute itself."""

RESULT = re.compile(r"<result>(?P<value>.*?)</result>", re.DOTALL)


class DroppedError(Exception):
    """An example that cannot be used; the message is the reason, for counting."""


@dataclass
class Converted:
    """Examples, and how many were dropped for which reason."""

    examples: list[Example] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def shortest(converted: Converted, most: int) -> None:
    """Keep so many examples, those with the shortest answers."""
    if most < 0:
        raise DataError(f"--most-annotated {most}: at least 0")
    left_out = len(converted.examples) - most
    if left_out > 0:
        by_length = sorted(converted.examples, key=lambda one: (len(one.answer), one.template))
        kept = {one.template for one in by_length[:most]}
        converted.examples = [one for one in converted.examples if one.template in kept]
        converted.dropped["a longer answer than others"] += left_out


Row = Mapping[str, Any]


def of_rows(convert: Callable[[Row, int], Example]) -> Callable[[Iterable[Row]], Converted]:
    """Convert each row, or count why not."""

    @wraps(convert)
    def converted(rows: Iterable[Row]) -> Converted:
        found = Converted()
        for at, row in enumerate(rows):
            try:
                found.examples.append(convert(row, at))
            except DroppedError as reason:
                found.dropped[str(reason)] += 1
            except (LookupError, TypeError) as error:
                raise DataError(
                    f"row {at + 1} of an annotated set has another shape: no {error}"
                ) from error
        return found

    return converted


@of_rows
def from_gsm8k(row: Row, at: int) -> Example:
    """Rows of GSM8K, with `question` and `answer`."""
    reasoning, marker, value = str(row["answer"]).rpartition("####")
    if not marker:
        raise DroppedError("no final answer")
    written = WORKED.sub(called, reasoning.strip())
    return example(row, written, plain(value), "gsm8k", at)


@of_rows
def from_calc_x(row: Row, at: int) -> Example:
    """Rows with `question` and `chain`, as all sets of Calc-X have them."""
    chain = str(row["chain"])
    result = RESULT.search(chain)
    if result is None:
        raise DroppedError("no final answer")
    written = GADGET.sub(called, RESULT.sub("", chain))
    written = re.sub(r"[ \t]*\n\s*", "\n", written).strip()
    name = str(row.get("source", "calc-x"))
    return example(row, written, plain(result["value"]), name, row.get("id", at))


def example(row: Row, written: str, value: str, name: str, number: object) -> Example:
    """A question with the calls in its answer, all of which are needed."""
    if "<<calc:" not in written:
        raise DroppedError("no calculation")
    if "<gadget" in written or "<output" in written:
        raise DroppedError("another gadget than the calculator")
    question = str(row["question"]).strip()
    check_calls(question, written, value)
    answer = f"{written}\nThe answer is {value}."
    return Example(question, answer, value, name, f"{name}/{number}")


def called(match: re.Match[str]) -> str:
    """The call of an annotation, without the sum and the result if they are written out, too."""
    call = checked(match["expression"], match["result"])
    behind = match["behind"] or ""
    if behind and number(behind) == number(call.text):
        behind = ""
    elif behind and match.re is WORKED:
        raise DroppedError("the number behind a calculation is another one")
    return f"{before(match['said'] or '', match['expression'])}{call.said}{behind}"


def before(said: str, expression: str) -> str:
    """What stands before a calculation, without the calculation itself where it is written out."""
    body = said.rstrip().removesuffix("=")
    for begin in range(len(body)):
        if body[begin] not in " ," and bare(body[begin:]) == bare(expression):
            inside = begin > 0 and (body[begin - 1].isdigit() or body[begin - 1] in ".,")
            return said if inside else body[:begin]
    return said


def bare(expression: str) -> str:
    """An expression without spaces and currencies, its operators written in one way."""
    plain = re.sub(r"[\s$€£,]", "", expression)
    return re.sub("[x×]", "*", plain).replace("÷", "/")


def check_calls(question: str, written: str, value: str) -> None:
    """Raise an error if a model would learn to compute something itself."""
    if UNCALLED.search(CALL.sub(THERE, written)):
        raise DroppedError("an equation beside the annotated ones")
    known = numbers(question)
    begin = 0
    for call in CALL.finditer(written):
        line = written[begin : call.start()].rpartition("\n")[2]
        result = number(call["result"])
        if result in numbers(line) - known:
            raise DroppedError("a result that stands before its calculation")
        known.add(result)
        begin = call.end()
    if number(value) not in known:
        raise DroppedError("a final answer that no calculation has")


def numbers(text: str) -> set[Fraction]:
    """All that stand in a text."""
    return {number(found) for found in re.findall(NUMBER, text)}


def checked(expression: str, result: str) -> Call:
    """The call, if the calculator says what the annotation says."""
    try:
        call = Call(*CALCULATOR.evaluate(expression.strip()))
    except CalculatorError as error:
        raise DroppedError(f"an expression that is no expression here: {error.brief}") from None
    if number(result) != number(call.text):
        raise DroppedError("a result that is not that of its expression")
    return call


def number(text: str) -> Fraction:
    """What a text is worth, however it is written."""
    if (value := CALCULATOR.number(plain(text))) is None:
        raise DroppedError("a result that is no number")
    return Fraction(value)


def plain(text: str) -> str:
    """A number without currency, separators of thousands, percent signs and the like."""
    return text.strip().strip("$€£").replace(",", "").rstrip(".%").strip()


def read_rows(source: str) -> Iterator[Row]:
    """Rows of a file of JSON lines, or of a set on the Hugging Face Hub by its name."""
    if source.endswith((".jsonl", ".json")):
        yield from read_lines(Path(source))
        return
    try:
        load_dataset = importlib.import_module("datasets").load_dataset
    except ImportError:
        raise FileError(
            f"{source}: there is no such file (*.jsonl), and to look for it on the Hub takes the "
            "datasets package: pip install datasets"
        ) from None
    yield from load_dataset(source, split="train")


def read_lines(path: Path) -> Iterator[Row]:
    """Objects, one in each line, or all of them in one list."""
    try:
        # Not by splitlines, which also ends lines at characters that JSON lets stand in texts.
        text = path.read_text(encoding="utf-8")
        listed = text.lstrip()[:1] == "["
        yield from json.loads(text) if listed else map(json.loads, filter(None, text.split("\n")))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise FileError(f"{path}: not JSON ({error})") from error
