"""What models say: answers to sample questions, and to the user's own."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from curta.errors import ExperimentError, TokenError
from curta.learn.alphabet import END, PAUSE
from curta.learn.evaluation.decode import generate
from curta.learn.evaluation.exact import check_length
from curta.learn.experiment import Setup
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.reading import read


@dataclass(frozen=True)
class Sample:
    """A question, what was right and what was said."""

    prompt: str
    right: str
    said: str
    exact: bool
    kind: str


@dataclass(frozen=True)
class Spoken:
    """A token that a model said, and what it might have said instead."""

    token: str
    probability: float
    others: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Answer:
    """The answer to the user's prompt."""

    prompt: str
    text: str
    tokens: tuple[Spoken, ...]
    right: str | None = None

    @property
    def probability(self) -> float:
        """Of the whole answer."""
        return float(np.prod([spoken.probability for spoken in self.tokens]))


def samples(
    model: Transformer, setup: Setup, kinds: dict[str, Rows], *, loops: int | None = None
) -> list[Sample]:
    """Decode greedily; rows of all kinds go through together."""
    width = max(rows.tokens.shape[1] for rows in kinds.values())
    together = joined([widened(rows, width) for rows in kinds.values()])
    said = np.asarray(generate(model, setup, together, loops=loops))
    names = [kind for kind, rows in kinds.items() for _ in range(len(rows.length))]
    found = []
    for row, (kind, tokens) in enumerate(zip(names, said, strict=True)):
        if not together.valid[row]:
            continue
        start, end = int(together.prompt_length[row]), int(together.length[row])
        alphabet, wanted = setup.language.alphabet, np.asarray(together.tokens[row])
        found.append(
            Sample(
                prompt=alphabet.decode(wanted[:start]),
                right=alphabet.decode(wanted[start:end]),
                said=alphabet.decode(tokens[start:]),
                exact=bool((tokens[:end] == wanted[:end]).all()),
                kind=kind,
            )
        )
    return found


def widened(rows: Rows, width: int) -> Rows:
    """Rows filled up to a greater width."""
    missing = width - rows.tokens.shape[1]
    tokens = jnp.pad(rows.tokens, ((0, 0), (0, missing)))  # the end token is 0
    return Rows(tokens, rows.prompt_length, rows.length, rows.valid)


def joined(batches: list[Rows]) -> Rows:
    """Several batches of one width."""
    rows: Rows = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *batches)
    return rows


def ask(
    model: Transformer, setup: Setup, text: str, *, loops: int | None = None, alternatives: int = 3
) -> Answer:
    """What the model says behind the user's text, with the probability of every token."""
    alphabet, rows = setup.language.alphabet, asked(model, setup, text)
    given, width = int(rows.prompt_length[0]), int(rows.length[0])
    tokens, probabilities = said_with_probabilities(model, setup, rows, loops)
    said, shares = np.asarray(tokens[0]), np.asarray(probabilities[0])
    spoken = []
    for place in range(given, width):
        order = np.argsort(-shares[place - 1])[: alternatives + 1]
        named = [(alphabet.symbols[token], float(shares[place - 1, token])) for token in order]
        own = alphabet.symbols[said[place]]
        others = tuple(pair for pair in named if pair[0] != own)[:alternatives]
        spoken.append(Spoken(own, float(shares[place - 1, said[place]]), others))
        if said[place] == alphabet.end:
            break
    return Answer(text, "".join(one.token for one in spoken), tuple(spoken))


def asked(model: Transformer, setup: Setup, text: str) -> Rows:
    """A row with the user's question, and room for the answer."""
    prompt, width = encoded(setup, text), setup.longest
    if len(prompt) >= width:
        raise ExperimentError(
            f"the prompt has {len(prompt)} tokens, rows of this run have {width}: ask for less"
        )
    check_length(model, setup, width)
    return Rows(
        jnp.array([prompt + [setup.language.alphabet.end] * (width - len(prompt))], jnp.int32),
        jnp.array([len(prompt)]),
        jnp.array([width]),
        jnp.array([True]),
    )


def encoded(setup: Setup, text: str) -> list[int]:
    """The tokens of a question, or an error that shows how questions are written."""
    alphabet, pauses = setup.language.alphabet, setup.language.pauses
    prompt, hint = alphabet.encode(text), f"write a question as in {setup.question!r}"
    if not prompt:
        raise TokenError(f"the prompt is empty: {hint}")
    if alphabet.end in prompt:
        raise TokenError(f"{END!r} in {text!r} ends an answer: {hint}")
    last = alphabet.encode(setup.question.rstrip(PAUSE))[-1]
    if last not in prompt and not 0 <= last - alphabet.first_digit < alphabet.digit_tokens:
        raise TokenError(f"{text!r} has no {alphabet.symbols[last]!r}: {hint}")
    pause = alphabet.encode(PAUSE * pauses)
    return prompt if prompt[len(prompt) - pauses :] == pause else prompt + pause


def is_question(setup: Setup, text: str) -> bool:
    """Whether the run's language has such questions."""
    try:
        return bool(encoded(setup, text))
    except TokenError:
        return False


@eqx.filter_jit
def said_with_probabilities(
    model: Transformer, setup: Setup, rows: Rows, loops: int | None
) -> tuple[Array, Array]:
    """Greedy decoding; then the probabilities of what follows each token of it."""
    tokens = generate(model, setup, rows, loops=loops)
    places = setup.positions.places(read(tokens, rows.prompt_length, setup.language))
    logits = model(tokens, places, loops=loops)
    return tokens, jax.nn.softmax(logits.astype(jnp.float32))
