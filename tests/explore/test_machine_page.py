"""The page of a run: the same tokens, the same state, and all ways through it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta import Machine
from curta.explore.program import Asked, ExploredProgram
from curta.machine.ledger import PlainLedger
from tests.explore.conftest import MIXED
from tests.support.slow import draws

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def page(opened: Open, mixed: Path) -> Any:
    return opened(mixed)


@pytest.fixture(scope="module")
def explored(mixed: Path) -> ExploredProgram:
    return ExploredProgram(Asked((str(mixed.with_suffix("")),)))


@pytest.fixture(scope="module")
def run(explored: ExploredProgram) -> Any:
    """The same run, of the same module, by the machine itself."""
    instance = Machine().begin(explored.content, stdin=b"4711\n", name="mixed.c")
    assert instance.run() == 0
    return instance


def tokens_of(page: Any) -> list[int]:
    found = page.evaluate("ask('tokens', { first: 0, count: page.figures.length })")
    return [int(token) for token in found]


def go(page: Any, position: int) -> None:
    page.evaluate(f"go({position})")
    page.wait_for_function(f"page.view.position === {position}")


def press(page: Any, key: str) -> int:
    """Where a key leads to."""
    page.evaluate("document.activeElement.blur()")
    before = page.evaluate("page.position")
    page.keyboard.press(key)
    page.wait_for_function(f"page.view.position === page.position && page.position !== {before}")
    return int(page.evaluate("page.position"))


def line_of(page: Any) -> int:
    return int(page.evaluate("page.program.instructions.line[page.view.counter]"))


def to_line(page: Any, text: str, *, back: bool = False) -> None:
    """Go to where the line begins that has this text."""
    key = f"{{ line: lineKey(0, {line_with(text)}) }}"
    page.evaluate(f"walk('line', {str(back).lower()}, {key})")


def line_with(text: str) -> int:
    return next(n for n, line in enumerate(MIXED.splitlines(), 1) if text in line)


def test_it_says_the_tokens_that_the_machine_says(page: Any, run: Any) -> None:
    assert tokens_of(page) == run.trace.ids.tolist()


def test_its_state_is_that_of_the_ledger(page: Any, run: Any, explored: ExploredProgram) -> None:
    ids, prompt = run.trace.ids, run.figures.prompt_tokens
    ledger = PlainLedger(explored.loaded)
    for segment in explored.loaded.segments:
        ledger.give(segment)
    address = next(one.at for one in explored.debug.globals if one.name == "table")
    at = prompt
    for position in np.linspace(prompt, len(ids) - 2, draws(40, 12)).astype(int).tolist():
        ledger.take(ids[at : position + 1])
        at = position + 1
        now = page.evaluate(
            f"ask('view', {{ position: {position}, memory: {{ address: {address}, length: 64 }} }})"
        )
        for _, place, word, _ in now["registers"] + now["globals"]:
            assert word == ledger.words.get(place, 0), (position, place)
        held = [ledger.bytes.get(address + n, 0) for n in range(64)]
        assert now["memory"]["values"] == held, position


def test_all_panels_are_at_the_same_place(page: Any) -> None:
    page.fill("#wanted", "fill")
    page.press("#wanted", "Enter")
    page.wait_for_selector("#found .row")
    page.keyboard.press("Escape")
    for panel in ("source", "wasm", "core", "steps"):
        page.wait_for_selector(f"#{panel} .row.here")
    counter = page.evaluate("page.view.counter")
    text = page.evaluate(f"page.program.instructions.text[{counter}]")
    assert text in page.inner_text("#core .row.here")
    assert text in page.inner_text("#steps .row.here")
    assert "fill" in page.inner_text("#where")


def test_steps_go_forward_and_back(page: Any) -> None:
    go(page, page.evaluate("page.figures.promptLength") + 200)
    start = press(page, "ArrowRight")
    assert press(page, "ArrowRight") > start
    assert press(page, "ArrowLeft") == start
    into = press(page, "s")
    assert line_of(page) > 0
    press(page, "s")
    assert press(page, "S") == into
    assert press(page, ".") == into + 1


def test_over_stays_and_out_returns(page: Any) -> None:
    page.evaluate("page.breakLines.clear()")
    page.evaluate(f"page.breakLines.add(lineKey(0, {line_with('product = value')}))")
    press(page, "Home")
    press(page, "b")
    assert line_of(page) == line_with("product = value")
    depth = page.evaluate("page.view.depth")
    names = page.evaluate("page.view.stack.map(one => page.program.functions[one.function])")
    assert names[:3] == ["mix", "fill", "main"] or names[:2] == ["mix", "fill"]
    called = page.evaluate("page.view.stack[0].at")
    assert press(page, "O") == called
    press(page, "b")
    press(page, "o")
    assert page.evaluate("page.view.depth") == depth - 1
    press(page, "n")
    assert page.evaluate("page.view.depth") <= depth - 1
    page.evaluate("page.breakLines.clear()")


def test_a_breakpoint_is_set_by_a_click(page: Any) -> None:
    line = line_with("rounds++")
    go(page, page.evaluate("page.figures.promptLength"))
    page.evaluate(f"$('source').scrollTop = {20 * (line - 4)}")
    page.click(f"[aria-label='breakpoint on line {line}']")
    page.click("#go-breakpoint")
    page.wait_for_function(f"page.program.instructions.line[page.view.counter] === {line}")
    first = page.evaluate("page.position")
    assert press(page, "b") > first
    assert press(page, "B") == first
    page.evaluate("page.breakLines.clear()")


def test_who_wrote_it(page: Any, explored: ExploredProgram) -> None:
    """A value, the token that said it, and all the values before."""
    end = page.evaluate("page.figures.length - 1")
    go(page, end)
    address = next(one.at for one in explored.debug.globals if one.name == "rounds")
    page.fill("#wanted", "rounds")
    page.press("#wanted", "Enter")
    page.wait_for_selector("#who")
    past = page.evaluate("page.selected.history")
    assert past["values"] == list(range(1, 65))
    page.click("#who")
    page.wait_for_function(f"page.view.position === {past['at'][-1]}")
    wrote = page.evaluate("page.view.wrote")
    assert (wrote["kind"], wrote["at"], wrote["value"]) == (2, address, 64)
    assert "stored" in page.inner_text("#steps .row.here")
    page.click("text=◀ write before")
    page.wait_for_function(f"page.view.position === {past['at'][-2]}")
    go(page, end)
    assert press(page, "w") == past["at"][-1]


def test_a_register_leads_to_the_token_that_wrote_it(page: Any) -> None:
    page.click("#tab-registers")
    to_line(page, "return product", back=True)
    page.wait_for_function("page.view.registers.some(one => one[3])")
    name, place, value, by = page.evaluate("page.view.registers.find(one => one[3])")
    page.click(f"#registers tr:has(th:text-is('{name}')) .value")
    page.wait_for_selector("#who")
    page.click("#who")
    page.wait_for_function(f"page.view.position === {by}")
    wrote = page.evaluate("page.view.wrote")
    assert (wrote["kind"], wrote["at"], wrote["value"]) == (1, place, value)
    page.click("#tab-variables")


def test_variables_of_c(page: Any) -> None:
    """Those in registers, those in memory, and those that were optimised out."""
    page.evaluate("go(page.figures.promptLength)")
    to_line(page, "product ^ product")
    page.wait_for_function("page.view.variables !== null || page.view.statics.length > 0")
    text = page.inner_text("#variables")
    assert "table" in text
    assert "int[16]" in text
    assert page.evaluate("shownValue({ size: 4, encoding: 5 }, [254, 255, 255, 255], 0)") == "-2"


def test_what_is_said_of_a_token(page: Any) -> None:
    page.click("#tab-token")
    go(page, page.evaluate("page.figures.promptLength") + 300)
    press(page, "ArrowRight")
    page.wait_for_function("$('token').querySelectorAll('path.arc').length > 0")
    page.wait_for_function("$('token').textContent.includes('operation')")
    page.click("#token table button.link >> nth=0")
    page.wait_for_function("page.view.inPrompt")
    page.wait_for_function("$('token').textContent.includes('part of the prompt')")


def test_slots_hold_what_was_fetched(page: Any) -> None:
    """Forward and back, and before anything was said."""
    known = page.evaluate("ask('slots')")
    (source,) = (one for one in known["slots"] if one["name"] == "source a" and one["first"] % 2)
    place = known["width"] * source["last"] + source["slot"]
    start, end = page.evaluate("[page.figures.promptLength, page.figures.length]")
    compared = 0
    for position in [*range(end - 40, end), *range(start + 80, start - 9, -1), *range(9, 12)]:
        token = page.evaluate(f"ask('token', {{ position: {position} }})")
        asked = f"ask('streams', {{ position: {position - 1} }})"
        held = page.evaluate(f"{asked}.then(values => values[{place}])")
        for one in token["fetched"]:
            if one["head"] == "source a" and one["at"] is not None:
                assert held == one["value"], position
                compared += 1
    assert compared > 30


def test_slots_are_found_by_layer_and_by_name(page: Any) -> None:
    page.click("#tab-slots")
    go(page, page.evaluate("page.figures.promptLength") + 300)
    page.wait_for_selector("#slots-table td.changed")
    assert f"comes token {page.evaluate('count(page.position)')}." in page.inner_text("#slots")
    page.fill("#slots-layer", "8")
    assert page.inner_text("#slots-number").startswith("layer 7: ")
    names = page.locator("#slots-table thead th").all_inner_texts()
    assert names == ["slot", "what", "lives", "attn 7", "ff 7"]
    page.fill("#slots-wanted", "source a")
    rows = page.locator(
        "#slots-table tbody tr", has=page.locator("th", has_text=re.compile("^source a$"))
    )
    assert rows.first.locator("td.dead").count() == 2
    rows.first.locator("button").click()
    assert rows.first.locator("td.dead").count() == 0
    assert rows.first.locator("td.changed").count() == 1
    page.fill("#slots-wanted", "")
    page.click("#tab-token")


def test_search_finds_values_and_addresses(page: Any, explored: ExploredProgram) -> None:
    address = next(one.at for one in explored.debug.globals if one.name == "table")
    found = page.evaluate(f"ask('search', {{ what: 'address', value: {address} }})")
    assert found["count"] == 4  # once for each letter of the input
    value = found["found"][-1][4]
    again = page.evaluate(f"ask('search', {{ what: 'value', value: {value} }})")
    assert found["found"][-1][0] in [one[0] for one in again["found"]]


def test_the_playground_runs_other_inputs(opened: Open, mixed: Path, run: Any) -> None:
    page = opened(mixed)
    assert page.evaluate("textOf(page.overview.output.bytes)") == run.stdout.decode()
    page.click("#tab-playground")
    page.fill("#play-input", "90125\n")
    page.click("#play-form button")
    page.wait_for_function(
        "page.figures && page.figures.isDone && page.overview.output.at.length === 6"
    )
    source = mixed.with_suffix("")
    assert (
        page.evaluate("textOf(page.overview.output.bytes)")
        == Machine().run(source, stdin=b"90125\n").stdout.decode()
    )
    page.wait_for_function("$('play-figures').textContent.includes('tokens said in this page')")
    assert not page.wrong


def test_a_link_leads_to_a_token(opened: Open, mixed: Path, page: Any) -> None:
    end = page.evaluate("page.figures.length - 1")
    linked = opened(mixed, f"#token={end - 7}")
    linked.wait_for_function(f"page.view && page.view.position === {end - 7}")
    linked.keyboard.press("Home")
    linked.wait_for_function("location.hash === `#token=${page.figures.promptLength}`")
    assert not linked.wrong


def test_a_token_asked_for_twice_is_shown(page: Any) -> None:
    """The second time the first one's answer is still on its way."""
    start = page.evaluate("page.figures.promptLength")
    go(page, start)
    page.evaluate(f"Promise.all([go({start + 9}), go({start + 9})])")
    assert page.evaluate("page.view.position") == start + 9


LONG = """
static volatile int table[64];
int main(void) {
    int sum = 0;
    for (int i = 0; i < 120000; i++) {
        table[i & 63] = i * 31 + sum;
        sum ^= table[i * 7 & 63];
    }
    return sum & 1;
}
"""


def test_a_run_of_a_million_tokens(opened: Open, written: Callable[..., Path]) -> None:
    page = opened(written("long.c", LONG))
    length = page.evaluate("page.figures.length")
    assert length > 10**6
    go(page, length // 2)
    assert page.evaluate("page.view.step") > 300_000
    assert page.evaluate("page.view.position") == length // 2
    back = press(page, "ArrowLeft")
    assert length // 2 - 4 <= back < length // 2
    last = page.evaluate(
        f"ask('go', {{ position: {length - 1}, way: 'line', back: true, line: 6 }})"
    )
    assert last > length - 100
    assert not page.wrong


def test_nothing_went_wrong(page: Any) -> None:
    assert not page.wrong
