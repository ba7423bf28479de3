"""A compiled model as an ONNX graph: token ids in, logits out, for sequences of any length.

Everything is computed in double precision, whole sequences at a time. A graph cannot stop, so a
second output, `kept`, says of every position whether all promises were kept up to there and it lies
within the length that is proved: behind one that is false, logits mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from curta.compiler import Model
from curta.errors import UserError

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    raise UserError("--emit onnx needs the onnx package: pip install 'curta[export]'") from error

OPSET = 23
IR = 11


class Writer:
    """Nodes in order, and the constants that they read."""

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.type = helper.np_dtype_to_tensor_dtype(self.dtype)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, array: object) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.array(array), name))
        return name

    def integer(self, number: int) -> str:
        return self.constant(f"int {number}", np.int64(number))

    def integers(self, *numbers: int) -> str:
        return self.constant(f"ints {numbers}", np.array(numbers, dtype=np.int64))

    def number(self, value: float) -> str:
        return self.constant(f"number {value!r}", self.dtype.type(value))

    def add(self, operation: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        output = name or f"{operation} {len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, inputs, [output], **attributes))
        return output


def write_onnx(model: Model, path: Path) -> None:
    """Write the graph as a file."""
    writer, weights = Writer(model.certificate.arithmetic), model.weights
    length = writer.add(
        "Squeeze", writer.add("Shape", "input_ids", start=1, end=2), writer.integers(0)
    )
    positions = writer.add("Range", writer.integer(0), length, writer.integer(1))
    embedding = writer.constant("embedding", weights["embedding.weight"])
    stream = writer.add("Gather", embedding, "input_ids", axis=0)
    stream = writer.add("Add", stream, positional(writer, weights, positions))
    rows, columns = (writer.add("Unsqueeze", positions, writer.integers(n)) for n in (1, 0))
    later = writer.add("Less", rows, columns)
    kept = writer.add("Less", positions, writer.integer(model.certificate.softmax_tokens))
    kept = writer.add("Unsqueeze", kept, writer.integers(0))
    kept = promised(writer, model, 0, stream, kept)
    for number, layer in enumerate(model.plan["layers"]):
        tensors = {
            part: weights[f"layers.{number}.{part}.weight"]
            for part in (
                *("attention.query", "attention.key", "attention.value", "attention.output"),
                *("feed_forward.gate", "feed_forward.expand", "feed_forward.contract"),
            )
        }
        linear = Linears(writer, number, tensors)
        if layer["heads"]:
            found = attention(linear, stream, later, len(layer["heads"]), layer["head_width"])
            stream = writer.add("Add", stream, found)
        kept = promised(writer, model, 2 * number + 1, stream, kept)
        if layer["units"]:
            gate = writer.add("Relu", linear(stream, "feed_forward.gate"))
            units = writer.add("Mul", gate, linear(stream, "feed_forward.expand"))
            stream = writer.add("Add", stream, linear(units, "feed_forward.contract"))
        kept = promised(writer, model, 2 * number + 2, stream, kept)
    unembedding = writer.constant("unembedding", weights["unembedding.weight"].T)
    writer.add("MatMul", stream, unembedding, name="logits")
    whole = writer.add("Shape", "input_ids")
    broken = writer.add("Cast", writer.add("Not", kept), to=TensorProto.INT64)
    broken = writer.add("CumSum", writer.add("Expand", broken, whole), writer.integer(1))
    writer.add("Equal", broken, writer.integer(0), name="kept")
    onnx.save_model(whole_model(model, writer), path)


class Linears:
    """The matrices of a layer."""

    def __init__(self, writer: Writer, layer: int, tensors: dict[str, Any]) -> None:
        self.writer, self.layer, self.tensors = writer, layer, tensors

    def __call__(self, stream: str, part: str) -> str:
        matrix = self.writer.constant(f"layers.{self.layer}.{part}", self.tensors[part].T)
        return self.writer.add("MatMul", stream, matrix)


def positional(writer: Writer, weights: dict[str, Any], positions: str) -> str:
    """What positions add to the stream: a linear map of integer functions of them."""
    columns = weights["position.weight"].T
    total = writer.constant(
        "no position", np.zeros((1, len(weights["position.weight"])), writer.dtype)
    )
    functions = (weights[f"position.{n}"] for n in ("divisor", "modulus", "power", "offset"))
    for place, (divisor, modulus, power, offset) in enumerate(zip(*functions, strict=True)):
        digit = writer.add("Div", positions, writer.integer(int(divisor)))
        if modulus:
            digit = writer.add("Mod", digit, writer.integer(int(modulus)))
        digit = writer.add("Sub", digit, writer.integer(int(offset)))
        if power == 2:
            digit = writer.add("Mul", digit, digit)
        digit = writer.add("Cast", digit, to=writer.type)
        digit = writer.add("Unsqueeze", digit, writer.integers(1))
        column = writer.constant(f"position {place}", columns[place][None])
        total = writer.add("Add", total, writer.add("MatMul", digit, column))
    return total


def attention(linear: Linears, stream: str, later: str, heads: int, width: int) -> str:
    """Causal softmax attention, not scaled."""
    writer = linear.writer
    apart = writer.integers(0, 0, heads, width)

    def by_head(part: str, order: Sequence[int]) -> str:
        split = writer.add("Reshape", linear(stream, f"attention.{part}"), apart)
        return writer.add("Transpose", split, perm=list(order))

    query, value = (by_head(part, (0, 2, 1, 3)) for part in ("query", "value"))
    scores = writer.add("MatMul", query, by_head("key", (0, 2, 3, 1)))
    scores = writer.add("Where", later, writer.number(-np.inf), scores)
    found = writer.add("MatMul", writer.add("Softmax", scores, axis=-1), value)
    found = writer.add("Transpose", found, perm=[0, 2, 1, 3])
    found = writer.add("Reshape", found, writer.integers(0, 0, heads * width))
    return linear(found, "attention.output")


def promised(writer: Writer, model: Model, period: int, stream: str, kept: str) -> str:
    """Where the promises about this half layer are kept, too."""
    for promise in model.plan["guards"]:
        if promise["period"] != period:
            continue
        sums = np.zeros((model.plan["width"], 1), writer.dtype)
        for slot, weight in promise["terms"]:
            sums[slot] = weight
        total = writer.add("MatMul", stream, writer.constant(f"promise {len(writer.nodes)}", sums))
        total = writer.add("Squeeze", total, writer.integers(2))
        for compare, end in (("GreaterOrEqual", "low"), ("LessOrEqual", "high")):
            within = writer.add(compare, total, writer.number(float(promise[end])))
            kept = writer.add("And", kept, within)
    return kept


def whole_model(model: Model, writer: Writer) -> Any:
    """The file, with vocabulary and stop tokens in its metadata."""
    shape = ["batch", "sequence"]
    graph = helper.make_graph(
        writer.nodes,
        "curta",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape)],
        [
            helper.make_tensor_value_info("logits", writer.type, [*shape, len(model.vocabulary)]),
            helper.make_tensor_value_info("kept", TensorProto.BOOL, shape),
        ],
        list(writer.constants.values()),
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    helper.set_model_props(
        made,
        {
            "vocabulary": "\n".join(model.vocabulary),
            "stops": ",".join(map(str, model.plan["stops"])),
            "max_tokens": str(model.certificate.softmax_tokens),
        },
    )
    onnx.checker.check_model(made)
    return made
