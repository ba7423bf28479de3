"""Tiny random models of several families, a tokenizer that cuts anywhere, and a push to call."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models
from tokenizers.pre_tokenizers import ByteLevel
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

CHARACTERS = [chr(code) for code in range(32, 127)] + ["\n", "é"]
CUTS = [
    "<<",
    "<<calc:",
    "<<ca",
    "lc:",
    "calc",
    ">>",
    ">>.",
    "1>",
    "> ",
    "5>>",
    "7>> so",
    " = ",
    "12",
]
SPECIAL = ["<pad>", "<end>"]


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """Characters and pieces of calls; an encoding prefers long pieces."""
    pieces = [(each, -1.0 / len(each)) for each in SPECIAL + CUTS] + [(c, -3.0) for c in CHARACTERS]
    made = Tokenizer(models.Unigram(pieces, unk_id=0))
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="<end>",
        clean_up_tokenization_spaces=False,
    )


CHAT = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@cache
def chat_tokenizer() -> PreTrainedTokenizerFast:
    """The same with a template for conversations."""
    made = copy.deepcopy(tokenizer())
    made.chat_template = CHAT
    return made


SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}
STATE_SPACE = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "grouped queries": ("llama", SHAPE),
    "sliding window": ("mistral", SHAPE | {"sliding_window": 8}),
    "alternating windows": (
        "gemma3_text",
        SHAPE
        | {
            "head_dim": 8,
            "sliding_window": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "learned positions": ("gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512}),
    "linear attention": (
        "qwen3_5_text",
        SHAPE
        | {
            "head_dim": 8,
            "layer_types": ["linear_attention", "full_attention"],
            "linear_num_value_heads": 4,
            "linear_num_key_heads": 2,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
        },
    ),
    "convolutions": ("lfm2", SHAPE | {"layer_types": ["conv", "full_attention"]}),
    "state space": ("mamba", STATE_SPACE),
    "second state space": (
        "mamba2",
        STATE_SPACE | {"num_heads": 4, "head_dim": 16, "n_groups": 1, "chunk_size": 8},
    ),
    "state space and attention": (
        "jamba",
        SHAPE
        | {
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "num_experts": 1,
            "mamba_d_state": 8,
            "mamba_dt_rank": 4,
        },
    ),
}


@cache
def model(family: str) -> Any:
    """A random model, in float64 so that batches of any composition agree."""
    kind, shape = FAMILIES[family]
    tokens = tokenizer()
    config = CONFIG_MAPPING[kind](
        **shape,
        vocab_size=len(tokens),
        pad_token_id=tokens.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokens.eos_token_id,
    )
    torch.manual_seed(0)
    made = AutoModelForCausalLM.from_config(config).eval().double()
    for parameter in made.parameters():  # larger than usual, so that contexts matter
        parameter.data *= 4
    return made


@cache
def tokenizer_of_any_text() -> PreTrainedTokenizerFast:
    """Bytes, which can say anything, with a template for conversations."""
    letters = {letter: number for number, letter in enumerate(sorted(ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(vocab=letters, merges=[]))
    made.pre_tokenizer = ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    tokens = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<end>")
    tokens.chat_template = CHAT
    return tokens


def save_model_of_any_text(folder: Path) -> None:
    """A random model with that tokenizer, as a folder."""
    tokens = tokenizer_of_any_text()
    config = CONFIG_MAPPING["llama"](
        **SHAPE,
        vocab_size=len(tokens),
        pad_token_id=tokens.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokens.eos_token_id,
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokens.save_pretrained(folder)


BEGINNINGS = {"": ["<<", "<<calc:", "<<ca"], "<<": ["calc"], "<<ca": ["lc:"], "<<calc": [":"]}


class Push:
    """Scores that make a model write calls: which ones is up to the model.

    Outside of calls all letters may follow, or the beginning of a call; inside digits, operators
    and ends. It sees only the last few tokens of a row, so padding makes no difference.
    """

    def __init__(self, window: int = 14) -> None:
        self.window = window

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        pushed = torch.full_like(scores, -1e9)
        for row, tokens in enumerate(input_ids.tolist()):
            allowed = self.allowed(tokenizer().decode(tokens[-self.window :]))
            numbers = tokenizer().convert_tokens_to_ids(allowed)
            pushed[row, numbers] = scores[row, numbers]
        return pushed

    def allowed(self, text: str) -> list[str]:
        for beginning, following in BEGINNINGS.items():
            if beginning and text.endswith(beginning):
                return following
        _, opened, inside = text.rpartition("<<calc:")
        if opened and ">>" not in inside and "\n" not in inside:
            if inside.endswith(">"):
                return [">", "> "]
            if len(inside) > 6:
                return [">>", ">>.", "5>>", "7>> so", "1>", "\n"]
            return [*"0123456789+-*/", "12", "5>>", "1>", ">>."]
        return [*"abcé .,", *BEGINNINGS[""], "<", "<end>"]


TOOLS_CHAT = (
    "{% if tools %}tools:{% for tool in tools %} {{ tool.function.name }}{% endfor %}. {% endif %}"
    "{% for message in messages %}{{ message.role }}: "
    "{% for call in message.tool_calls %}<tool_call>{{ {'name': call.function.name, "
    "'arguments': call.function.arguments} | tojson }}</tool_call>{% else %}{{ message.content }}"
    "{% endfor %}<end>\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


@cache
def tools_tokenizer() -> PreTrainedTokenizerFast:
    """With a template that has tools, calls and answers."""
    made = copy.deepcopy(tokenizer())
    made.chat_template = TOOLS_CHAT
    return made


class Wishes(Push):
    """Scores of a model that would like to write these texts, one in each turn, if it may."""

    def __init__(self, *texts: str) -> None:
        super().__init__(window=400)
        self.texts = texts

    def allowed(self, text: str) -> list[str]:
        *turns, said = text.split("assistant: ")
        wish = self.texts[min(len(turns), len(self.texts)) - 1]
        return [wish[len(said)]] if wish.startswith(said) and said != wish else ["<end>"]


class PushTools(Push):
    """Scores that make a model call a tool with one argument: what it is, is up to the model."""

    def __init__(self, tool: str = "calculate", argument: str = '"expression": "') -> None:
        super().__init__(window=120)
        self.begins = f'{{"name": "{tool}", "arguments": {{{argument}'
        self.ends = ('"' if argument.endswith('"') else "") + "}}</tool_call>"

    def allowed(self, text: str) -> list[str]:
        said = text.rpartition("assistant: ")[2]
        _, opened, body = said.rpartition("<tool_call>")
        if not opened:
            begun = said[said.rfind("<") :] if "<" in said else ""
            if begun and "<tool_call>".startswith(begun):
                return ["<tool_call>"[len(begun)]]
            if len(said) < 3:
                return [*"abcé "]
            return ["<end>"] if "tool: " in text else ["<"]
        if len(body) < len(self.begins):
            return [self.begins[len(body)]]
        given, value = body[len(self.begins) :], 4
        if len(given) < value:
            adds = self.begins.endswith('"') and len(given) in (1, 2) and "+" not in given
            return [*"123456789", *("+" if adds else "")]
        written = len(given) - value
        return [self.ends[written]] if written < len(self.ends) else ["<end>"]
