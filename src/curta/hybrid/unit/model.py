"""A frozen language model with a typed unit: one pass per visible token, and exact digits.

Behind the pass that reads a text, a router (`router`) has a few rows of its own go through the
same blocks, and decides whether two numbers of the text are to be added, subtracted, multiplied or
divided. If so, their digits are
read from the tokens, a compiled program computes (`arithmetic`; its tokens are seen by nobody), and
the digits of the result wait in `pending`: in this pass and in each that follows, the logits at the
row's last token are made to say the next of them, and then that the answer ends.

    logits[row, token to be said] = max(logits[row]) + MARGIN

Nothing else is touched. **Where the router does not fire, the logits are those of the model as it
came, bit for bit.**
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationMixin, PreTrainedModel

from curta.delegate import models
from curta.delegate.interception.events import CallResult
from curta.delegate.interception.pieces import Fragments
from curta.delegate.options import SMOLLM2
from curta.errors import DataError, UndefinedError, UserError
from curta.hybrid.unit.arithmetic import MOST_PLACES, Arithmetic
from curta.hybrid.unit.numbers import Span, numbers_in, numbers_of_tokens
from curta.hybrid.unit.router import (
    MOST_NUMBERS,
    Decision,
    Readings,
    Router,
    Shape,
    of_numbers,
)

MARGIN = 30.0
"""By how much the token to be said beats all others: e^-30 is what is left for them together."""

NOTHING = -1
"""In `pending`, behind the tokens of a row."""

Routes = list[CallResult | None]
"""What is computed in each row instead of the model's own answer, as the calculator's calls."""

FORMAT = 2
WEIGHTS, ABOUT = "router.safetensors", "unit.json"
NEVER = 1e9
"""A threshold above every score."""


@dataclass(frozen=True)
class Settings:
    """What a router is used with.

    base:      the language model
    origin:    where its weights came from in training
    threshold: it fires if this is a decision's certainty, or less
    """

    base: str = SMOLLM2
    origin: str = ""
    threshold: float = NEVER


class UnitModel(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]
    """Use it as the model that it is made of: forward, `generate`, caches, batches padded left.

    tokenizer: the model's, which says what text tokens are
    router:    nothing ever fires without one
    """

    reads_whole = True
    """Routes are found where a text is read, so none of it is read by itself."""
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True

    def __init__(
        self,
        base: Any,
        tokenizer: Any,
        router: Router | None = None,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(base.config)
        self.base = base.requires_grad_(False)
        self.generation_config = base.generation_config
        self.router = router.to(base.device) if router else None
        self.settings = settings or Settings()
        self.tokenizer = tokenizer
        self.arithmetic = Arithmetic()
        self.fragments = Fragments(tokenizer)

    # -- loading and saving -------------------------------------------------------------------

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, name: str | Path, *, unit: str | Path | None = None, device: str | None = None
    ) -> UnitModel:
        """A folder written by `save_pretrained`; or a language model with such a folder, or none.

        Without a unit nothing fires: that is how training begins.
        """
        is_kept = is_unit(Path(name))
        folder = Path(unit) if unit else Path(name) if is_kept else None
        router, settings = read_unit(folder) if folder else (None, Settings())
        base_name = settings.base if is_kept else str(name)
        base, tokenizer = models.load(base_name, device=device)
        if router and router.shape != Shape.of(base.config.get_text_config()):
            raise UserError(f"{folder}: this unit is for {settings.base}, not for {base_name}")
        trained_for, origin = settings.origin, getattr(base, "weights_origin", "")
        if router and trained_for != origin and not f"{trained_for} {origin}".count("folder"):
            models.say(f"{folder} was trained for other weights ({trained_for}; these: {origin})")
        return cls(base, tokenizer, router, settings)

    def save_pretrained(self, save_directory: str | Path, **options: Any) -> None:  # type: ignore[override]
        """What was trained, and which language model it is for; not that model."""
        if self.router is None:
            raise UserError("there is no router to be saved: train one first")
        write_unit(Path(save_directory), self.router, self.settings)

    # -- what transformers calls --------------------------------------------------------------

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        pending: Tensor | None = None,
        on_routes: Callable[[Routes], None] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The model's own output, and in it `pending`: pass it on to the next pass.

        pending:   what is still to be said in each row, as the last pass left it; a pass without it
                   reads a text, and routes
        on_routes: is told what fired in each row, if anything might
        """
        given = {"input_ids": input_ids, "attention_mask": attention_mask} | kwargs
        if pending is None and input_ids is not None and self.router is not None:
            cache = kwargs.get("cache", kwargs.get("past_key_values"))
            there = counting(input_ids, attention_mask, cache)
            mask = there[:, -input_ids.shape[1] :].tolist()
            spans = [self.numbers(*row) for row in zip(input_ids.tolist(), mask, strict=True)]
            if any(spans):
                return self.asked(given, there, spans, on_routes)
        output = self.base(**given)
        if pending is None:
            pending = torch.empty((len(output.logits), 0), dtype=torch.long, device=self.device)
        self.say(output.logits, pending, [1] * len(pending))
        output["pending"] = pending[:, 1:]
        return output

    def asked(
        self, given: dict[str, Any], there: Tensor, spans: Sequence[list[Span]],
        on_routes: Callable[[Routes], None] | None,
    ) -> Any:  # fmt: skip
        """The output of a pass that reads texts with numbers; what it says is what is computed.

        there: which tokens of the texts count, those in the cache before it, too
        """
        assert self.router is not None
        shape = self.router.shape
        with listening(self.base, {shape.numbers, shape.leave}) as streams:
            output = self.base(**given | {"use_cache": True})
        logits, blocks = output.logits, output.cache.layers[shape.enter : shape.leave]
        there, (rows, new) = there.to(logits.device), given["input_ids"].shape
        last = (there[:, -new:] * torch.arange(new, device=logits.device)).argmax(1)
        places = given.get("position_ids")
        if places is None:
            places = torch.arange(there.shape[1])[None, -new:]
        behind = places.to(logits.device).expand(rows, -1)[range(rows), last] + 1
        asking = [row for row, found in enumerate(spans) if found]
        readings = Readings(
            [(block.keys[asking, :, : there.shape[1]], block.values[asking, :, : there.shape[1]])
             for block in blocks],
            there[asking], behind[asking], streams[shape.leave][asking, last[asking]],
            [of_numbers(streams[shape.numbers][row], spans[row], int(last[row])) for row in asking],
        )  # fmt: skip
        decisions = self.router.decide(self.base.get_decoder(), readings, self.settings.threshold)
        routes: Routes = [None] * rows
        for row, decided in zip(asking, decisions, strict=True):
            routes[row] = self.computed(decided, spans[row])
        if on_routes is not None:
            on_routes(routes)
        if given.get("use_cache") is False:
            output = type(output)(**{**output, "cache": None})
        pending = self.waiting(routes, logits.device)
        self.say(logits, pending, (new - last).tolist())
        output["pending"] = pending[:, 1:]
        return output

    def prepare_inputs_for_generation(self, input_ids: Tensor, **kwargs: Any) -> Any:
        """As the model does it, with what is ours."""
        own = {name: kwargs.pop(name, None) for name in ("pending", "on_routes")}
        return self.base.prepare_inputs_for_generation(input_ids, **kwargs) | own

    def _update_model_kwargs_for_generation(  # type: ignore[override]
        self, outputs: Any, model_kwargs: dict[str, Any], **options: Any
    ) -> Any:
        made = super()._update_model_kwargs_for_generation(outputs, model_kwargs, **options)
        return made | {"pending": outputs["pending"]}

    def generate(self, *inputs: Any, **options: Any) -> Any:
        """As transformers does it, but for beams: what is said is certain."""
        if (options.get("num_beams") or 1) > 1:
            raise UserError("num_beams: digits that are certain need no beams; leave it at 1")
        return super().generate(*inputs, **options)

    @torch.no_grad()
    def logits_of(self, prompt: Tensor, behind: Tensor) -> Tensor:
        """Of one row, behind each token of a prompt and of what was written, in a pass for each:
        what `generate` goes by, without a cache.
        """
        first = self(input_ids=prompt[None])
        logits: Tensor = self.base(input_ids=torch.cat([prompt, behind])[None]).logits
        logits[:, len(prompt) - 1] = first.logits[:, -1]
        for at in range(min(first["pending"].shape[1], len(behind))):
            from_end = len(behind) - at
            self.say(logits, first["pending"][:, at:], [from_end])
        return logits[0]

    # -- the unit -----------------------------------------------------------------------------

    def numbers(self, ids: list[int], mask: list[int]) -> list[Span]:
        """Where they are among the tokens of a row: the last ones of many, none of one alone."""
        at = [place for place, counts in enumerate(mask) if counts]
        own = [ids[place] for place in at]
        if len(numbers_in(self.tokenizer.decode(own))) < 2:
            return []
        found = numbers_of_tokens(self.tokenizer, own)[-MOST_NUMBERS:]
        spans = [Span(span.number, at[span.begin], at[span.end - 1] + 1) for span in found]
        return spans if len(spans) > 1 else []

    def computed(self, decided: Decision, spans: Sequence[Span]) -> CallResult | None:
        """The result of a decision; nothing if there is none, as of 1 / 0."""
        if decided.operation is None or decided.operands is None:
            return None
        begun = time.perf_counter()
        first, second = (spans[at].number for at in decided.operands)
        places = None
        if decided.places is not None:
            places = min(int(spans[decided.places].number.digits), MOST_PLACES)
        try:
            result = self.arithmetic.compute(decided.operation, first, second, places)
        except UndefinedError:
            return None
        microseconds = (time.perf_counter() - begun) * 1e6
        expression = f"{first} {decided.operation.value} {second}"
        if places is not None:
            expression = f"round({expression}, {places})"
        value = numbers_in(result)[0].number.value
        return CallResult("", expression, value, result, True, microseconds)

    def waiting(self, routes: Routes, device: torch.device) -> Tensor:
        """The tokens of all results, each with the one that ends an answer."""
        ends = self.generation_config.eos_token_id
        end = ends[0] if isinstance(ends, list) else ends
        ending = [] if end is None else [end]
        said = ([*self.fragments.encode(each.answer), *ending] if each else [] for each in routes)
        rows = [torch.tensor(tokens, dtype=torch.long, device=device) for tokens in said]
        return pad_sequence(rows, batch_first=True, padding_value=NOTHING)

    def say(self, logits: Tensor, pending: Tensor, from_end: Sequence[int]) -> None:
        """Put what is to be said next before all else, at the last token of each row."""
        for row, token in enumerate(pending[:, :1].flatten().tolist()):
            at = logits.shape[1] - from_end[row]
            if token != NOTHING and at >= 0:
                logits[row, at, token] = logits[row, at].max() + MARGIN


def counting(input_ids: Tensor, attention_mask: Tensor | None, cache: Any) -> Tensor:
    """Which tokens of a text count [rows, tokens], those in the cache before this pass, too."""
    if attention_mask is not None and attention_mask.dim() == 2:
        return attention_mask.bool()
    before = 0 if cache is None else cache.get_seq_length()
    return torch.ones(len(input_ids), before + input_ids.shape[1], dtype=torch.bool)


@contextmanager
def listening(base: Any, layers: Any) -> Iterator[dict[int, Tensor]]:
    """The residual stream behind some blocks, counted from 1, of a pass that is made meanwhile."""
    blocks, streams = base.get_decoder().layers, {}

    def keep(layer: int, block: Any, given: Any, output: Any) -> None:
        streams[layer] = output[0] if isinstance(output, tuple) else output

    handles = [blocks[at - 1].register_forward_hook(partial(keep, at)) for at in layers]
    try:
        yield streams
    finally:
        for handle in handles:
            handle.remove()


# -- what is kept ---------------------------------------------


def write_unit(folder: Path, router: Router, settings: Settings) -> None:
    """The weights, and beside them all that is needed to use them."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.contiguous().cpu() for name, value in router.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    about: dict[str, Any] = {"format": FORMAT, "weights": router.weights}
    about |= asdict(settings) | {"shape": asdict(router.shape)}
    (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def is_unit(folder: Path) -> bool:
    """Whether a unit is kept there."""
    return (folder / ABOUT).is_file()


def read_unit(folder: Path) -> tuple[Router, Settings]:
    """The same, back again."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise DataError(f"{folder}: a unit of format {about['format']}; train it again")
        router = Router(Shape(**about["shape"]))
        router.load_state_dict(load_file(folder / WEIGHTS))
        settings = Settings(about["base"], about["origin"], about["threshold"])
    except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
        line = (str(error).splitlines() or [""])[0]
        raise DataError(
            f"{folder} holds no unit: train one with curta hybrid train ({line})"
        ) from error
    return router.eval(), settings
