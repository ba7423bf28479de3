"""A trained model as a safetensors file that says what it is.

Arrays have the names of the model's fields (`blocks.0.projection`), positions those of the scheme's
parameters (`positions.table`). The metadata hold one JSON text, `curta_learn`, with everything that
`torch_module.py` needs beside them: the model's options, the position scheme with its options, the
symbols, and how numbers are written.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from safetensors.numpy import save

from curta.errors import ExperimentError
from curta.learn.experiment import Setup
from curta.learn.files import whole
from curta.learn.models.transformer import Transformer
from curta.learn.positions.base import Parameters, Positions
from curta.learn.positions.compiled import OTHERS, Compiled
from curta.learn.positions.compose import PREFIXES, Combined, Randomised, own

VERSION = 1

EXPORTED = (
    "none", "sinusoidal", "learned", "abacus", "coupled", "aligned", "rope", "alibi", "t5", "fire",
    "combined", "randomised", "compiled",
)  # fmt: skip
"""Position schemes that the PyTorch module knows."""


def export(model: Transformer, setup: Setup, path: Path) -> None:
    """Write one model; the file appears when it is whole."""
    described = description(setup)
    written = save(arrays(model), metadata={"curta_learn": json.dumps(described)})
    with whole(path) as partial:
        partial.write_bytes(written)


def arrays(model: Transformer) -> dict[str, np.ndarray]:
    """The parameters by name, in float32."""
    named: dict[str, Any] = {"embedding": model.embedding, "final_scale": model.final_scale}
    if model.readout is not None:
        named["readout"] = model.readout
    if model.numbers is not None:
        named["numbers.embedding"] = model.numbers.embedding
        named["numbers.readout"] = model.numbers.readout
    for name, value in position_arrays(model.positions, model.position_parameters).items():
        named[f"positions.{name}"] = value
    for index, block in enumerate(model.blocks):
        for field in dataclasses.fields(block):
            if eqx.is_array(getattr(block, field.name)):
                named[f"blocks.{index}.{field.name}"] = getattr(block, field.name)
    # Without a number in them, arrays only carry a shape, which the description has as well.
    return {
        name: np.asarray(jax.device_get(value), np.float32)
        for name, value in named.items()
        if value.size
    }


def position_arrays(positions: Positions, parameters: Parameters) -> dict[str, Any]:
    """Those of a scheme; those of schemes inside it have their role before the name: `first.`."""
    if isinstance(positions, Combined):
        inside = zip(("first.", "second."), positions.parts, PREFIXES, strict=True)
        return {
            name + inner: value
            for name, part, prefix in inside
            for inner, value in position_arrays(part, own(parameters, prefix)).items()
        }
    if isinstance(positions, Randomised):
        inner_arrays = position_arrays(positions.scheme, parameters)
        return {f"of.{inner}": value for inner, value in inner_arrays.items()}
    if isinstance(positions, Compiled):
        others = position_arrays(positions.scheme, own(parameters, OTHERS))
        plain = {name: parameters[name] for name in ("sharpness",) if name in parameters}
        return plain | {f"others.{inner}": value for inner, value in others.items()}
    return dict(parameters)


def description(setup: Setup) -> dict[str, Any]:
    """What the arrays mean."""
    alphabet, format_ = setup.language.alphabet, setup.language.format
    return {
        "version": VERSION,
        "task": setup.language.task.name,
        "format": format_.name,
        "model": dataclasses.asdict(setup.experiment.model),
        "positions": scheme(setup.positions),
        "symbols": list(alphabet.symbols),
        "first_digit": alphabet.first_digit,
        "base": alphabet.base,
        "number_places": alphabet.number_places,
        "pauses": setup.language.pauses,
        "longest": setup.longest,
        "question_reversed": format_.question_reversed,
        "answer_reversed": format_.answer_reversed,
    }


def scheme(positions: Positions) -> dict[str, Any]:
    """A position scheme with its options; those inside it, too."""
    if positions.name not in EXPORTED:
        raise ExperimentError(
            f"positions {positions.name} cannot be exported: the PyTorch module knows "
            f"{', '.join(EXPORTED)}"
        )
    options: dict[str, Any] = {"name": positions.name, **dataclasses.asdict(positions)}
    if isinstance(positions, Combined):
        options["first"], options["second"] = (scheme(part) for part in positions.parts)
    if isinstance(positions, Randomised):
        options["of"] = scheme(positions.scheme)
    if isinstance(positions, Compiled):
        options["heads"] = [list(retrieval) for retrieval in positions.fetching]
        options["others"] = scheme(positions.scheme)
    return options
