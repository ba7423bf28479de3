"""What a hybrid model is kept as: a folder of the language model, and beside it

hybrid.json               modules in their order, and how calls are written
modules/NAME.wasm         programs; the C that they were made of is not needed
modules/NAME.safetensors  a gallery program's weights
unit/                     a typed unit, if there is one

The machine's weights come with curta: the folder says which ones are meant.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from curta.delegate import models
from curta.delegate.interception.protocol import Protocol
from curta.delegate.tools import program
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.program import MainTool, ProgramTool
from curta.delegate.tools.signature import Function, Parameter
from curta.delegate.tools.tool import Bounds
from curta.engine import load
from curta.errors import DataError
from curta.hybrid.modules import GalleryTool, Module
from curta.hybrid.unit.model import UnitModel, is_unit, read_unit

FORMAT = 1
ABOUT, PROGRAMS, UNIT = "hybrid.json", "modules", "unit"


def is_hybrid(folder: Path) -> bool:
    """Whether a hybrid model is kept there."""
    return (folder / ABOUT).is_file()


def write(
    folder: Path, modules: Iterable[Module], protocol: Protocol | None, writing: Mapping[str, Any]
) -> None:
    """Modules and their weights; the language model is there already."""
    (folder / PROGRAMS).mkdir(parents=True, exist_ok=True)
    made = {
        "format": FORMAT,
        "machine": program.computer().identity,
        "protocol": None if protocol is None else dataclasses.asdict(protocol),
        "writing": {name: value for name, value in writing.items() if name != "protocol"},
        "modules": [
            kept(each.tool, folder / PROGRAMS / each.name)
            for each in modules
            if not isinstance(each.tool, CalculatorTool)
        ],
    }
    (folder / ABOUT).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def kept(tool: GalleryTool | ProgramTool | MainTool, place: Path) -> dict[str, Any]:
    """A module in JSON; its weights or its program in a file."""
    made: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if isinstance(tool, GalleryTool):
        tool.engine.model.save(place.with_suffix(".safetensors"))
        return made | {"kind": "gallery"}
    place.with_suffix(".wasm").write_bytes(tool.module)
    made |= {"bounds": dataclasses.asdict(tool.bounds)}
    if isinstance(tool, MainTool):
        return made | {"kind": "main"}
    if tool.written is None:
        return made | {"kind": "wasm"}
    return made | {"kind": "c", "function": dataclasses.asdict(tool.written)}


def read(folder: Path, device: str | None) -> tuple[Any, Any, list[Module], dict[str, Any]]:
    """Language model, tokenizer, modules without the calculator, and how calls are written."""
    try:
        made = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if made["format"] != FORMAT:
            raise DataError(f"{folder}: a hybrid model of format {made['format']}; save it again")
        if made["machine"] != program.computer().identity:
            raise DataError(f"{folder}: its machine has other weights than this version's")
        protocol = made["protocol"] and Protocol(**made["protocol"])
        modules = [Module(tool_of(folder, each)) for each in made["modules"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{folder} holds no hybrid model that can be read ({error})") from error
    base, tokenizer = models.load(str(folder), device=device)
    base.calculator_protocol = protocol
    if is_unit(folder / UNIT):
        base = UnitModel(base, tokenizer, *read_unit(folder / UNIT))
    return base, tokenizer, modules, made["writing"]


def tool_of(folder: Path, about: Mapping[str, Any]) -> Any:
    """A module's tool."""
    name, kind = about["name"], about["kind"]
    place = folder / PROGRAMS / name
    if kind == "gallery":
        return Module.gallery(name, load(place.with_suffix(".safetensors"))).tool
    bounds = Bounds(**about["bounds"])
    module = place.with_suffix(".wasm").read_bytes()
    if kind == "main":
        return MainTool(name, about["description"], module, bounds)
    if kind == "wasm":
        return program.wasm_tools(name, module, bounds, functions=True)[name]
    function = about["function"]
    parameters = tuple(Parameter(**each) for each in function["parameters"])
    return program.c_tool(Function(**function | {"parameters": parameters}), module, bounds)
