"""A transcript as a page: the language model's tokens, and between them what modules said.

Of every token that the language model chose it says what else that might have been; of a program on
the machine it has every instruction with the tokens that it said, as `curta run --trace` has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from curta.explore.pages import stream_page
from curta.hybrid.verify import Again, written_again
from curta.machine.listing import executed
from curta.machine.opening import split_opening

if TYPE_CHECKING:
    from curta.engine.base import Ids
    from curta.hybrid.model import HybridModel
    from curta.hybrid.modules import Module
    from curta.hybrid.transcript import Transcript

OTHERS = 5
"""Tokens that might have been said, the one that was among them."""
MOST_LINES = 20_000
"""Of one context."""


def page_of(model: HybridModel, transcript: Transcript, verdict: str = "") -> str:
    """The page; a `VerifyError` if the transcript is none of this model's."""
    again = written_again(model, transcript)
    return stream_page(
        {
            "title": transcript.text[:60],
            "verdict": verdict,
            "prompt": texts(model, transcript.prompt.tolist()),
            "parts": list(parts(model, transcript, again)),
        }
    )


def parts(model: HybridModel, transcript: Transcript, again: Again) -> Iterator[dict[str, Any]]:
    """Stretches of the language model's tokens, and contexts, in their order."""
    contexts, begun = model.vocabulary.contexts(transcript.ids), 0
    own = spoken(model, transcript, again)
    for context, (module, opening, said) in zip(contexts, again.contexts, strict=True):
        yield {"tokens": list(islice(own, context.begin - 1 - begun))}
        yield {"module": about(module, opening, said)}
        begun = context.end
    yield {"tokens": list(own)}


def texts(model: HybridModel, tokens: list[int]) -> list[str]:
    """Each by itself."""
    return [str(model.tokenizer.decode([token])) for token in tokens]


def spoken(model: HybridModel, transcript: Transcript, again: Again) -> Iterator[dict[str, Any]]:
    """The language model's tokens behind the prompt."""
    own = transcript.ids[transcript.ids < model.vocabulary.language]
    tokens = zip(texts(model, own.tolist()), again.choosers, strict=True)
    for at, (text, chooser) in enumerate(tokens, len(transcript.prompt) - 1):
        if chooser < 0:
            yield {"text": text, "who": "answer"}
        elif chooser < transcript.given:
            yield {"text": text, "who": "given"}
        else:
            shares = again.logits[at].float().softmax(-1)
            best = torch.topk(shares, min(OTHERS, len(shares)))
            names = texts(model, best.indices.tolist())
            others = list(zip(names, best.values.tolist(), strict=True))
            yield {"text": text, "who": "chosen", "others": others}


def about(module: Module, opening: Ids, said: Ids) -> dict[str, Any]:
    """What a module said in a context."""
    names = module.engine.vocabulary
    program = module.program
    if program is None or split_opening(opening)[1].counter:  # a later chapter, somewhere within
        rows = (said[n : n + 16].tolist() for n in range(0, len(said), 16))
        lines = [" ".join(names[token] for token in row) for row in rows]
    else:
        lines = list(islice(executed(program, said), MOST_LINES))
    opens = " ".join(names[token] for token in opening[:12].tolist())
    return {
        "name": module.name,
        "about": module.tool.description,
        "weights": module.weights,
        "opening": len(opening),
        "opens": opens + (" ..." if len(opening) > 12 else ""),
        "said": len(said),
        "lines": lines,
    }
