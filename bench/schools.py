"""Three ways to compute, on the same problems. Run: python bench/schools.py [--learned FOLDER]

    compile    programs in weights: of the gallery, or C on the machine (exact by proof)
    learn      small transformers that were trained on short problems (three runs of `curta learn`,
               about twelve minutes of a core; kept in FOLDER and used again)
    delegate   SmolLM2-135M-Instruct with the adapter that comes with curta, which calls
    as it came the same model without

Each problem is put in the words that a school understands; right is the exact answer. For each
school: how many are right with Wilson's interval, and of one answer the tokens, the seconds of one
core, and the multiplications: two for each weight that is not zero and each token that is read or
said, which is what energy goes with. A dash: nothing there can be asked such a thing.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch

from curta.app.command_line import main as curta
from curta.delegate import CalcGenerator, models
from curta.delegate.data.answers import is_right
from curta.delegate.evaluation.suites import TRAINED, Sources, questions
from curta.delegate.options import SMOLLM2
from curta.hybrid import Module
from curta.hybrid.hearing import Hearing
from curta.hybrid.modules import modules_of
from curta.intervals import wilson
from report import complete_machine, print_machine, print_table

LEARNED = {
    "+": [
        "addition", "--format", "reversed", "--positions", "aligned(reach=1)", "--train-digits",
        "1..8", "--feedforward", "128", "--batch", "64", "--learning-rate", "0.003",
        "--test-digits", "4..100", "--stride", "32",
    ],
    "*": [
        "multiplication", "--format", "reversed", "--train-digits", "1..2", "--feedforward", "256",
        "--batch", "128", "--learning-rate", "0.002", "--test-digits", "1..12", "--stride", "11",
    ],
    "sort": [
        "sorting(numbers=4)", "--train-digits", "1..2", "--feedforward", "128", "--batch", "64",
        "--learning-rate", "0.002", "--test-digits", "1..2",
    ],
}  # fmt: skip
"""What is trained, by what it computes."""
ALL = ["--seeds", "1", "--layers", "2", "--heads", "4", "--steps", "3000"]
SUDOKUS = (
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
    "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    "..9748...7.........2.1.9.....7...24..64.1.59..98...3.....8.3.2.........6...2759..",
)


@dataclass(frozen=True)
class Problem:
    """One thing to be computed: `what` is +, *, sort, sudoku or words."""

    what: str
    given: tuple[Any, ...]
    question: str
    answer: str


class Outcome(NamedTuple):
    """An answer, and what it took."""

    right: bool
    tokens: int
    seconds: float
    products: float


Asks = Callable[[Problem], Outcome | None]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--learned", default="runs/schools", help="where trained models are kept")
    options.add_argument("--count", type=int, default=8, help="problems of a kind (8)")
    options.add_argument("--quick", action="store_true", help="two of each, without training")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    count = 2 if arguments.quick else arguments.count
    learned = None if arguments.quick else trained(Path(arguments.learned))
    print_machine(["torch", "transformers", "jax"])
    complete_machine()
    schools: dict[str, Asks] = {
        "compile": compiled(), "learn": learned or nothing, "delegate": language_model(None),
        "as it came": language_model(models.AS_IT_CAME),
    }  # fmt: skip
    tables: dict[str, list[list[str]]] = {part: [] for part in PARTS}
    for kind, problems in drawn(count).items():
        found = [[ask(one) for one in problems] for ask in schools.values()]
        for part, tell in PARTS.items():
            tables[part].append([kind, *(told(outcomes, tell) for outcomes in found)])
        print(f"{kind}: {tables['right'][-1][1:]}", flush=True)
    for part, rows in tables.items():
        print_table(part, ["problem", *schools], rows)


def nothing(problem: Problem) -> None:
    """Nobody was trained."""


def told(outcomes: Sequence[Outcome | None], tell: Callable[[list[Outcome]], str]) -> str:
    """A cell of a table."""
    there = [one for one in outcomes if one is not None]
    return tell(there) if there else "-"


def share(outcomes: list[Outcome]) -> str:
    count = sum(one.right for one in outcomes)
    low, high = wilson(count, len(outcomes))
    return f"{count}/{len(outcomes)} [{low:.0%}, {high:.0%}]"


PARTS: dict[str, Callable[[list[Outcome]], str]] = {
    "right": share,
    "tokens": lambda found: f"{median(one.tokens for one in found):,.0f}",
    "seconds": lambda found: f"{median(one.seconds for one in found):.3g}",
    "multiplications": lambda found: f"{median(one.products for one in found):.1e}",
}


# -- problems ---------------------------------------------


def drawn(count: int) -> dict[str, list[Problem]]:
    """By kind; the same every time."""
    dice = random.Random(0)

    def number(digits: int) -> int:
        return dice.randint(10 ** (digits - 1), 10**digits - 1)

    def pairs(sign: str, digits: int) -> list[Problem]:
        made = []
        for _ in range(count):
            a, b = number(digits), number(digits)
            asked = f"What is {a} {'plus' if sign == '+' else 'times'} {b}?"
            made.append(Problem(sign, (a, b), asked, str(a + b if sign == "+" else a * b)))
        return made

    def lists(length: int) -> list[Problem]:
        made = []
        for _ in range(count):
            values = [dice.randint(1, 99) for _ in range(length)]
            text, right = (",".join(map(str, one)) for one in (values, sorted(values)))
            made.append(Problem("sort", tuple(values), f"Put in ascending order: {text}", right))
        return made

    sudoku = modules_of(["sudoku"])[0].tool
    puzzles = [
        Problem("sudoku", (one,), f"Solve this sudoku, row by row: {one}",
                sudoku.call({"puzzle": one}).text)
        for one in SUDOKUS[:count]
    ]  # fmt: skip
    words = questions([TRAINED], Sources(count=count, negatives=0))
    return {
        **{f"sums, {digits} digits": pairs("+", digits) for digits in (3, 20, 100)},
        **{f"products, {digits} digits": pairs("*", digits) for digits in (2, 10, 50)},
        **{f"sorting {length} numbers": lists(length) for length in (4, 20)},
        "sudokus": puzzles,
        "word problems": [Problem("words", (), one.text, str(one.value)) for one in words],
    }


# -- schools ---------------------------------------------


def compiled() -> Asks:
    """Modules of the hybrid, whose tokens are heard."""
    numbers, order, sudoku = (modules_of([word]) for word in ("bignum", "sorting", "sudoku"))
    modules = {
        "+": Module.gallery("addition"), "*": Module.gallery("multiplication"),
        "sort": order[0], "sudoku": sudoku[0],
    }  # fmt: skip
    assert numbers
    sizes = {
        module.name: sum(map(np.count_nonzero, module.engine.model.weights.values()))
        for module in modules.values()
    }

    def ask(problem: Problem) -> Outcome | None:
        module = modules.get(problem.what)
        if module is None:
            return None
        hearing = Hearing(module.name)
        begun = time.process_time()
        answer = module.heard(hearing).call(arguments(problem))
        spent = time.process_time() - begun
        tokens = sum(len(ids) + sum(map(len, said)) for ids, said in hearing.contexts)
        value = answer.value
        text = ",".join(f"{n:.0f}" for n in value) if isinstance(value, list) else answer.text
        return Outcome(text == problem.answer, tokens, spent, 2.0 * sizes[module.name] * tokens)

    return ask


def arguments(problem: Problem) -> dict[str, Any]:
    """What a module is given."""
    if problem.what == "sort":
        return {"values": list(problem.given)}
    if problem.what == "sudoku":
        return {"puzzle": problem.given[0]}
    return {"input": f" {problem.what} ".join(map(str, problem.given))}


def trained(folder: Path) -> Asks:
    """Small transformers, trained now or earlier."""
    import jax

    from curta.learn.commands.shared import picked_model
    from curta.learn.evaluation.samples import ask as ask_model

    found = {}
    for what, words in LEARNED.items():
        place = folder / {"+": "sums", "*": "products", "sort": "sorting"}[what]
        if not place.exists() and curta(["learn", "run", *words, *ALL, "--out", str(place)]):
            raise SystemExit(f"{place}: training failed")
        run, model, _ = picked_model(str(place), None)
        size = sum(leaf.size for leaf in jax.tree.leaves(model) if hasattr(leaf, "size"))
        found[what] = run.setup, model, size

    def ask(problem: Problem) -> Outcome | None:
        if problem.what not in found:
            return None
        setup, model, size = found[problem.what]
        sign = "," if problem.what == "sort" else problem.what
        text = sign.join(map(str, problem.given)) + (":" if problem.what == "sort" else "=")
        begun = time.process_time()
        try:
            said = ask_model(model, setup, text)
        except Exception as error:  # longer than any row of the run
            if "prompt" not in str(error):
                raise
            return Outcome(False, 0, 0.0, 0.0)
        spent = time.process_time() - begun
        answer = said.text.removesuffix("#")
        answer = ",".join(part[::-1] for part in answer.split(","))  # each from its last digit
        tokens = len(text) + len(said.tokens)
        return Outcome(answer == problem.answer, tokens, spent, 2.0 * size * tokens)

    return ask


def language_model(adapter: str | None) -> Asks:
    """Asked in words; with an adapter it calls."""
    name = SMOLLM2
    model, tokenizer = models.load(name, adapter=models.chosen_adapter(name, adapter), device="cpu")
    size = sum(parameter.numel() for parameter in model.parameters())
    calls = None if adapter is None else "inline"
    generator = CalcGenerator(model, tokenizer, format=calls)  # type: ignore[arg-type]

    def ask(problem: Problem) -> Outcome | None:
        prompt = [{"role": "user", "content": problem.question}]
        begun = time.process_time()
        (output,) = generator.generate([prompt], max_new_tokens=room(problem))
        spent = time.process_time() - begun
        tokens = len(generator.encoded(prompt)) + output.tokens
        return Outcome(solved(problem, output.text), tokens, spent, 2.0 * size * tokens)

    return ask


def room(problem: Problem) -> int:
    """Tokens for an answer: twice what a call and its answer take, of numbers digit by digit."""
    return 60 + 2 * len(problem.question) + 2 * len(problem.answer)


def solved(problem: Problem, text: str) -> bool:
    """Whether an answer in words is the right one."""
    if problem.what == "sudoku":
        return problem.answer in re.sub(r"\D", "", text)
    if problem.what == "sort":
        return re.sub(r"[^\d,]", "", text.replace(" ", ",")).find(problem.answer) >= 0
    return is_right(text, problem.answer)


if __name__ == "__main__":
    main()
