"""A language model and compiled programs as one model: one vocabulary, one stream, one loop.

    model = HybridModel.from_pretrained(NAME, modules=[Module.c("sudoku.c")])
    for event in model.stream("Solve 8..........36......7.. ..."):
        ...

`forward` is the definition. Its layers are the language model's and those of the compiled weights
beside them: every matrix has the two as blocks and zeros elsewhere, so each computes what it would
alone. The language model attends to its own tokens, at positions that count these alone; a module's
token attends to its context. `generate` says the same token by token, the language model's with its
cache, modules' with theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from curta.delegate import models
from curta.delegate.interception.events import Event
from curta.delegate.interception.generator import Prompt, ignore
from curta.delegate.interception.loop import Loop
from curta.engine.plain import Plain
from curta.errors import UserError
from curta.hybrid import folder
from curta.hybrid.modules import Module, modules_of
from curta.hybrid.transcript import Transcript
from curta.hybrid.unit.model import UnitModel
from curta.hybrid.verify import Verified, verify
from curta.hybrid.vocabulary import JointVocabulary
from curta.hybrid.writing import Forced, JointRow, ModuleSaid, Writer


class Stream(Iterator[Event | ModuleSaid]):
    """What happens while an answer is written; afterwards, all of it."""

    def __init__(self, events: Iterator[Event | ModuleSaid]) -> None:
        self.events = events
        self.transcript: Transcript | None = None
        """What was written, once the last event has come."""

    def __next__(self) -> Event | ModuleSaid:
        return next(self.events)

    def close(self) -> None:
        """Nobody listens any more: the model stops."""
        self.events.close()  # type: ignore[attr-defined]


class HybridModel(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]
    """A language model, and modules; the calculator is always among these (`calculate`).

    compiled: the modules by name
    writing:  how calls are written, as `CalcGenerator` has it (`format`, `protocol`, ...)
    """

    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True

    def __init__(
        self, base: Any, tokenizer: Any, modules: Iterable[Module | str] = (), **writing: Any
    ) -> None:
        super().__init__(base.config)
        self.base = base
        self.generation_config = base.generation_config
        self.tokenizer = tokenizer
        self.writing = writing
        self.compiled: dict[str, Module] = {}
        self.add(Module.calculator(), *modules)

    def add(self, *modules: Module | str) -> None:
        """More modules; nothing changes for those that are there, or for the language model."""
        for each in modules:
            for module in [each] if isinstance(each, Module) else modules_of([each]):
                if module.name in self.compiled:
                    raise UserError(f"there is a module {module.name} already")
                self.compiled[module.name] = module
        sizes = [(m.name, m.weights, len(m.engine.vocabulary)) for m in self.compiled.values()]
        self.vocabulary = JointVocabulary.of(self.base.config.get_text_config().vocab_size, sizes)
        self.writer = Writer(
            self.base, self.tokenizer, self.compiled, self.vocabulary, **self.writing
        )

    # -- loading and saving -------------------------------------------------------------------

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, name: str | Path, *, modules: Iterable[Module | str] = (), adapter: str | None = None,
        unit: str | Path | None = None, device: str | None = None, **writing: Any,
    ) -> HybridModel:  # fmt: skip
        """A folder written by `save_pretrained`; or a language model.

        adapter: what taught it to call: by default the one that comes with curta, if there is one
                 for this model; "none" is none
        unit:    a typed unit that was trained for it; such a model has no adapter
        """
        if folder.is_hybrid(Path(name)):
            kept = folder.read(Path(name))
            base, tokenizer = kept.language_model(device)
            return cls(base, tokenizer, [*kept.modules, *modules], **kept.writing | writing)
        if unit is not None:
            base = UnitModel.from_pretrained(name, unit=unit, device=device)
            return cls(base, base.tokenizer, modules, **writing)
        chosen = models.chosen_adapter(str(name), adapter)
        base, tokenizer = models.load(str(name), adapter=chosen, device=device)
        return cls(base, tokenizer, modules, **writing)

    def save_pretrained(self, save_directory: str | Path, **options: Any) -> None:  # type: ignore[override]
        """One folder: the language model as transformers has it, and modules with their weights."""
        place = Path(save_directory)
        language = self.base
        if isinstance(language, UnitModel):
            language.save_pretrained(place / folder.UNIT)
            language = language.base
        language.save_pretrained(place, **options)
        self.tokenizer.save_pretrained(place)
        protocol = getattr(language, "calculator_protocol", None)
        folder.write(place, self.compiled.values(), protocol, self.writing)

    # -- the definition -----------------------------------------------------------------------

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        logits_to_keep: int = 0,
        **others: Any,
    ) -> CausalLMOutput:
        """Logits over the joint vocabulary, in float64, of whole streams: there is no cache.

        What other weights would have to say is impossible, -inf. Behind a token that hands over,
        which is the host's, and so is what follows, everything is.
        """
        rows = []
        for row, ids in enumerate(input_ids):
            counts = torch.ones_like(ids) if attention_mask is None else attention_mask[row]
            made = self.joint_logits(ids[counts.bool()])
            whole = made.new_full((len(ids), len(self.vocabulary)), -torch.inf)
            whole[counts.bool()] = made
            rows.append(whole[-logits_to_keep:])
        return CausalLMOutput(logits=torch.stack(rows))

    @torch.no_grad()
    def joint_logits(self, ids: Tensor) -> Tensor:
        """Of one stream."""
        stream, vocabulary = ids.cpu().numpy(), self.vocabulary
        logits = torch.full((len(ids), len(vocabulary)), -torch.inf, dtype=torch.float64)
        own = torch.from_numpy(vocabulary.is_language(stream))
        if own.any():
            given = ids[own.to(ids.device)][None].to(self.base.device)
            logits[own, : vocabulary.language] = self.base(input_ids=given).logits[0].double().cpu()
        for one in vocabulary.contexts(stream):
            block = vocabulary.block(one.module)
            engine = self.compiled[one.module].at("plain")
            assert isinstance(engine, Plain)
            given = torch.from_numpy(vocabulary.own(one, stream).astype(np.int64))[None]
            said = engine.transformer(given)[0]
            logits[one.begin : one.end, block.first : block.first + block.size] = said
        return logits.to(ids.device)

    # -- token by token -----------------------------------------------------------------------

    def generate(  # type: ignore[override]
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **options: Any
    ) -> Tensor:
        """Prompts, and the streams behind them, filled up on the right."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        rows = self.rows(input_ids, mask, options)
        each = len(rows) // len(input_ids)
        prompts = input_ids.cpu().repeat_interleave(each, dim=0)
        streams = [torch.from_numpy(row.ids) for row in rows]
        made = torch.nn.utils.rnn.pad_sequence(
            [torch.cat(both) for both in zip(prompts, streams, strict=True)],
            batch_first=True,
            padding_value=self.tokenizer.pad_token_id or 0,
        )
        return made.to(input_ids.device)

    def rows(self, input_ids: Tensor, mask: Tensor, options: dict[str, Any]) -> list[JointRow]:
        """What is written behind each prompt, so many times as is asked for."""
        rows: list[JointRow] = []

        def new_row(number: int) -> JointRow:
            rows.append(self.writer.row(ignore))
            return rows[-1]

        given = {"input_ids": input_ids, "attention_mask": mask}
        self.base.generate(**given, custom_generate=Loop(new_row), **self.writer.completed(options))
        return rows

    def write(self, prompts: Sequence[Prompt], **options: Any) -> list[Transcript]:
        """Answers to several prompts at once."""
        inputs = self.writer.fitting([self.as_messages(prompt) for prompt in prompts])
        rows = self.rows(inputs["input_ids"], inputs["attention_mask"], options)
        each, masks = len(rows) // len(prompts), inputs["attention_mask"].bool()
        return [
            self.transcript(row, inputs["input_ids"][n // each][masks[n // each]], options)
            for n, row in enumerate(rows)
        ]

    def stream(self, prompt: Prompt, *, call: str = "", **options: Any) -> Stream:
        """One answer, event by event: text, a module's tokens, text.

        call: what the answer begins with, as in `sudoku("8..........36")`, where the language model
              would not call by itself
        """
        messages = self.as_messages(prompt)
        ids = self.writer.fitting([messages])["input_ids"]
        forced = self.called(call) if call else []
        if forced:
            others = options.get("logits_processor") or ()
            options["logits_processor"] = [*others, Forced(ids.shape[1], forced)]

        def events() -> Iterator[Event | ModuleSaid]:
            yield from self.writer.stream(messages, **options)
            stream.transcript = self.transcript(self.writer.newest, ids[0], options, len(forced))

        stream = Stream(events())
        return stream

    def ask(self, prompt: Prompt, *, call: str = "", **options: Any) -> Transcript:
        """The same, whole."""
        stream = self.stream(prompt, call=call, **options)
        for _ in stream:
            pass
        assert stream.transcript is not None
        return stream.transcript

    def as_messages(self, prompt: Prompt) -> Prompt:
        """A question in words, to a model that is asked by messages."""
        if isinstance(prompt, str) and getattr(self.tokenizer, "chat_template", None):
            return [{"role": "user", "content": prompt}]
        return prompt

    def called(self, call: str) -> list[int]:
        """The tokens of a call, in the way that the model has been taught or told."""
        name, bracket, rest = (part.strip() for part in call.partition("("))
        if not bracket or not rest.endswith(")") or name not in self.compiled:
            names = ", ".join(self.compiled)
            raise UserError(f"{call!r} is no call: write NAME(ARGUMENTS), with one of {names}")
        format = self.writer.calling.format
        if not format.at_once:
            raise UserError(f"{format.name} here: an answer can begin with a call inline only")
        opening = format.opening(name)
        marker = next(each for each in format.markers if each.open == opening)
        arguments, end = rest[:-1].strip(), str(marker.close)
        if end in arguments:
            raise UserError(f"{call!r}: {end} would end the call before its last argument does")
        if len(arguments) >= format.longest:
            raise UserError(f"a call of {len(arguments):,} characters: {format.longest} at most")
        return list(self.writer.fragments.encode(f"{opening} {arguments}{end}"))

    def transcript(
        self, row: JointRow, prompt: Tensor, options: dict[str, Any], given: int = 0
    ) -> Transcript:
        """What a row has become."""
        return Transcript(
            prompt.cpu().numpy().astype(np.int64),
            row.ids,
            np.array(row.choices, dtype=np.int64),
            min(given, len(row.choices)),
            row.room,
            likeliest=takes_likeliest(self.base.generation_config, options),
            modules=tuple(self.compiled),
            text=self.text_of(row),
        )

    def text_of(self, row: JointRow) -> str:
        """What people read: the language model's own tokens."""
        own = row.ids[self.vocabulary.is_language(row.ids)]
        text: str = self.tokenizer.decode(own, skip_special_tokens=True)
        return text

    # -- proof --------------------------------------------------------------------------------

    def verify(self, transcript: Transcript, **how: Any) -> Verified:
        """Whether every token is the one that has to be there; `curta.hybrid.verify` says how."""
        return verify(self, transcript, **how)


SHAPES = (
    "repetition_penalty", "no_repeat_ngram_size", "bad_words_ids", "suppress_tokens",
    "begin_suppress_tokens", "min_length", "min_new_tokens", "sequence_bias", "forced_bos_token_id",
    "forced_eos_token_id", "exponential_decay_length_penalty", "guidance_scale",
    "watermarking_config", "prefix_allowed_tokens_fn",
)  # fmt: skip
"""What makes `generate` choose otherwise than by the best logit."""
NEUTRAL = (None, 0, 1.0)


def takes_likeliest(config: Any, options: dict[str, Any]) -> bool:
    """Whether nothing but the best logit decides."""
    others = [one for one in options.get("logits_processor") or () if type(one) is not Forced]
    shaped = [
        name for name in SHAPES if options.get(name, getattr(config, name, None)) not in NEUTRAL
    ]
    return not (options.get("do_sample") or others or shaped)
