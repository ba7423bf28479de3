"""Benchmark of intercepted calls. Run: python bench/interception.py [--quick] [--model NAME]

What tools cost while a language model writes, on the CPU: transformers' own `generate` beside
curta's loop on text without calls, for each way to call; putting an answer behind a call beside a
step of decoding and beside encoding the whole context again; many prompts at once beside one at a
time; the server's streams beside one. Both sides in one process, in turns, greedy, with the
key-value cache.
"""

from __future__ import annotations

import argparse
import copy
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import torch

from curta.delegate import models
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.protocol import FormatName
from curta.delegate.options import SMOLLM2
from curta.delegate.serving.engine import Engine
from curta.delegate.serving.limits import Limits
from curta.delegate.serving.refusals import RefusedError
from curta.delegate.serving.writing import Told, Wanted
from report import print_machine, print_table, spread

PROMPTS = (
    "Tell me about the sea.",
    "Describe an old house in the mountains.",
    "Write a letter to a friend about the spring.",
    "What do people like about tea?",
)
CONTEXT = 300
ANSWER = " = 2088"
STREAMS = 32
TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}\n{% endif %}{% for message in messages %}"
    "{{ message.role }}: {% for call in message.tool_calls %}<tool_call>{{ {'name': "
    "call.function.name, 'arguments': call.function.arguments} | tojson }}</tool_call>{% else %}"
    "{{ message.content }}{% endfor %}<|im_end|>\n{% endfor %}assistant: "
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="few rounds, short texts")
    options.add_argument("--model", default=SMOLLM2, help=f"default {SMOLLM2}")
    options.add_argument("--threads", type=int, default=2, help="threads of PyTorch (default 2)")
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    print_machine(["torch", "transformers"])
    print(f"{__doc__.split(chr(10), 2)[2]}\n{arguments.model}, {arguments.threads} threads.")
    print("Medians (smallest-largest).\n")
    model, tokenizer = models.load(arguments.model, device="cpu")
    tokenizer.chat_template = TEMPLATE  # the packaged model has none with tools
    names: tuple[FormatName, ...] = ("inline", "prompted", "own")
    generators = {name: CalcGenerator(model, tokenizer, format=name) for name in names}
    generator = generators["inline"]
    rounds, tokens = (3, 16) if arguments.quick else (9, 64)
    cost_of_interception(generators, rounds, tokens)
    cost_of_an_answer(generator, rounds)
    gain_of_batches(generator, 1 if arguments.quick else 3, tokens)
    gain_of_streams(generator, 1 if arguments.quick else 3, tokens)


def cost_of_interception(
    generators: dict[FormatName, CalcGenerator], rounds: int, tokens: int
) -> None:
    """The same text by transformers' loop and by curta's."""
    generator = generators["inline"]
    sides: dict[str, dict[str, Any]] = {"transformers' generate": {}}
    for name, each in generators.items():
        sides[f"curta, {name} calls intercepted"] = {"custom_generate": each.loop}
    rows = []
    for count in (1, 8):
        inputs = generator.inputs(asked(count))
        times = race(
            {
                name: partial(
                    generator.model.generate,
                    **inputs,
                    **given,
                    **generator.completed({}),
                    min_new_tokens=tokens,
                    max_new_tokens=tokens,
                )
                for name, given in sides.items()
            },
            rounds,
        )
        plain = times["transformers' generate"]
        rows += [
            [
                name,
                str(count),
                spread([count * tokens / each for each in taken], 1),
                spread([a / b for a, b in zip(taken, plain, strict=True)], 3),
            ]
            for name, taken in times.items()
        ]
    header = ["who", "prompts", "tokens/s", "time to transformers' generate"]
    print_table(f"Text without calls, {tokens} tokens", header, rows)


def cost_of_an_answer(generator: CalcGenerator, rounds: int) -> None:
    """One pass each: a token, a token and an answer, the whole context and the answer."""
    answer = generator.fragments.encode(ANSWER)
    context = torch.randint(0, 1000, (1, CONTEXT), generator=torch.Generator().manual_seed(0))
    behind = torch.tensor([[1, *answer]])
    with torch.no_grad():
        cache = generator.model(input_ids=context, use_cache=True).cache
        held = [copy.deepcopy(cache) for _ in range(2 * (rounds + 1))]
        times = race(
            {
                "one token": lambda: generator.model(input_ids=behind[:, :1], cache=held.pop()),
                f"one token and {ANSWER!r}": lambda: generator.model(
                    input_ids=behind, cache=held.pop()
                ),
                "the whole context again": lambda: generator.model(
                    input_ids=torch.cat([context, behind], dim=1)
                ),
            },
            rounds,
        )
    step = times["one token"]
    rows = [
        [name, spread([1e3 * each for each in taken], 1), spread(ratios(taken, step))]
        for name, taken in times.items()
    ]
    print_table(
        f"An answer of {len(answer)} tokens behind a context of {CONTEXT}",
        ["pass", "ms", "steps of decoding"],
        rows,
    )


def gain_of_batches(generator: CalcGenerator, rounds: int, tokens: int) -> None:
    """Tokens a second of all prompts at once."""
    limits = {"min_new_tokens": tokens, "max_new_tokens": tokens}
    sizes = (1, 8, 32)
    times = race(
        {str(count): partial(generator.generate, asked(count), **limits) for count in sizes},
        rounds,
    )
    rates = {
        count: [int(count) * tokens / each for each in taken] for count, taken in times.items()
    }
    rows = [
        [count, spread(rate, 1), spread(ratios(rate, rates["1"]))] for count, rate in rates.items()
    ]
    print_table("Prompts at once", ["prompts", "tokens/s", "to one at a time"], rows)


def gain_of_streams(generator: CalcGenerator, rounds: int, tokens: int) -> None:
    """Tokens a second of all streams that the server writes at once."""
    engine = Engine(generator, Limits(batch=STREAMS, queue=STREAMS))
    engine.ends = frozenset()  # each of them as long as the others

    def write(count: int) -> None:
        wanted = [Wanted(tuple(generator.encoded(prompt)), tokens) for prompt in asked(count)]
        over = [threading.Event() for _ in wanted]

        def hear(event: threading.Event, told: Told) -> None:
            if isinstance(told, RefusedError) or told.reason:
                event.set()

        engine.submit(
            [(each, partial(hear, event)) for each, event in zip(wanted, over, strict=True)]
        )
        for event in over:
            event.wait()

    try:
        sizes = (1, 8, STREAMS)
        times = race({str(count): partial(write, count) for count in sizes}, rounds)
    finally:
        engine.stop()
    rates = {
        count: [int(count) * tokens / each for each in taken] for count, taken in times.items()
    }
    rows = [
        [count, spread(rate, 1), spread(ratios(rate, rates["1"]))] for count, rate in rates.items()
    ]
    print_table("Streams of the server", ["streams", "tokens/s", "to one"], rows)


def asked(count: int) -> list[str]:
    """So many prompts."""
    return [PROMPTS[number % len(PROMPTS)] for number in range(count)]


def race(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each side in each round; the first, which warms the caches, does not count."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds + 1):
        for name, run in sides.items():
            begun = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begun)
    return {name: taken[1:] for name, taken in times.items()}


def ratios(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Of each round, to the other side's median."""
    return [each / median(second) for each in first]


if __name__ == "__main__":
    main()
