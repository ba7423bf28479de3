"""What is kept of a unit: a folder with the router's weights and what it is for."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from curta.delegate.options import SMOLLM2
from curta.errors import DataError
from curta.hybrid.unit.router import Layers, Router

FORMAT = 1
WEIGHTS, ABOUT = "router.safetensors", "unit.json"
NEVER = 1e9
"""A threshold above every score."""


@dataclass(frozen=True)
class Settings:
    """What a router is used with.

    base:      the language model
    origin:    where its weights came from in training
    layers:    where the residual stream is read
    threshold: it fires if something is to be computed with this probability
    """

    base: str = SMOLLM2
    origin: str = ""
    layers: Layers = field(default_factory=lambda: Layers(1, 1))
    threshold: float = NEVER


def write(folder: Path, router: Router, settings: Settings) -> None:
    """The weights, and beside them all that is needed to use them."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.contiguous().cpu() for name, value in router.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    about: dict[str, Any] = {"format": FORMAT, "weights": router.weights}
    about |= dataclasses.asdict(settings) | {"width": router.width}
    (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def is_unit(folder: Path) -> bool:
    """Whether a unit is kept there."""
    return (folder / ABOUT).is_file()


def read(folder: Path) -> tuple[Router, Settings]:
    """The same, back again."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise DataError(f"{folder}: a unit of format {about['format']}; train it again")
        router = Router(about["width"])
        router.load_state_dict(load_file(folder / WEIGHTS))
        layers = Layers(**about["layers"])
        settings = Settings(about["base"], about["origin"], layers, about["threshold"])
    except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
        line = (str(error).splitlines() or [""])[0]
        raise DataError(
            f"{folder} holds no unit: train one with curta hybrid train ({line})"
        ) from error
    return router.eval(), settings
