"""Model: weights, what they mean, what is proved about them, and the file that holds all three.

A model file is a safetensors file. Its tensors are the transformer; its metadata holds one entry,
`curta`: JSON with the format version, the graph (for the `evaluate` level), the plan (which head
and which hidden unit does what), the certificate, and a digest over all of it, tensors included.
The digest tells damage and editing from use; it is no signature. `verify` compiles the graph again
and compares every weight, which nobody can forge.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from curta.compiler.certificate import Certificate
from curta.compiler.graph import Graph
from curta.compiler.layout import Layout
from curta.compiler.linear_forms import partial_sums
from curta.compiler.lower import Circuit
from curta.compiler.nodes import Mean, Restore, Retrieve
from curta.compiler.serialize import (
    CONTENT,
    check_schema,
    graph_from_json,
    graph_to_json,
    identity_of_json,
)
from curta.compiler.weights import HeadPlan, LayerPlan, score_exponent
from curta.dyadic import Number, Range, short
from curta.errors import FileError, GraphError
from curta.garbage import uncollected

FORMAT_VERSION = 1

Weights = dict[str, npt.NDArray[Any]]
Plan = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Model:
    """A compiled program: an ordinary transformer and all that is known about it."""

    weights: Weights
    plan: Plan
    certificate: Certificate
    given_graph: Graph | dict[str, Any]
    """The graph, or how it stands in a file: only who asks for it has to wait for it."""

    def __repr__(self) -> str:
        layers, width = len(self.plan["layers"]), self.plan["width"]
        return f"<Model of {layers} layers, width {width}, {self.certificate}>"

    @property
    def vocabulary(self) -> list[str]:
        return list(self.plan["vocabulary"])

    @cached_property
    def graph(self) -> Graph:
        """What the weights compute."""
        given = self.given_graph
        return given if isinstance(given, Graph) else graph_from_json(given)

    @cached_property
    def graph_json(self) -> dict[str, Any]:
        given = self.given_graph
        return graph_to_json(given) if isinstance(given, Graph) else given

    @cached_property
    def identity(self) -> str:
        """Of what the weights compute: the same for all compilations of a graph."""
        return identity_of_json(self.graph_json)

    @property
    def nonzero_weights(self) -> int:
        """Weights that are not zero, the embedding and unembedding left out."""
        return sum(
            int(np.count_nonzero(tensor))
            for name, tensor in self.weights.items()
            if name.startswith("layers.") and name.endswith(".weight")
        )

    def positional(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """What the embedding says of positions, [position, slot]: a linear map of integer functions
        of them.
        """
        divisor, modulus, power, offset = (
            np.asarray(self.weights[f"position.{name}"], np.int64)
            for name in ("divisor", "modulus", "power", "offset")
        )
        digits = positions[:, None] // divisor
        digits = np.where(modulus > 0, digits % np.maximum(modulus, 1), digits) - offset
        weight = self.weights["position.weight"]
        found: npt.NDArray[Any] = (digits**power).astype(weight.dtype) @ weight.T
        return found

    def to_text(self) -> str:
        """What the model file says beside its tensors: the metadata entry `curta`."""
        content: dict[str, Any] = {
            "version": FORMAT_VERSION,
            "graph": self.graph_json,
            "plan": self.plan,
            "certificate": self.certificate.as_json(),
        }
        content["digest"] = digest(self.weights, content)
        return json.dumps(content, separators=(",", ":"))

    def to_bytes(self, notes: Mapping[str, str] | None = None) -> bytes:
        """The model file's content; notes go into its metadata."""
        metadata = {**(notes or {}), "curta": self.to_text()}
        return safetensors.numpy.save(self.weights, metadata=metadata)

    def save(self, path: str | Path, notes: Mapping[str, str] | None = None) -> None:
        """Write the model file, with notes for whoever uses it."""
        content = self.to_bytes(notes)
        try:
            Path(path).write_bytes(content)
        except (OSError, ValueError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise FileError(f"cannot write {path}: {reason}; choose another place") from error


@uncollected()
def load_model(path: str | Path) -> Model:
    """Read and check a model file."""
    with reading(path) as file:
        metadata = file.metadata() or {}
        if "curta" not in metadata:
            raise FileError(f"{path}: a safetensors file, but not one that curta wrote")
        for name in sorted(file.keys()):
            if (found := file.get_slice(name).get_dtype()) not in ("F64", "F32", "I64"):
                raise FileError(
                    f"{path}: tensor {name} is {found}, expected F64, F32 or I64; a model computes "
                    "exactly only in the numbers it was compiled to, so build the file again"
                )
        weights = {name: file.get_tensor(name) for name in sorted(file.keys())}
    return model_from_parts(str(path), weights, metadata)


def kept_model(content: bytes, name: str, graph: Graph | None = None) -> Model:
    """The same from content that curta keeps: the schema is its own, the graph may be known, and if
    not, it is read when somebody asks for it.
    """
    try:
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length])["__metadata__"]
        weights = safetensors.numpy.load(content)
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise FileError(f"{name}: not a complete safetensors file ({error})") from error
    kept = content_of(name, weights, metadata, is_whole=True)
    return model_of(weights, kept, graph or kept["graph"])


def file_notes(path: str | Path, command: str = "curta build") -> dict[str, str]:
    """The notes that a model was saved with; `command` is what makes such files."""
    with reading(path, command) as file:
        metadata: dict[str, str] = file.metadata() or {}
    return {key: text for key, text in metadata.items() if key != "curta"}


@contextmanager
def reading(path: str | Path, command: str = "curta build") -> Iterator[Any]:
    """An open safetensors file; what goes wrong is a FileError."""
    if not isinstance(path, str | Path):
        raise FileError(f"expected the path of a model file, got {short(path)}")
    path = Path(path)
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder; name the model file in it")
        with safetensors.safe_open(path, framework="numpy") as file:
            yield file
    except FileNotFoundError as error:
        raise FileError(f"{path}: no such file") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error}") from error
    except (safetensors.SafetensorError, ValueError) as error:
        raise FileError(
            f"{path}: not a complete safetensors file ({error}); make it again with `{command}`"
        ) from error


def model_from_parts(path: str, weights: Weights, metadata: dict[str, str]) -> Model:
    """The model, if version, digest and schema are right."""
    content = content_of(path, weights, metadata)
    check_schema(content, CONTENT, f"{path}: content")
    try:
        graph = graph_from_json(content["graph"])
    except GraphError as error:
        raise FileError(f"{path}: graph: {error}") from error
    check_plan(path, content["plan"], graph)
    check_tensors(path, content["plan"], content["certificate"]["arithmetic"], weights)
    return model_of(weights, content, graph)


def model_of(weights: Weights, content: dict[str, Any], graph: Graph | dict[str, Any]) -> Model:
    certificate = Certificate.from_json(content["certificate"])
    return Model(weights, content["plan"], certificate, graph)


def content_of(
    path: str, weights: Weights, metadata: dict[str, str], *, is_whole: bool = False
) -> dict[str, Any]:
    """What a file says beside its tensors, if version and digest are right. What is known to be as
    it was written is not digested again.
    """
    try:
        content = json.loads(metadata["curta"])
        version, claimed = content["version"], content.pop("digest")
        actual = claimed if is_whole else digest(weights, content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"{path}: the curta metadata cannot be read ({error!r})") from error
    if version != FORMAT_VERSION:
        raise FileError(
            f"{path}: format version {short(version)}, this curta reads version {FORMAT_VERSION}; "
            "build the file again, or install the curta that wrote it"
        )
    if actual != claimed:
        raise FileError(
            f"{path}: weights, plan or certificate were changed after compilation (the digest "
            "does not match), so nothing is proved about them; build the file again"
        )
    return dict(content)


def check_plan(path: str, plan: Plan, graph: Graph) -> None:
    """Vocabulary, stops and rules of the plan are those of the graph."""
    of_graph = {
        "vocabulary": list(graph.tokens),
        "stops": sorted(graph.stops),
        "families": [list(family.tokens) for family in graph.families],
    }
    for part, wanted in of_graph.items():
        if plan[part] != wanted:
            raise FileError(f"{path}: the {part} of plan and graph differ; build the file again")


def check_tensors(path: str, plan: Plan, arithmetic: str, weights: Weights) -> None:
    """The tensors are those that the plan speaks of; integers are within their limits."""
    position = weights.get("position.weight", np.zeros((0, 0)))
    wanted = tensor_shapes(plan, arithmetic, position.shape[-1] if position.ndim else 0)
    for name in sorted(wanted.keys() | weights.keys()):
        found = (weights[name].dtype.name, weights[name].shape) if name in weights else "missing"
        if found != wanted.get(name, "none"):
            raise FileError(
                f"{path}: tensor {name} is {found}, expected {wanted.get(name, 'none')}; "
                "build the file again"
            )
    limits = {"position.divisor": (1, 2**62), "position.modulus": (0, 2**62)}
    limits |= {"position.power": (1, 2), "position.offset": (-(2**62), 2**62)}
    for number, layer in enumerate(plan["layers"]):
        limits[f"layers.{number}.attention.head_width"] = (layer["head_width"],) * 2
    for name, (low, high) in limits.items():
        if (weights[name] < low).any() or (weights[name] > high).any():
            raise FileError(
                f"{path}: tensor {name} is not what a graph compiles to (from {low} to {high}); "
                "build the file again"
            )


def tensor_shapes(
    plan: Plan, arithmetic: str, features: int
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of every tensor."""
    tokens, width = len(plan["vocabulary"]), plan["width"]
    shapes: dict[str, tuple[int, ...]] = {
        "embedding.weight": (tokens, width),
        "unembedding.weight": (tokens, width),
        "position.weight": (width, features),
    }
    integers: dict[str, tuple[int, ...]] = {
        f"position.{field}": (features,) for field in ("divisor", "modulus", "power", "offset")
    }
    for number, layer in enumerate(plan["layers"]):
        attention, feed_forward = f"layers.{number}.attention", f"layers.{number}.feed_forward"
        inner, hidden = len(layer["heads"]) * layer["head_width"], len(layer["units"])
        integers[f"{attention}.head_width"] = ()
        shapes[f"{attention}.output.weight"] = (width, inner)
        shapes[f"{feed_forward}.contract.weight"] = (width, hidden)
        shapes |= {
            f"{attention}.{part}.weight": (inner, width) for part in ("query", "key", "value")
        }
        shapes |= {f"{feed_forward}.{part}.weight": (hidden, width) for part in ("gate", "expand")}
    return {name: (arithmetic, shape) for name, shape in shapes.items()} | {
        name: ("int64", shape) for name, shape in integers.items()
    }


def digest(weights: Weights, content: dict[str, Any]) -> str:
    """SHA-256 over the tensors and the metadata, in a fixed order."""
    total = hashlib.sha256()
    for name in sorted(weights):
        tensor = np.ascontiguousarray(weights[name])
        total.update(f"{name} {tensor.dtype} {tensor.shape}\n".encode())
        total.update(tensor.tobytes())
    total.update(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
    return total.hexdigest()


def model_digest(model: Model) -> str:
    """SHA-256 over the tensors and the text of the file: which model a trace is of.

    Unlike the digest in the file, it is one that others can compute: nobody writes JSON like us.
    """
    total = hashlib.sha256()
    for name in sorted(model.weights):
        tensor = model.weights[name]
        shape = "x".join(map(str, tensor.shape))
        total.update(f"{name} {tensor.dtype.name} {shape}\n".encode())
        total.update(np.ascontiguousarray(tensor).tobytes())
    total.update(model.to_text().encode())
    return total.hexdigest()


# -- the plan -------------------------------------------------------------------------------------


def describe_plan(layout: Layout, layers: tuple[LayerPlan, ...]) -> Plan:
    """What every slot, head, hidden unit and output rule is for, as JSON."""
    graph = layout.task_graph.circuit.graph
    schedule = layout.schedule
    final = written(layout)
    return {
        "vocabulary": list(graph.tokens),
        "stops": sorted(graph.stops),
        "width": layout.width,
        "schedule": {
            "layers": schedule.layers,
            "peak": schedule.width,
            "lower_bound": schedule.lower_bound,
            "method": schedule.method,
        },
        "layers": [
            {
                "head_width": layer.head_width,
                "heads": [describe_head(layout, head) for head in layer.heads],
                "units": [unit.name for unit in layer.units],
            }
            for layer in layers
        ],
        "slots": [describe_slot(layout, carrier, final) for carrier in range(len(layout.slot))],
        "guards": describe_guards(layout),
        "families": [list(rule.tokens) for rule in layout.task_graph.outputs],
    }


def describe_head(layout: Layout, head: HeadPlan) -> dict[str, Any]:
    circuit = layout.task_graph.circuit
    described: dict[str, Any] = {
        "kind": head.kind,
        "name": circuit.graph.name_of(head.tasks[0].node),
        "values": [],
    }
    for task in head.tasks:
        operation = circuit.graph.operations[task.node]
        assert isinstance(operation, Retrieve | Mean)
        described["values"].append(
            {
                "name": name_of_value(circuit, task.node, operation),
                "is_key": isinstance(operation, Retrieve) and operation.is_key,
                **describe_range(circuit.ranges[operation.value]),
            }
        )
        if isinstance(operation, Retrieve):
            described["query"] = [describe_range(circuit.ranges[i]) for i in operation.query]
            described["code"] = {
                "weights": [as_json(weight) for weight in operation.weights],
                "offset": as_json(operation.offset),
                **describe_range(circuit.ranges[operation.code]),
            }
            described["key"] = [describe_range(circuit.ranges[i]) for i in operation.key]
    if head.kind == "retrieve":
        described["recency"] = head.recency
        described["nearest"] = head.nearest
        described["score_exponent"] = score_exponent(layout, head)
    return described


def name_of_value(circuit: Circuit, node: int, operation: Retrieve | Mean) -> str:
    """What a head returns: for a mean, the name of the running sum that it is for."""
    if isinstance(operation, Retrieve):
        return circuit.graph.name_of(operation.value)
    for index, reader in enumerate(circuit.graph.operations):
        if isinstance(reader, Restore) and reader.mean == node:
            return circuit.graph.name_of(index)
    return circuit.graph.name_of(node)


def describe_slot(layout: Layout, carrier: int, final: dict[int, int]) -> dict[str, Any]:
    """One carrier: where it is, when, and the wires that it is the sum of."""
    circuit = layout.task_graph.circuit
    members = layout.task_graph.carriers[carrier].members
    magnitude, step = partial_sums(circuit, members)
    return {
        "slot": layout.slot[carrier],
        "first": layout.first[carrier],
        "last": layout.last[carrier],
        "erased": layout.erased[carrier],
        "name": circuit.graph.name_of_terms(members),
        "members": [
            {
                "node": wire,
                "weight": as_json(weight),
                "kind": type(circuit.graph.operations[wire]).__name__,
                "written": final.get(wire, 0),
                **describe_range(circuit.ranges[wire]),
            }
            for wire, weight in members
        ],
        "magnitude": as_json(magnitude),
        "step": step,
    }


def written(layout: Layout) -> dict[int, int]:
    """The sublayer after which a wire is in its final state, if a task writes it."""
    tasks = zip(layout.task_graph.tasks, layout.schedule.start, strict=True)
    found = [(task.node, start + task.delay) for task, start in tasks if task.kind != "guard"]
    return dict(reversed(found))


def describe_guards(layout: Layout) -> list[dict[str, Any]]:
    circuit = layout.task_graph.circuit
    guards = []
    for task, start in zip(layout.task_graph.tasks, layout.schedule.start, strict=True):
        if task.kind == "guard":
            promised = circuit.graph.operations[task.node]
            guards.append(
                {
                    "name": circuit.graph.name_of(task.node),
                    "period": min(start - 1, 2 * layout.schedule.layers),
                    "terms": [[slot, as_json(w)] for slot, w in layout.row(task.reads[0])],
                    "low": as_json(promised.low),  # type: ignore[union-attr]
                    "high": as_json(promised.high),  # type: ignore[union-attr]
                }
            )
    return guards


def describe_range(value: Range) -> dict[str, Any]:
    return {"low": as_json(value.low), "high": as_json(value.high), "step": value.step}


def as_json(value: Number) -> int | float:
    """Exact: every number in a plan fits a float64."""
    return float(value) if isinstance(value, Fraction) else value
