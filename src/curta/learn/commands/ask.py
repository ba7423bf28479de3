"""`curta learn ask`: a trained model, and how sure it is."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from curta.errors import ExperimentError
from curta.options import word
from curta.terminal import AsJson, write_json


@dataclass(frozen=True)
class Options(AsJson):
    """Ask a trained model something, and see how sure it is of each token.

    folder: of the run; of a recipe's, the part that has such questions, or RUN/EXPERIMENT
    prompt: as the format writes it: 57+24=
    seed:   which of the models (the first)
    loops:  as often (as in training)
    """

    folder: str = word("RUN")
    prompt: str = word("PROMPT")
    seed: int | None = None
    loops: int | None = None


@dataclass(frozen=True)
class Report:
    """What it said.

    prompt, text: the question and the answer
    probability:  of the whole answer
    tokens:       of the answer
    """

    prompt: str
    text: str
    probability: float
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class Token:
    """One of them.

    token, probability: what was said, and how sure that was
    others:             what else might have been, by its probability
    """

    token: str
    probability: float
    others: dict[str, float]


def run(options: Options) -> int:
    """The answer, then each token with its probability and what else might have been."""
    from curta.learn.commands.shared import keep_compiled_programs, picked_model
    from curta.learn.evaluation.samples import ask

    keep_compiled_programs()
    if options.loops is not None and options.loops < 1:
        raise ExperimentError(f"--loops {options.loops}: must be at least 1")
    folder, model, _ = picked_model(options.folder, options.seed, options.prompt)
    answer = ask(model, folder.setup, options.prompt, loops=options.loops)
    if options.json:
        tokens = (Token(one.token, one.probability, dict(one.others)) for one in answer.tokens)
        write_json(Report(answer.prompt, answer.text, answer.probability, tuple(tokens)))
        return 0
    print(f"{answer.prompt}{answer.text}")
    for spoken in answer.tokens:
        others = "  ".join(f"{token} {share:.4f}" for token, share in spoken.others)
        print(f"  {spoken.token}  {spoken.probability:.4f}   {others}")
    print(f"probability of the whole answer: {answer.probability:.4f}", file=sys.stderr)
    return 0
