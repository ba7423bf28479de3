"""Annotated sets: small rows of our own in their forms, and what is wrong with some of them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from curta.delegate.data.annotated import from_calc_x, from_gsm8k, read_rows, shortest
from curta.delegate.data.example import CALL
from curta.errors import DataError, FileError

GSM8K = Path(os.environ.get("CURTA_DATA", Path(__file__).parents[4] / "shared" / "data"))


def gsm8k(answer: str) -> dict[str, str]:
    return {"question": "How many?", "answer": answer}


def test_gsm8k_annotations_become_calls() -> None:
    found = from_gsm8k(
        [
            gsm8k("He has 12*4 = <<12*4=48>>48 eggs.\nHalf is 48/2=<<48/2=24>>24.\n#### 24"),
            gsm8k("That is $<<1,200*2=2400>>2,400 a year.\n#### 2,400"),
            gsm8k("He pays 5% of $80, or $<<80*5/100=4>>4.00\n#### 4"),
            gsm8k("Of 4, he ate <<2+2=4>>4, and then <<4+4=8>>8%.\n#### 4") | {"question": "Of 4?"},
        ]
    )
    assert not found.dropped
    assert [example.answer for example in found.examples] == [
        "He has <<calc: 12*4>> = 48 eggs.\nHalf is <<calc: 48/2>> = 24.\nThe answer is 24.",
        "That is <<calc: 1,200*2>> = 2400 a year.\nThe answer is 2400.",
        "He pays 5% of $80, or <<calc: 80*5/100>> = 4\nThe answer is 4.",
        "Of 4, he ate <<calc: 2+2>> = 4, and then <<calc: 4+4>> = 8%.\nThe answer is 4.",
    ]
    assert found.examples[0].expressions == ("12*4", "48/2")
    assert found.examples[0].inline.startswith("He has 12*4 = 48 eggs.\nHalf is 48/2 = 24.")


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ("He paid $3. 5*2 = <<5*2=10>>10", "He paid $3. <<calc: 5*2>> = 10"),
        ("In 2020, 5*2 = <<5*2=10>>10", "In 2020, <<calc: 5*2>> = 10"),
        ("7 (48/2 = <<48/2=24>>24)", "7 (<<calc: 48/2>> = 24)"),
        ("Of the 40, 40 x 1/10 = <<40*1/10=4>>4", "Of the 40, <<calc: 40*1/10>> = 4"),
        ("So, 40 - 4 = $<<40-4=36>>36", "So, <<calc: 40-4>> = 36"),
        ("5% of $80 = $<<80*.05=4>>4", "5% of $80 = <<calc: 80*.05>> = 4"),
    ],
)
def test_only_the_calculation_itself_goes(answer: str, written: str) -> None:
    """What else stands before an annotation stays."""
    value = written.rpartition("= ")[2].rstrip(")")
    (found,) = from_gsm8k([gsm8k(f"{answer}\n#### {value}")]).examples
    assert found.answer == f"{written}\nThe answer is {value}."


def test_results_of_calc_x_may_be_written_out_again() -> None:
    gadget = '<gadget id="calculator">48/2</gadget>\n<output>24</output>'
    result = "<result>24</result>"
    for chain, written in (
        (f"It is 48/2 = {gadget}24 clips. {result}", "It is <<calc: 48/2>> = 24 clips."),
        (f"48/2 = {gadget}\n24 clips {result}", "<<calc: 48/2>> = 24 clips"),
        (f"{gadget}\n7 days later {result}", "<<calc: 48/2>> = 24\n7 days later"),
    ):
        (found,) = from_calc_x([{"question": "?", "chain": chain}]).examples
        assert found.answer == f"{written}\nThe answer is 24."
    refused = from_calc_x([{"question": "?", "chain": f"3*5 = 15. {gadget} {result}"}])
    assert refused.dropped == {"an equation beside the annotated ones": 1}


def test_what_is_inconsistent_is_dropped_and_counted() -> None:
    found = from_gsm8k(
        [
            gsm8k("It is <<2+2=5>>5.\n#### 5"),
            gsm8k("It is <<2+2=4>>5.\n#### 5"),
            gsm8k("It is <<2+=4>>4.\n#### 4"),
            gsm8k("It is four.\n#### 4"),
            gsm8k("It is <<2+2=4>>4."),
            gsm8k("It is 2*.15=$3, and <<2+2=4>>4.\n#### 4"),
            gsm8k("It is 9 − 2 = 7, and <<2+2=4>>4.\n#### 4"),
            gsm8k("It is 11(4)=44, and <<2+2=4>>4.\n#### 4"),
            gsm8k("It is 4 because <<2+2=4>>4.\n#### 4"),
            gsm8k("It is <<2+2=4>>4, so 13 are left.\n#### 13"),
        ]
    )
    assert not found.examples
    assert found.dropped == {
        "a result that is not that of its expression": 1,
        "the number behind a calculation is another one": 1,
        "an expression that is no expression here: syntax error": 1,
        "no calculation": 1,
        "no final answer": 1,
        "an equation beside the annotated ones": 3,
        "a result that stands before its calculation": 1,
        "a final answer that no calculation has": 1,
    }


def test_the_shortest_answers_are_kept() -> None:
    long, short = "It is, as we shall see, <<2+2=4>>4.\n#### 4", "It is <<2+2=4>>4.\n#### 4"
    found = from_gsm8k([gsm8k(long), gsm8k(short), gsm8k(long)])
    shortest(found, 1)
    assert [one.template for one in found.examples] == ["gsm8k/1"]
    assert found.dropped == {"a longer answer than others": 2}


def test_rows_and_counts_that_cannot_be() -> None:
    with pytest.raises(DataError, match="row 2 of an annotated set has another shape: no 'answer'"):
        from_gsm8k([gsm8k("<<1+1=2>>2\n#### 2"), {"question": "a"}])
    with pytest.raises(DataError, match="row 1"):
        from_calc_x(["a text"])  # type: ignore[list-item]
    with pytest.raises(DataError, match="--most-annotated -1"):
        shortest(from_gsm8k([]), -1)


def test_gadgets_of_calc_x_become_calls() -> None:
    chain = (
        'Half of them:\n<gadget id="calculator">48 / 2</gadget>\n<output>24</output>\nand all:\n'
        '<gadget id="calculator">48+24</gadget>\n<output>72</output>\n<result>72</result>'
    )
    rows = [
        {"id": "a1", "question": "How many?", "chain": chain, "source": "ape210k"},
        {"id": "a2", "question": "How many?", "chain": chain.replace("24<", "25<", 1)},
        {"id": "a3", "question": "How many?", "chain": chain.replace("calculator", "search", 1)},
    ]
    found = from_calc_x(rows)
    (example,) = found.examples
    assert example.answer == (
        "Half of them:\n<<calc: 48 / 2>> = 24\nand all:\n<<calc: 48+24>> = 72\nThe answer is 72."
    )
    assert (example.value, example.category, example.template) == ("72", "ape210k", "ape210k/a1")
    assert found.dropped == {
        "a result that is not that of its expression": 1,
        "another gadget than the calculator": 1,
    }


def test_files_of_rows(tmp_path: Path) -> None:
    rows = [{"question": "a", "answer": "b"}, {"question": "c", "answer": "d"}]
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "list.json").write_text(json.dumps(rows))
    (tmp_path / "broken.jsonl").write_text("{")
    assert list(read_rows(str(tmp_path / "lines.jsonl"))) == rows
    assert list(read_rows(str(tmp_path / "list.json"))) == rows
    for name, why in {"broken.jsonl": "not JSON", "missing.jsonl": "No such file"}.items():
        with pytest.raises(FileError, match=why):
            list(read_rows(str(tmp_path / name)))


@pytest.mark.skipif(not (GSM8K / "gsm8k-train.jsonl").is_file(), reason="GSM8K is not here")
@pytest.mark.slow
def test_all_of_gsm8k() -> None:
    """Nearly all of it is kept, and no word of it is lost."""
    rows = list(read_rows(str(GSM8K / "gsm8k-train.jsonl")))
    found = from_gsm8k(rows)
    assert len(found.examples) + found.dropped.total() == len(rows)
    assert found.dropped.keys() == {
        "no calculation",
        "an equation beside the annotated ones",
        "a result that stands before its calculation",
        "a final answer that no calculation has",
    }
    assert found.dropped.total() < len(rows) // 4
    assert sum(len(CALL.findall(example.answer)) for example in found.examples) > 19_000
    for example in found.examples:
        told = rows[int(example.template.partition("/")[2])]["answer"].rpartition("####")[0]
        reworded = example.answer.rpartition("\nThe answer is")[0]
        assert words(re.sub("<<[^<>]*>>", "", told)) == words(reworded.replace("calc:", ""))


def words(text: str) -> list[str]:
    """All of them, in order; a multiplication sign is none."""
    return [word for word in re.findall("[A-Za-z]+", text) if word != "x"]
