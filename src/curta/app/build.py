"""`curta build`: compile a program and write it down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from curta.app.inspect import ModelFigures
from curta.errors import UserError
from curta.options import option, word
from curta.terminal import AsJson

if TYPE_CHECKING:
    from curta.compiler import Graph, Model

MACHINE = "machine"
"""The name that stands for the machine's fixed weights, which `curta run` keeps in its cache."""


@dataclass(frozen=True)
class Options(AsJson):
    """Compile a program and write it to a file.

    name:       a program of the gallery, FILE.py with a function build() that returns a Graph, or
                machine: the weights with which curta run runs any program
    output:     a file; a folder for torch and hf
    emit:       the model file; the C that the native engine compiles; what needs nothing of
                curta: a folder for PyTorch or for Hugging Face's transformers, an ONNX file; or
                the circuit, as JSON
    max_tokens: the length to certify (the program's)
    """

    name: str = word("NAME")
    output: str = option(short="-o", metavar="OUT")
    emit: Literal["safetensors", "c", "torch", "hf", "onnx", "circuit"] = "safetensors"
    max_tokens: int | None = None


@dataclass(frozen=True)
class Report:
    """What was made.

    output: where it is
    model:  that is there
    """

    output: str
    model: ModelFigures

    def __str__(self) -> str:
        return f"{self.output}: {self.model}\n{self.model.certificate}"


def run(options: Options) -> int:
    """Compile the program and write the file or folder."""
    model = find_model(options.name, options.max_tokens)
    try:
        write(model, options.emit, Path(options.output))
    except OSError as error:
        raise UserError(
            f"cannot write {options.output}: {error.strerror}; choose another place"
        ) from error
    return options.show(Report(options.output, ModelFigures.of(model)))


def write(model: Model, emit: str, path: Path) -> None:
    """The model in the form that is asked for."""
    if emit == "safetensors":
        model.save(path)
    elif emit == "torch":
        from curta.export import write_torch

        write_torch(model, path)
    elif emit == "onnx":
        from curta.export.onnx import write_onnx

        write_onnx(model, path)
    elif emit == "circuit":
        from curta.export.circuit import write_circuit

        write_circuit(model, path)
    elif emit == "hf":
        from curta.export import write_huggingface

        write_huggingface(model, path)
    else:
        from curta.engine.native.emit import model_to_c

        path.write_text(model_to_c(model), encoding="utf-8")


def find_model(name: str, max_tokens: int | None = None) -> Model:
    """The machine, or what a graph of the gallery or of a Python file compiles to."""
    from curta.engine.model_cache import compile_cached

    if name != MACHINE:
        graph, default = find_graph(name)
        return compile_cached(graph, default if max_tokens is None else max_tokens)
    from curta.machine.computer import build
    from curta.machine.weights import machine_model

    return machine_model() if max_tokens is None else compile_cached(build(), max_tokens)


def find_graph(name: str) -> tuple[Graph, int]:
    """A graph of the gallery, or the one that a Python file builds, and how long it may speak."""
    from curta.compiler.compile import DEFAULT_MAX_TOKENS
    from curta.gallery import find_program
    from curta.gallery.own import own_graph

    if name.endswith(".py"):
        return own_graph(name), DEFAULT_MAX_TOKENS
    program = find_program(name)
    return program.build(), program.max_tokens
