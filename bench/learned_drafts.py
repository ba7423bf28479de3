"""Benchmark of compiled drafts for a trained model. Run: python bench/learned_drafts.py [--quick]

Both do the same task: sums of two numbers, the answer from its last digit. One is a compiled
program: heads of width 2, answered by hull caches or by generated C. The other is trained (the lab,
one layer, heads of width 16 that attend by softmax and begin as compiled ones), on sums of 1 to 4
digits. The program drafts some tokens, the trained model reads them in one pass with its cache, and
keeps those that it would have said itself, and one of its own: so what is written is what it writes
alone, token by token.

Two trained models: one that is right at any length, and one whose attention leaks at great lengths.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from curta.compiler import Graph, Node, at_least, both, compile
from curta.compiler.model import Model
from curta.engine import Engine, load
from curta.gallery.addition import operand_digit
from curta.gallery.idioms import DIGITS, has_been, latest, since, table
from curta.learn.evaluation.decode import Places
from curta.learn.experiment import Setup
from curta.learn.models.transformer import Transformer
from curta.learn.recipes.compiled_attention import COLUMN, SUMS
from curta.learn.training.loop import train
from curta.learn.training.state import load_state, new_state, of_seed, save_state
from report import print_machine, print_table, spread

END = "#"
STEPS = 2_000
DRAFTS = (1, 4, 16, 64)
DIGITS_ASKED = (333, 3_333)
"""Of both numbers: rows of some 1,000 and 10,000 tokens, a third of which is the answer."""


# -- the program ----------------------------------------------------------------------------------


def sums() -> Graph:
    """`a+b=`, the digits of the sum from the last one on, then `#`.

    What is carried to a place is seen from the place before: its digits add up to more than what is
    written there.
    """
    graph = Graph([*DIGITS, "+", "=", END])
    end = latest(graph.is_token("="), graph.position)
    plus = latest(graph.is_token("+"), graph.position)
    column = since(graph.is_token("="))

    def added(column: Node) -> Node:
        first = operand_digit(plus, plus, column)
        return first + operand_digit(end, end - plus - 1, column)

    carried = at_least(added(column - 1) - table(graph, "said", DIGITS), 1)
    carry = both(carried, at_least(column, 1))
    total = added(column) + carry
    answering = has_been(graph.is_token("="))
    over = both(at_least(column, plus), at_least(column, end - plus - 1), 1 - carry)
    graph.emit(DIGITS, total - 10 * at_least(total, 10), when=both(answering, 1 - over))
    graph.emit_token(END, when=both(answering, over))
    graph.stop_after(END)
    return graph


class Drafts:
    """What the program would say behind some tokens. It goes on where it is; behind others than its
    own it reads all of them again.
    """

    def __init__(self, engine: Engine, prompt: list[int]) -> None:
        self.engine = engine
        (self.end,) = engine.encode([END])
        self.begin(prompt)

    def begin(self, ids: list[int]) -> None:
        self.session, self.fed = self.engine.session(), list(ids)
        self.said = self.session.take(np.array(ids, dtype=np.int32))

    def propose(self, ids: list[int], count: int) -> list[int]:
        if ids[: len(self.fed)] != self.fed:
            self.begin(ids)
        for token in ids[len(self.fed) :]:
            self.feed(token)
        drafted = [self.said]
        while len(drafted) < count and drafted[-1] != self.end:
            self.feed(drafted[-1])
            drafted.append(self.said)
        return drafted

    def feed(self, token: int) -> None:
        self.said = self.session.feed(token)
        self.fed.append(token)


# -- the trained model ----------------------------------------------------------------------------


def trained(sharpness: int, steps: int, folder: Path) -> tuple[Setup, Transformer]:
    """One layer whose heads begin as compiled ones and are trained; kept in the folder."""
    positions = f"compiled(heads={COLUMN!r}, frozen=False, sharpness={sharpness})"
    setup = Setup(SUMS.with_(positions=positions, steps=steps, seeds=1))
    path = folder / f"sharpness-{sharpness}-steps-{steps}"
    if path.exists():
        state = load_state(setup, path)
    else:
        state = train(setup, new_state(setup))
        save_state(state, path)
    return setup, of_seed(state, 0)


class Writing:
    """An answer of the trained model.

    most:    tokens of it
    at_once: tokens that are drafted for a pass
    """

    def __init__(
        self, setup: Setup, model: Transformer, prompt: list[int], most: int, at_once: int
    ) -> None:
        self.setup, self.model, self.at_once = setup, model, at_once
        self.prompt, self.ids, self.most = len(prompt), list(prompt), most
        room = 2 * len(prompt) + max(DRAFTS)
        self.places = places_of(setup, prompt, room)
        self.cache = model.empty_cache(1, room)
        self.passes = 0
        self.read(prompt[:-1], 0)

    def read(self, chunk: list[int], start: int) -> np.ndarray:
        """What it says behind each of these tokens, which are at `start`."""
        own = self.places[:, start : start + len(chunk)]
        said, self.cache = step(self.model, np.array([chunk]), own, np.array([start]), self.cache)
        return np.asarray(said)

    def write(self, drafts: Callable[[list[int]], list[int]]) -> None:
        """To the end of the answer, or as much as is wanted."""
        end = self.setup.language.alphabet.end
        while self.ids[-1] != end and len(self.ids) - self.prompt < self.most:
            drafted = drafts(self.ids)
            drafted += [end] * (self.at_once - len(drafted))  # all passes of a run are of one size
            said = self.read([self.ids[-1], *drafted], len(self.ids) - 1).tolist()
            same = [a == b for a, b in zip(drafted, said, strict=False)]
            kept = same.index(False) if False in same else len(drafted)
            new = said[: min(kept + 1, self.prompt + self.most - len(self.ids))]
            self.ids += new[: new.index(end) + 1] if end in new else new
            self.passes += 1


@eqx.filter_jit(donate="all-except-first")
def step(
    model: Transformer, chunk: Any, places: Any, start: Any, cache: Any
) -> tuple[jax.Array, Any]:
    """A pass over some tokens of a row, those before them in the cache."""
    logits, cache = model.step(chunk, places, start, cache)
    return model.most_likely(logits)[0], cache


def places_of(setup: Setup, prompt: list[int], room: int) -> np.ndarray:
    """What heads fetch, token by token, if digits follow, whichever: rules ask where they stand."""
    digit = setup.language.alphabet.first_digit
    row = jnp.array([prompt + [digit] * (room - len(prompt))])
    return np.asarray(eqx.filter_jit(Places(setup, jnp.array([len(prompt)])).of)(row))


# -- measuring ------------------------------------------------------------------------------------


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a few steps and digits")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--out", type=Path, default=Path("runs/learned-drafts"))
    chosen = options.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    print_machine(["jax", "numpy"])
    steps, asked = (200, (40,)) if chosen.quick else (STEPS, DIGITS_ASKED)
    program = compile(sums(), 4 * max(asked) + 100)
    sharpness = {"right at any length": 30, "leaks at great lengths": 10}
    for name, sharp in sharpness.items():
        setup, model = trained(sharp, steps, chosen.out)
        for digits in asked:
            rows = list(measured(setup, model, program, digits, chosen.rounds))
            head = ["drafts", "at once", "tokens a pass", "tokens/s", "times alone", "wrong"]
            print_table(f"{name}: sums of {digits:,} digits", head, rows)


def measured(
    setup: Setup, model: Transformer, program: Model, digits: int, rounds: int
) -> Iterator[list[str]]:
    """Alone, and with drafts of some lengths by generated C and by hull caches."""
    engines = {level: load(program, level) for level in ("native", "hull")}
    ways = [("none", 0)] + [(level, count) for level in engines for count in DRAFTS]
    rates: dict[tuple[str, int], list[float]] = {way: [] for way in ways}
    passes, wrong, texts = dict.fromkeys(ways, 0.0), "", set[str]()
    for number in range(rounds + 1):
        drawn = random.Random(number)
        a, b = (drawn.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
        for way in ways:
            level, count = way
            most = digits + 8 if number else 8  # of the first one, which compiles passes, few
            text, seconds, each = written(
                setup, model, engines.get(level), f"{a}+{b}=", count, most
            )
            texts.add(text)
            if number:
                rates[way].append(len(text) / seconds)
                passes[way] = each
        (text,) = texts
        texts.clear()
        sum_text = f"{a + b}"[::-1] + END
        errors = sum(x != y for x, y in zip(text, sum_text, strict=False))
        wrong = f"{errors:,} of {len(text):,}"
    alone = median(rates["none", 0])
    for (level, count), found in rates.items():
        yield [
            level, str(count or ""), f"{passes[level, count]:.2f}", spread(found, 0),
            f"{median(found) / alone:.2f}", wrong,
        ]  # fmt: skip


def written(
    setup: Setup, model: Transformer, engine: Engine | None, question: str, count: int, most: int
) -> tuple[str, float, float]:
    """What it says, the seconds of that behind the prompt, and tokens a pass."""
    alphabet = setup.language.alphabet
    prompt, symbols = alphabet.encode(question), alphabet.symbols
    writing = Writing(setup, model, prompt, most, count)
    propose = nothing
    if engine is not None:
        to_engine = {alphabet.token(name): n for n, name in enumerate(engine.vocabulary)}
        from_engine = {n: token for token, n in to_engine.items()}
        drafts = Drafts(engine, [to_engine[token] for token in prompt])

        def propose(ids: list[int]) -> list[int]:
            said = drafts.propose([to_engine[token] for token in ids], count)
            return [from_engine[token] for token in said]

    begun = time.perf_counter()
    writing.write(propose)
    seconds = time.perf_counter() - begun
    said = writing.ids[len(prompt) :]
    return "".join(symbols[token] for token in said), seconds, len(said) / writing.passes


def nothing(ids: list[int]) -> list[int]:
    """No draft."""
    return []


if __name__ == "__main__":
    main()
