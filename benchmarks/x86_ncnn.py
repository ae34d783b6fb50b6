"""ncnn as benchmarks call it: ONNX models of few operators, written as ncnn's own files, of floats or int8.

ncnn's own quantizer is a program that its Python package lacks. What is written here is what that makes: a
scale for each output of weights and one for each input, and int8 between convolutions that follow each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from edgekit.core.types import Array

Activation = tuple[int, Sequence[float]]  # its kind, 0 for none, and bounds

_MAGIC = 7767517
_IS_INT8 = b"\x38\x4b\x0d\x00"  # before weights
_RELU, _CLIP = 1, 3  # kinds of activation
_POOLS: list[Any] = []  # of memory: they must outlive all that is in them


def runner(
    model: Path,
    folder: Path,
    x: Array,
    ranges: Mapping[str, float] | None = None,
    *,
    vulkan: bool = False,
    half: bool = False,
) -> Callable[[], Any]:
    """What runs a model once, in floats of 32 bits or, with `ranges` as `translated` takes them, in int8. It
    keeps its memory from one run to the next. Its other options are at their defaults: networks are slower
    without its packed layout or Winograd's algorithm. The input is NCHW. `vulkan`: not on the processor.
    `half`: in floats of 16 bits, as ncnn does by default."""
    library = import_module("ncnn")
    text, weights, names = translated(onnx.load(model), ranges)
    param, data = folder / f"{model.stem}.param", folder / f"{model.stem}.bin"
    param.write_text(text)
    data.write_bytes(weights)
    net = library.Net()
    net.opt.num_threads = 1
    net.opt.use_vulkan_compute = vulkan
    _POOLS.extend((library.UnlockedPoolAllocator(), library.UnlockedPoolAllocator()))
    net.opt.blob_allocator, net.opt.workspace_allocator = _POOLS[-2:]
    net.opt.use_bf16_storage = False
    for kind in ("packed", "storage", "arithmetic"):
        setattr(net.opt, f"use_fp16_{kind}", half)
    assert net.load_param(str(param)) == 0
    assert net.load_model(str(data)) == 0
    pixels = np.ascontiguousarray(x[0])  # a Mat of them does not keep them
    image = library.Mat(pixels).clone()

    def run() -> Any:
        with net.create_extractor() as extractor:
            extractor.input(names[0], image)
            code, y = extractor.extract(names[1])
            assert code == 0
            return y

    return run


def translated(
    model: onnx.ModelProto, ranges: Mapping[str, float] | None = None
) -> tuple[str, bytes, tuple[str, str]]:
    """The text and the weights of ncnn's files, activations within the layers before them; what its input and
    its output are called. `ranges` has the largest magnitude of each layer's input: then layers are int8."""
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    users = Counter(name for node in model.graph.node for name in node.input)
    convolutions = {node.input[0] for node in model.graph.node if node.op_type == "Conv"}
    net = _Net(constants, ranges or {}, {name for name in convolutions if users[name] == 1})
    (x,) = (i.name for i in model.graph.input if i.name not in net.constants)
    net.layer("Input", [], x, {})
    nodes = [node for node in model.graph.node if node.op_type != "Constant"]
    for node in model.graph.node:
        if node.op_type == "Constant":
            net.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    while nodes:
        node = nodes.pop(0)
        y = node.output[0]
        activation: Activation = (0, ())
        takes_one = node.op_type in ("Conv", "Gemm") and users[y] == 1
        if takes_one and nodes and nodes[0].op_type in ("Relu", "Clip") and nodes[0].input[0] == y:
            after = nodes.pop(0)
            y, activation = after.output[0], _activation(net, after)
        _EMIT[node.op_type](net, node, y, activation)
    return net.text(), b"".join(net.weights), (net.word(x), net.word(model.graph.output[0].name))


@dataclass
class _Net:
    """Lines and weights under construction."""

    constants: dict[str, Array]
    ranges: Mapping[str, float]
    only_convolved: Set[str]  # what a convolution reads and nothing else
    lines: list[tuple[str, list[str], str, Mapping[str, object]]] = field(default_factory=list)
    weights: list[bytes] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)

    def word(self, name: str) -> str:
        """A short name: ncnn's readers have a limit."""
        return self.words.setdefault(name, f"blob{len(self.words)}")

    def layer(self, kind: str, inputs: list[str], output: str, fields: Mapping[str, object]) -> None:
        self.lines.append((kind, inputs, output, fields))

    def store(self, data: Array, is_tagged: bool) -> None:
        tag = b"\0\0\0\0" if is_tagged else b""
        self.weights.append(tag + np.ascontiguousarray(data, np.float32).tobytes())

    def filters(self, x: str, weights: Array, bias: Array, y: str) -> dict[str, object]:
        """Stores the weights of a layer, a row for each output; the fields that say how."""
        if not self.ranges:
            self.store(weights, True)
            self.store(bias, False)
            return {}
        scales = 127 / np.maximum(np.abs(weights).reshape(len(weights), -1).max(axis=1), 1e-9)
        steps = np.rint(weights * scales.reshape(-1, *[1] * (weights.ndim - 1))).astype(np.int8).tobytes()
        self.weights.append(_IS_INT8 + steps + bytes(-len(steps) % 4))
        stays = y in self.only_convolved
        ends = [x, y] if stays else [x]
        for data in (bias, scales, *([127 / self.ranges[name]] for name in ends)):
            self.store(np.asarray(data), False)
        return {"8": 101 if stays else 1}

    def text(self) -> str:
        """The lines, with a Split behind each blob that several layers read."""
        users = Counter(name for _, inputs, _, _ in self.lines for name in inputs)
        seen: Counter[str] = Counter()
        rows: list[str] = []
        blobs = 0
        for number, (kind, inputs, output, fields) in enumerate(self.lines):
            read = []
            for name in inputs:
                read.append(f"{self.word(name)}_{seen[name]}" if users[name] > 1 else self.word(name))
                seen[name] += 1
            values = " ".join(f"{key}={value}" for key, value in fields.items())
            ends = " ".join((*read, self.word(output)))
            rows.append(f"{kind} layer{number} {len(read)} 1 {ends} {values}")
            blobs += 1
            if users[output] > 1:
                copies = " ".join(f"{self.word(output)}_{i}" for i in range(users[output]))
                rows.append(f"Split split{number} 1 {users[output]} {self.word(output)} {copies}")
                blobs += users[output]
        return "\n".join((str(_MAGIC), f"{len(rows)} {blobs}", *rows)) + "\n"


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def _activation(net: _Net, node: onnx.NodeProto) -> Activation:
    if node.op_type == "Relu":
        return _RELU, ()
    return _CLIP, [float(net.constants[name]) for name in node.input[1:]]


def _activated(activation: Activation, kind: int, values: int) -> dict[str, object]:
    """The fields of an activation, which have these numbers."""
    number, bounds = activation
    fields: dict[str, object] = {str(kind): number} if number else {}
    if bounds:
        fields[str(-23300 - values)] = ",".join((str(len(bounds)), *map(str, bounds)))
    return fields


def _conv(net: _Net, node: onnx.NodeProto, y: str, activation: Activation) -> None:
    x, w, b = node.input
    a, weights = _attributes(node), net.constants[w]
    groups = a.get("group", 1)
    top, left, bottom, right = a.get("pads", (0, 0, 0, 0))
    (height, width), (down, aside) = weights.shape[2:], a.get("strides", (1, 1))
    fields = {"0": weights.shape[0], "1": width, "11": height, "3": aside, "13": down}
    fields |= {"4": left, "15": right, "14": top, "16": bottom, "5": 1, "6": weights.size}
    fields |= {"7": groups} if groups > 1 else {}
    kind = "ConvolutionDepthWise" if groups > 1 else "Convolution"
    fields |= net.filters(x, weights, net.constants[b], y)
    net.layer(kind, [x], y, fields | _activated(activation, 9, 10))


def _gemm(net: _Net, node: onnx.NodeProto, y: str, activation: Activation) -> None:
    x, w, b = node.input
    weights = net.constants[w] if _attributes(node).get("transB") else net.constants[w].T
    fields = {"0": weights.shape[0], "1": 1, "2": weights.size}
    fields |= net.filters(x, weights, net.constants[b], "")
    net.layer("InnerProduct", [x], y, fields | _activated(activation, 9, 10))


def _pool(net: _Net, node: onnx.NodeProto, y: str, _: Activation) -> None:
    average = int(node.op_type != "MaxPool")
    if node.op_type == "GlobalAveragePool":
        net.layer("Pooling", [node.input[0]], y, {"0": average, "4": 1})
        return
    a = _attributes(node)
    (height, width), (down, aside) = a["kernel_shape"], a["strides"]
    top, left, bottom, right = a.get("pads", (0, 0, 0, 0))
    assert not (average and any((top, left, bottom, right)))
    fields = {"0": average, "1": width, "11": height, "2": aside, "12": down, "5": 1}
    fields |= {"3": left, "13": top, "14": right, "15": bottom}
    net.layer("Pooling", [node.input[0]], y, fields)


def _plain(kind: str, **fields: object) -> Callable[[_Net, onnx.NodeProto, str, Activation], None]:
    def emit(net: _Net, node: onnx.NodeProto, y: str, _: Activation) -> None:
        inputs = [name for name in node.input if name not in net.constants]
        net.layer(kind, inputs, y, {key[1:]: value for key, value in fields.items()})

    return emit


_EMIT = {
    "Conv": _conv,
    "Gemm": _gemm,
    "AveragePool": _pool,
    "MaxPool": _pool,
    "GlobalAveragePool": _pool,
    "Relu": _plain("ReLU"),
    "Add": _plain("BinaryOp", _0=0),
    "Reshape": _plain("Flatten"),
    "Flatten": _plain("Flatten"),
    "Softmax": _plain("Softmax", _0=0, _1=1),
}
