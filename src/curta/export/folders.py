"""Folders with a compiled model and the code that runs it, without curta.

`write_torch`: torch and safetensors. `write_huggingface`: transformers, by `trust_remote_code`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from curta.compiler import Model
from curta.errors import UserError

ROOT = Path(__file__).parent.parent
CODE = ROOT / "export" / "huggingface"
PARTS = {
    "attention.query": "self_attn.q_proj",
    "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj",
    "attention.output": "self_attn.o_proj",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.expand": "mlp.up_proj",
    "feed_forward.contract": "mlp.down_proj",
}
WHOLE = {
    "embedding.weight": "model.embed_tokens.weight",
    "position.weight": "model.positions.weight",
    "unembedding.weight": "lm_head.weight",
}


def write_torch(model: Model, folder: Path) -> None:
    """The weights beside the module that loads them: runs with torch and safetensors alone."""
    for token in model.vocabulary:
        if token.splitlines() != [token]:
            raise UserError(f"token {token!r}: vocabulary.txt has one line per token; rename it")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / "engine" / "transformer.py", folder / "transformer.py")
    (folder / "model.safetensors").write_bytes(model.to_bytes())
    limits = {
        "max_tokens": model.certificate.softmax_tokens,
        "stops": model.plan["stops"],
        "promises": model.plan["guards"],
    }
    write_json(folder / "limits.json", limits)
    vocabulary = "".join(f"{token}\n" for token in model.vocabulary)
    (folder / "vocabulary.txt").write_text(vocabulary, encoding="utf-8")


def write_huggingface(model: Model, folder: Path) -> None:
    """The weights, their code, a tokenizer: what `from_pretrained` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors, sizes = renamed(model)
    content = safetensors.numpy.save(tensors, metadata={"format": "pt"})
    (folder / "model.safetensors").write_bytes(content)
    for name in ("configuration_curta.py", "modeling_curta.py"):
        shutil.copyfile(CODE / name, folder / name)
    write_json(folder / "config.json", configuration(model, sizes))
    write_json(folder / "generation_config.json", {"do_sample": False, **ends(model)})
    write_json(folder / "tokenizer.json", tokenizer(model.vocabulary))
    words = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    padding = {"pad_token": model.vocabulary[model.plan["stops"][0]]} if model.plan["stops"] else {}
    write_json(folder / "tokenizer_config.json", {**words, **padding, "padding_side": "left"})


def renamed(model: Model) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """The tensors by the names that transformers' models have, and the numbers of heads and units.

    A layer without heads gets one that finds nothing, as caches count positions by them, and one
    without units a unit that adds nothing.
    """
    tensors = {new: model.weights[name] for name, new in WHOLE.items()}
    sizes: dict[str, list[int]] = {"heads": [], "head_widths": [], "units": []}
    for number, layer in enumerate(model.plan["layers"]):
        width = max(1, layer["head_width"])
        heads, units = max(1, len(layer["heads"])), max(1, len(layer["units"]))
        for part, name in PARTS.items():
            tensor = model.weights[f"layers.{number}.{part}.weight"]
            if tensor.size == 0:
                rows = heads * width if part.startswith("attention") else units
                tensor = np.zeros((rows, model.plan["width"]), tensor.dtype)
                tensor = tensor.T if part.endswith(("output", "contract")) else tensor
            tensors[f"model.layers.{number}.{name}.weight"] = np.ascontiguousarray(tensor)
        for size, count in zip(sizes.values(), (heads, width, units), strict=True):
            size.append(count)
    return tensors, sizes


def configuration(model: Model, sizes: dict[str, list[int]]) -> dict[str, Any]:
    """What `CurtaConfig` is told."""
    functions = [
        model.weights[f"position.{name}"].tolist()
        for name in ("divisor", "modulus", "power", "offset")
    ]
    return {
        "architectures": ["CurtaForCausalLM"],
        "auto_map": {
            "AutoConfig": "configuration_curta.CurtaConfig",
            "AutoModel": "modeling_curta.CurtaModel",
            "AutoModelForCausalLM": "modeling_curta.CurtaForCausalLM",
        },
        "model_type": "curta",
        "dtype": model.certificate.arithmetic,
        "proved_dtype": model.certificate.arithmetic,
        "vocab_size": len(model.vocabulary),
        "hidden_size": model.plan["width"],
        **sizes,
        "position_functions": [list(each) for each in zip(*functions, strict=True)],
        "max_position_embeddings": model.certificate.softmax_tokens,
        "promises": model.plan["guards"],
        **ends(model),
    }


def ends(model: Model) -> dict[str, Any]:
    """Stop tokens. One of them fills batches up: `generate` would take another one that is in a
    prompt for padding.
    """
    stops = list(model.plan["stops"])
    return {"eos_token_id": stops, "pad_token_id": stops[0]} if stops else {}


def tokenizer(vocabulary: Sequence[str]) -> dict[str, Any]:
    """A tokenizer whose words are the vocabulary, the longest first; other text is an error.

    Spaces between words are left out, unless words have spaces themselves.
    """
    longest_first = sorted(vocabulary, key=len, reverse=True)
    words = {"Regex": "|".join(map(re.escape, longest_first))}
    steps: list[dict[str, Any]] = []
    if not any(re.search(r"\s", token) for token in vocabulary):
        steps.append({"type": "WhitespaceSplit"})
    steps.append({"type": "Split", "pattern": words, "behavior": "Isolated", "invert": False})
    together = all(len(token) == 1 for token in vocabulary)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "post_processor": None,
        "decoder": {"type": "Fuse"} if together else None,
        "model": {
            "type": "WordLevel",
            "vocab": {token: number for number, token in enumerate(vocabulary)},
            "unk_token": "",
        },
    }


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
