"""EleutherAI's lm-evaluation-harness with curta's calls: importing this registers a model `curta`.

    python -m curta.delegate.evaluation.harness --model curta --tasks gsm8k \\
        --model_args pretrained=MODEL,adapter=FOLDER,backend=exact

It is the harness's own command line, and its own model class for transformers: prompts, stop
strings, batches and likelihoods are theirs; only generation goes through the loop with calls.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lm_eval.api.registry import register_model
from lm_eval.models.huggingface import HFLM

from curta.delegate import models
from curta.delegate.calculator.backends import NAMES
from curta.delegate.evaluation.systems import generator
from curta.errors import UserError


@register_model("curta")
class CurtaLM(HFLM):  # type: ignore[misc]
    """A model of transformers whose calls are answered while it generates.

    adapter: a folder made by `curta delegate train`
    backend: exact or machine; or none, for generation in which nothing is a call
    """

    def __init__(
        self,
        pretrained: Any,
        adapter: str | None = None,
        backend: str | None = "exact",
        device: str | None = None,
        **options: Any,
    ) -> None:
        if backend not in (*NAMES, None):  # the harness reads none as None
            raise UserError(f"backend={backend}: there are {', '.join(NAMES)} and none")
        if isinstance(pretrained, str):
            pretrained, options["tokenizer"] = models.load(
                pretrained, adapter=None if adapter is None else Path(adapter), device=device
            )
        elif adapter is not None:
            raise UserError("adapter: give pretrained as a name, or a model that has the adapter")
        super().__init__(pretrained=pretrained, device=device, **options)
        self.generator = generator(self.model, self.tokenizer, backend)

    def _model_generate(
        self, context: torch.Tensor, max_length: int, stop: list[str], **options: Any
    ) -> torch.Tensor:
        """What the parent does, with another loop."""
        written: torch.Tensor = super()._model_generate(
            context, max_length, stop, custom_generate=self.generator.loop, **options
        )
        return written


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
