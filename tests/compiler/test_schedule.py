"""Schedules: fewest layers, as narrow as claimed, the same on every run; checkers that notice."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from curta.compiler import Graph, Node, at_least, at_position, compile
from curta.compiler.layout import check_layout, schedule_to_layout
from curta.compiler.lower import lower
from curta.compiler.resolve import resolve
from curta.compiler.schedule import (
    Occupancy,
    Schedule,
    Windows,
    check_schedule,
    tasks_to_schedule,
)
from curta.compiler.tasks import TaskGraph, circuit_to_tasks
from curta.errors import CertificateError
from tests.support.agreement import agreed, carrying, kept
from tests.support.random_graphs import TOKENS, graphs
from tests.support.slow import draws

MAX_TOKENS = 64
searching = settings(
    deadline=None,
    max_examples=draws(50),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def tasks_of(graph: Graph) -> TaskGraph:
    try:
        return circuit_to_tasks(lower(resolve(graph), MAX_TOKENS))
    except CertificateError:
        assume(False)
        raise


def longest_chain(task_graph: TaskGraph) -> int:
    """Layers, by the definition: every task as soon as what it reads is there."""
    done: dict[int, int] = {}
    last = 1
    for task in task_graph.tasks:
        ready = max((done.get(wire, 0) for wire in task.inputs), default=0)
        if task.kind == "guard":
            last = max(last, ready)
            continue
        at = ready + 1 + (ready % 2 == (1 if task.in_attention else 0))
        done[task.node] = at + task.delay
        last = max(last, done[task.node])
    return (last + 1) // 2


@given(graphs())
@searching
def test_fewest_layers_in_order_and_checked(graph: Graph) -> None:
    task_graph = tasks_of(graph)
    schedule = tasks_to_schedule(task_graph)
    assert schedule.layers == longest_chain(task_graph)
    check_schedule(task_graph, schedule)
    layout = schedule_to_layout(task_graph, schedule)
    check_layout(layout)
    assert schedule.lower_bound <= schedule.width <= layout.width
    for task, start in zip(task_graph.tasks, schedule.start, strict=True):
        assert task.kind == "guard" or start + task.delay <= 2 * schedule.layers


@given(graphs(steps=5))
@searching
def test_proved_narrowest_is_narrowest(graph: Graph) -> None:
    task_graph = tasks_of(graph)
    windows = Windows(task_graph)
    choices = [
        range(early, late + 1, 2)
        for early, late in zip(windows.earliest, windows.latest, strict=True)
    ]
    count = 1
    for choice in choices:
        count *= len(choice)
    assume(1 < count <= 3000)
    occupancy = Occupancy(windows)
    narrowest = min(
        max(occupancy.count(list(start)))
        for start in itertools.product(*choices)
        if is_possible(task_graph, windows, start)
    )
    schedule = tasks_to_schedule(task_graph)
    assert schedule.lower_bound <= narrowest <= schedule.width
    assert "proved narrowest" not in schedule.method or schedule.width == narrowest


def is_possible(task_graph: TaskGraph, windows: Windows, start: tuple[int, ...]) -> bool:
    return all(
        start[windows.producer[wire]] + task_graph.tasks[windows.producer[wire]].delay
        < start[number]
        for number, task in enumerate(task_graph.tasks)
        for wire in task.inputs
        if wire in windows.producer
    )


def list_only(task_graph: TaskGraph, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "curta.compiler.milp", raising=False)
        patch.setitem(sys.modules, "highspy", None)
        return tasks_to_schedule(task_graph)


def wide(graph: Graph) -> Node:
    """A graph whose list schedule HiGHS has something to say about."""
    x = graph.feature("x", {"a": 1, "b": 2, "c": -1})
    total = graph.running_sum(x)
    nodes = [kept(x * number + total) for number in range(3)]
    for number in range(4):
        sign = at_least(nodes[-1], number)
        nodes.append(graph.gate(nodes[-2] - number, sign) - graph.gate(nodes[-3], sign))
        nodes.append(graph.lookup(query=nodes[number], key=x, value=nodes[2], missing=number))
    return at_least(sum(nodes[1:], nodes[0]), 3)


@pytest.mark.parametrize("hidden", ["module", "package"])
def test_without_highs(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(TOKENS)
    graph.emit(TOKENS, wide(graph))
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "curta.compiler.milp", raising=False)
        patch.setitem(
            sys.modules, "highspy" if hidden == "package" else "curta.compiler.milp", None
        )
        alone = compile(graph, MAX_TOKENS)
        assert alone.to_bytes() == compile(graph, MAX_TOKENS).to_bytes()
    both = compile(graph, MAX_TOKENS)
    plans = [model.plan["schedule"] for model in (alone, both)]
    assert "HiGHS" in plans[0]["method"] or plans[0]["method"] == "list, proved narrowest"
    assert plans[1]["layers"] == plans[0]["layers"]
    assert plans[1]["peak"] <= plans[0]["peak"]
    assert agreed(alone, [0, 1, 2, 3, 4, 1]) == agreed(both, [0, 1, 2, 3, 4, 1])


@given(graphs())
@settings(parent=searching, max_examples=draws(15))
def test_highs_never_widens(graph: Graph) -> None:
    task_graph = tasks_of(graph)
    with pytest.MonkeyPatch.context() as patch:
        alone = list_only(task_graph, patch)
    assert tasks_to_schedule(task_graph).width <= alone.width
    assert "no HiGHS" in alone.method or alone.method == "list, proved narrowest"


PROGRAM = """
import hashlib, sys
from curta.compiler import compile
from curta.gallery import PROGRAMS
for name in sys.argv[1:]:
    print(name, hashlib.sha256(compile(PROGRAMS[name].build(), 4096).to_bytes()).hexdigest())
"""


def test_every_run_writes_the_same_bytes() -> None:
    names = ["sort", "dyckn", "addition", "histogram"]
    found = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, *names],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "77")
    ]
    assert found[0] == found[1]
    assert found[0].count("\n") == len(names)
    assert hashlib.sha256(b"").hexdigest() not in found[0]


def chain() -> TaskGraph:
    graph, x = carrying([0, 1, 2])
    y = graph.gate(kept(x) + graph.position, kept(x))
    graph.emit(["t0", "t1", "t2"], kept(y + 1) + x)
    return circuit_to_tasks(lower(resolve(graph), MAX_TOKENS))


BROKEN: dict[str, Callable[[list[int]], None]] = {
    "reader first": lambda start: start.reverse(),
    "wrong kind": lambda start: start.__setitem__(0, start[0] + 1),
    "too early": lambda start: start.__setitem__(-1, start[-1] - 2),
    "too late": lambda start: start.__setitem__(0, start[0] + 20),
    "before the beginning": lambda start: start.__setitem__(0, -1),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_schedule_is_noticed(case: str) -> None:
    task_graph = chain()
    schedule = tasks_to_schedule(task_graph)
    start = list(schedule.start)
    BROKEN[case](start)
    assert tuple(start) != schedule.start
    with pytest.raises(AssertionError, match="at sublayer"):
        check_schedule(task_graph, replace(schedule, start=tuple(start)))


def test_a_broken_layout_is_noticed() -> None:
    task_graph = chain()
    layout = schedule_to_layout(task_graph, tasks_to_schedule(task_graph))
    with pytest.raises(AssertionError, match=r"slot 1: written at \d+, in use until"):
        check_layout(replace(layout, slot=(1,) * len(layout.slot)))


# -- the check of missing="stop", the default, as the last thing that a model does ---------------


def looking_back() -> Graph:
    graph, x = carrying([0, 1, 2, 3])
    graph.emit(["t0", "t1", "t2", "t3"], at_position(graph.position - x, x))
    return graph


def looking_back_early() -> Graph:
    """The same with layers to spare behind the lookup."""
    graph, x = carrying([0, 1, 2, 3])
    found = at_position(graph.position - x, 1 - x)
    for number in range(3):
        found = at_least(found + graph.position - number, 1) + x
    graph.emit(["t0", "t1", "t2", "t3"], found)
    return graph


@pytest.mark.parametrize("build", [looking_back, looking_back_early])
def test_a_lookup_that_finds_its_key_or_stops(build: Callable[[], Graph]) -> None:
    model = compile(build(), MAX_TOKENS)
    assert -1 not in agreed(model, [0, 1, 0, 2])
    assert agreed(model, [0, 1, 3])[-1] == -1


@pytest.mark.parametrize("build", [looking_back, looking_back_early])
def test_nothing_starts_after_the_last_layer(build: Callable[[], Graph]) -> None:
    task_graph = circuit_to_tasks(lower(resolve(build()), MAX_TOKENS))
    schedule = tasks_to_schedule(task_graph)
    for task, start in zip(task_graph.tasks, schedule.start, strict=True):
        assert task.kind == "guard" or start <= 2 * schedule.layers


@given(st.integers(0, 3), st.integers(2, 40))
@settings(deadline=None, max_examples=draws(10))
def test_schedules_of_long_chains(kind: int, length: int) -> None:
    graph, x = carrying([0, 1, 2])
    node = kept(x)
    for number in range(length):
        node = graph.gate(node + 1 - number % 2, 1) - x if (number + kind) % 4 else kept(node)
    graph.emit(["t0", "t1"], node)
    task_graph = tasks_of(graph)
    assert tasks_to_schedule(task_graph).layers == longest_chain(task_graph)
