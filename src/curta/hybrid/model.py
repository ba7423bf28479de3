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

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from curta.delegate import models
from curta.delegate.interception.events import Event
from curta.delegate.interception.generator import Prompt, ignore
from curta.engine.plain import Plain
from curta.errors import UserError
from curta.hybrid import folder
from curta.hybrid.hearing import ModuleSaid
from curta.hybrid.modules import Module, modules_of
from curta.hybrid.transcript import Transcript
from curta.hybrid.unit.model import UnitModel
from curta.hybrid.verify import Verified, verify
from curta.hybrid.vocabulary import JointIds, JointVocabulary
from curta.hybrid.writing import JointRow, Writer

Events = Iterator[Event | ModuleSaid]


class Stream(Events):
    """What happens while an answer is written; afterwards, all of it."""

    transcript: Transcript | None = None
    """What was written, once the last event has come."""

    def __init__(self, events: Events, row: JointRow, written: Callable[[], Transcript]) -> None:
        self.events, self.row, self.written = events, row, written

    def __next__(self) -> Event | ModuleSaid:
        for event in self.events:
            return event
        self.transcript = self.written()
        raise StopIteration

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
        for module in modules_of(modules):
            if module.name in self.compiled:
                raise UserError(f"there is a module {module.name} already")
            self.compiled[module.name] = module
        sizes = [(m.name, m.weights, len(m.engine.vocabulary)) for m in self.compiled.values()]
        self.vocabulary = JointVocabulary.of(self.base.config.get_text_config().vocab_size, sizes)
        self.writer = Writer(self)

    # -- loading and saving -------------------------------------------------------------------

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, name: str | Path, *, modules: Iterable[Module | str] = (), adapter: str | None = None,
        unit: str | Path | None = None, device: str | None = None, **writing: Any,
    ) -> HybridModel:  # fmt: skip
        """A folder written by `save_pretrained`; or a language model.

        adapter: what taught it to call: by default the one that comes with curta, if there is one
                 for this model; "none" is none
        unit:    a typed unit that was trained for it; such a model has no adapter, and without
                 modules it is told of no tool, as in training
        """
        if folder.is_hybrid(Path(name)):
            if unit is not None or adapter is not None:
                raise UserError(f"{name} is a hybrid model already: give it no unit and no adapter")
            base, tokenizer, kept, how = folder.read(Path(name), device)
            return cls(base, tokenizer, [*kept, *modules], **how | writing)
        if unit is not None and adapter is not None:
            raise UserError("unit, adapter: a unit is for a model without adapter")
        if unit is not None:
            base, modules = UnitModel.from_pretrained(name, unit=unit, device=device), [*modules]
            plain = {} if modules else {"format": "inline"}
            return cls(base, base.tokenizer, modules, **plain | writing)
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
        self, input_ids: Tensor, attention_mask: Tensor | None = None, logits_to_keep: int = 0
    ) -> CausalLMOutput:
        """Logits over the joint vocabulary, in float64, of whole streams: there is no cache.

        What other weights would have to say is impossible, -inf. Behind a token that hands over,
        which is the host's, and so is what follows, everything is.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        shape = (*input_ids.shape, self.vocabulary.size)
        logits = torch.full(shape, -torch.inf, dtype=torch.float64, device=input_ids.device)
        for row, ids, counts in zip(logits, input_ids, mask.bool(), strict=True):
            row[counts] = self.joint_logits(ids[counts])
        return CausalLMOutput(logits=logits[:, -logits_to_keep:])

    @torch.no_grad()
    def joint_logits(self, ids: Tensor) -> Tensor:
        """Of one stream."""
        stream, vocabulary = ids.cpu().numpy(), self.vocabulary
        logits = torch.full((len(ids), vocabulary.size), -torch.inf, dtype=torch.float64)
        own = torch.from_numpy(stream < vocabulary.language)
        if own.any():
            given = ids[own.to(ids.device)][None].to(self.base.device)
            logits[own, : vocabulary.language] = self.base(input_ids=given).logits[0].double().cpu()
        for one in vocabulary.contexts(stream):
            block = vocabulary.blocks[one.module]
            engine = self.compiled[one.module].at("plain")
            assert isinstance(engine, Plain)
            given = torch.from_numpy(one.ids.astype(np.int64))[None]
            said = engine.transformer(given)[0]
            logits[one.begin : one.end, block.first : block.first + block.size] = said
        return logits.to(ids.device)

    # -- token by token -----------------------------------------------------------------------

    def generate(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **options: Any
    ) -> Tensor:
        """Prompts, and the streams behind them, filled up on the right."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        rows = self.rows({"input_ids": input_ids, "attention_mask": mask}, options)
        prompts = input_ids.cpu().repeat_interleave(len(rows) // len(input_ids), dim=0)
        behind = (torch.from_numpy(row.ids) for row in rows)
        streams = [torch.cat(both) for both in zip(prompts, behind, strict=True)]
        padding = self.tokenizer.pad_token_id or 0
        return pad_sequence(streams, batch_first=True, padding_value=padding).to(input_ids.device)

    def rows(self, inputs: dict[str, Tensor], options: dict[str, Any]) -> list[JointRow]:
        """What is written behind each prompt, so many times as is asked for."""
        count = len(inputs["input_ids"]) * (options.get("num_return_sequences") or 1)
        rows = [self.writer.row(ignore) for _ in range(count)]
        self.writer.write(inputs, rows, options)
        return rows

    def write(self, prompts: Sequence[Prompt], **options: Any) -> list[Transcript]:
        """Answers to several prompts at once."""
        inputs = self.writer.inputs([self.as_messages(prompt) for prompt in prompts])
        rows = self.rows(inputs, options)
        given = [ids[mask.bool()] for ids, mask in zip(*inputs.values(), strict=True)]
        each = len(rows) // len(prompts)
        return [self.transcript(row, given[number // each]) for number, row in enumerate(rows)]

    def stream(self, prompt: Prompt, *, call: str = "", **options: Any) -> Stream:
        """One answer, event by event: text, a module's tokens, text.

        call: what the answer begins with, as in `sudoku("8..........36")`, where the language model
              would not call by itself
        """
        messages = self.as_messages(prompt)
        (ids,) = self.writer.inputs([messages])["input_ids"]
        row = JointRow(self.writer, ignore, self.called(call) if call else ())
        events = self.writer.stream(messages, row=row, **options)
        return Stream(events, row, lambda: self.transcript(row, ids))

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

    def transcript(self, row: JointRow, prompt: Tensor) -> Transcript:
        """What a row has become."""
        ids = row.ids
        return Transcript(
            prompt.cpu().numpy().astype(np.int64),
            ids,
            np.array(row.choices, dtype=np.int64),
            min(len(row.given), len(row.choices)),
            row.room,
            row.likeliest,
            modules=tuple(self.compiled),
            text=self.text_of(ids),
        )

    def text_of(self, ids: JointIds) -> str:
        """What people read of a stream: the language model's own tokens."""
        own = ids[ids < self.vocabulary.language]
        return str(self.tokenizer.decode(own, skip_special_tokens=True))

    # -- proof --------------------------------------------------------------------------------

    def verify(self, transcript: Transcript, **how: Any) -> Verified:
        """Whether every token is the one that has to be there; `curta.hybrid.verify` says how."""
        return verify(self, transcript, **how)
