"""`curta fit`: gradients into a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from curta.errors import DataError, UserError
from curta.hybrid.fit_config import FitConfig
from curta.options import option, word
from curta.terminal import AsJson, Progress

if TYPE_CHECKING:
    from curta.hybrid.fit import Problem


@dataclass(frozen=True)
class Options(AsJson, FitConfig):
    """Fit the holes of a program to examples of what it does, and compile what was found.

    problem:    a function of a file of yours that returns a curta.hybrid.fit.Problem
    size:       what that function is given, if anything
    output:     where the compiled program goes, if all examples are right
    max_tokens: the length to certify
    """

    problem: str = word("FILE.py:NAME")
    size: int | None = option(None)
    output: str | None = option(None, short="-o", metavar="OUT")
    max_tokens: int = 4096


@dataclass(frozen=True)
class Report:
    """What was found.

    right:   the share of examples that the best program gets right
    solved:  the share of seeds whose program gets all of them right
    numbers: of its holes
    tokens:  of its blanks
    output:  where the compiled program is
    """

    right: float
    solved: float
    numbers: dict[str, tuple[str, ...]]
    tokens: dict[str, str]
    output: str | None

    def __str__(self) -> str:
        found = [f"{name} = {', '.join(values)}" for name, values in self.numbers.items()]
        found += [f"{name} = {token}" for name, token in self.tokens.items()]
        found.append(f"{self.right:.0%} of the examples right; {self.solved:.0%} of seeds have all")
        if self.right < 1:
            found.append("not compiled: no program was found that gets all of them right")
        return "\n".join(found if self.output is None else [*found, f"compiled: {self.output}"])


def run(options: Options) -> int:
    """Fit, and say what was found: 0 if it gets all examples right."""
    from curta.compiler import compile
    from curta.hybrid.fit import fit

    problem = find_problem(options.problem, options.size)
    with Progress(lines=not options.json) as progress:

        def on_step(step: int, loss: float) -> None:
            progress.show("fitting", step, options.steps, f"steps, loss {loss:.3f}")

        found = fit(problem, options, on_step)
    best, output = found.best, None
    if best.right == 1 and options.output is not None:
        output = options.output
        compile(best.graph(problem), options.max_tokens).save(output)
    numbers = {name: tuple(map(str, values)) for name, values in best.numbers.items()}
    share = found.solved / len(found.solutions)
    options.show(Report(best.right, share, numbers, dict(best.tokens), output))
    return 0 if best.right == 1 else 1


def find_problem(name: str, size: int | None) -> Problem:
    """What the function returns."""
    from curta.gallery.own import from_file
    from curta.hybrid.fit import Problem

    path, _, function = name.rpartition(":")
    if not path:
        raise UserError(f"{name}: say which function of it has the problem, FILE.py:NAME")
    problem = from_file(path, function, *([] if size is None else [size]))
    if not isinstance(problem, Problem):
        raise DataError(f"{name} returned no curta.hybrid.fit.Problem")
    return problem
