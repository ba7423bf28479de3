"""`curta build`: compile a program and write it down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from curta.app.inspect import ModelFigures
from curta.errors import UserError
from curta.options import option, word
from curta.terminal import AsJson, spinning

if TYPE_CHECKING:
    from curta.compiler import Graph, Model
    from curta.export.ground_truth import Prompt

MACHINE = "machine"
"""The name that stands for the machine's fixed weights, which `curta run` keeps in its cache."""
FLOAT32_TOKENS = 2048
PROMPTED = ("ground-truth", "attribution")
"""What is made of a model and of prompts."""


@dataclass(frozen=True)
class Options(AsJson):
    """Compile a program and write it to a file.

    name:       a program of the gallery, FILE.py with a function build() that returns a Graph, or
                machine: the weights with which curta run runs any program
    output:     a file; a folder for torch, hf, llama and ground-truth
    emit:       the model file; the C that the native engine compiles; what needs nothing of
                curta: a folder for PyTorch or for Hugging Face's transformers, one of a Llama (of a
                model in float32), an ONNX file; the circuit, as JSON; a case for methods of circuit
                discovery, for TransformerLens; what contributed to the token that comes after a
                prompt, as JSON for circuit-tracer
    max_tokens: the length to certify (the program's; 2,048 in float32)
    arithmetic: that the transformer computes with; in float32 less fits, and more hardware is fast
    residual:   of ground-truth: as compiled; in rotated directions; or in as few directions as the
                prompts need, which proves nothing of others
    prompt:     of ground-truth and attribution: tokens with spaces between them (the cases of a
                program of the gallery; of attribution the first one)
    """

    name: str = word("NAME")
    output: str = option(short="-o", metavar="OUT")
    emit: Literal[
        "safetensors", "c", "torch", "hf", "llama", "onnx", "circuit", "ground-truth", "attribution"
    ] = "safetensors"
    max_tokens: int | None = None
    arithmetic: Literal["float64", "float32"] = "float64"
    residual: Literal["plain", "rotated", "compressed"] = "plain"
    prompt: tuple[str, ...] = option((), metavar="TOKENS")


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
    if options.residual != "plain" and options.emit != "ground-truth":
        raise UserError(f"--residual is for --emit ground-truth, not for --emit {options.emit}")
    if options.prompt and options.emit not in PROMPTED:
        raise UserError(
            f"--prompt is for --emit {' and '.join(PROMPTED)}, not for --emit {options.emit}"
        )
    if options.name == MACHINE and options.emit in PROMPTED:
        raise UserError(f"--emit {options.emit} is of programs with few parts, not of the machine")
    if options.arithmetic != "float64" and options.emit in PROMPTED:
        raise UserError(f"--emit {options.emit} is of models in float64, without --arithmetic")
    if len(options.prompt) > 1 and options.emit == "attribution":
        raise UserError("--emit attribution is of one prediction: give one --prompt")
    model = find_model(options.name, options.max_tokens, options.arithmetic)
    try:
        write(model, options, Path(options.output))
    except OSError as error:
        raise UserError(
            f"cannot write {options.output}: {error.strerror}; choose another place"
        ) from error
    return options.show(Report(options.output, ModelFigures.of(model)))


def write(model: Model, options: Options, path: Path) -> None:
    """The model in the form that is asked for."""
    emit = options.emit
    if emit == "safetensors":
        model.save(path)
    elif emit == "torch":
        from curta.export import write_torch

        write_torch(model, path)
    elif emit == "onnx":
        from curta.export.onnx import write_onnx

        write_onnx(model, path)
    elif emit == "llama":
        from curta.export.llama import write_llama

        write_llama(model, path)
    elif emit == "circuit":
        from curta.export.circuit import write_circuit

        write_circuit(model, path)
    elif emit == "ground-truth":
        from curta.export.ground_truth import write_ground_truth
        from curta.export.positions import most_positions

        prompts = texts(options.name, options.prompt, most_positions(model))
        write_ground_truth(model, path, options.residual, answered(model, prompts))
    elif emit == "attribution":
        from curta.export.attribution import write_attribution

        write_attribution(model, predicted(model, options), path.stem, path)
    elif emit == "hf":
        from curta.export import write_huggingface

        write_huggingface(model, path)
    else:
        with spinning("writing C"):
            path.write_text(c_of(model, options), encoding="utf-8")


def c_of(model: Model, options: Options) -> str:
    """The C of a model, which is not made again if it is kept."""
    if options.name == MACHINE and options.max_tokens is None:
        from curta.machine.weights import machine_c

        return machine_c().decode().partition("\n")[2]
    from curta.engine.model_cache import cached_source
    from curta.engine.native.emit import model_to_c

    return cached_source(model, model_to_c)


def texts(name: str, prompts: Sequence[str], longest: int) -> list[list[str]]:
    """The tokens of the prompts that were given, or of those cases of a program that have room."""
    from curta.gallery import find_program

    if prompts:
        return [prompt.split() for prompt in prompts]
    if name.endswith(".py"):
        raise UserError(f"{name} has no cases; give a prompt or more, as in --prompt 'a b ='")
    program = find_program(name)
    encoded = (program.encode(case.input) for case in program.cases)
    found = [tokens for tokens in encoded if len(tokens) < longest]
    if not found:
        raise UserError(f"no case of {name} has room in {longest} tokens; give a --prompt")
    return found


def answered(model: Model, given: Iterable[Sequence[str]]) -> list[Prompt]:
    """What the model says to each, as far as there are positions."""
    from curta.engine import load
    from curta.export.ground_truth import Prompt
    from curta.export.positions import most_positions

    engine, longest = load(model, "plain"), most_positions(model)
    return [
        Prompt(tuple(tokens), tuple(engine.generate(tokens, max(0, longest - len(tokens)))))
        for tokens in given
    ]


def predicted(model: Model, options: Options) -> list[int]:
    """The prompt, behind which the model says something: all promises are kept up to there."""
    from curta.engine import load
    from curta.export.positions import most_positions

    longest = most_positions(model)
    prompt = texts(options.name, options.prompt, longest)[0]
    if len(prompt) >= longest:
        raise UserError(f"the prompt has {len(prompt)} tokens; at most {longest - 1} can be shown")
    engine = load(model, "evaluate")
    ids = engine.encode(prompt)
    next(iter(engine.generate_ids(ids, 1)))
    return ids


def find_model(name: str, max_tokens: int | None = None, arithmetic: str = "float64") -> Model:
    """The machine, or what a graph of the gallery or of a Python file compiles to."""
    from curta.engine.model_cache import compile_cached

    if name != MACHINE:
        graph, default = find_graph(name)
        if arithmetic == "float32":
            default = min(default, FLOAT32_TOKENS)
        length = default if max_tokens is None else max_tokens
        return compile_cached(graph, length, arithmetic=arithmetic)
    if arithmetic != "float64":
        raise UserError(f"--arithmetic {arithmetic}: the machine's weights need float64")
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
