"""ONNX models of any number of nodes: chains, branches, skip connections, unrolled layers, random graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

_CURVES = ("Sigmoid", "Tanh", "Neg")


class _Model:
    """A model in the making: every node has one result, which has its name."""

    def __init__(self, *shape: int) -> None:
        self.inputs = {"x": list(shape)}
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}

    def __call__(self, kind: str, *operands: str, **attributes: Any) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name=name, **attributes))
        return name

    def curve(self, x: str, i: int = 0) -> str:
        return self(_CURVES[i % len(_CURVES)], x)

    def constant(self, data: np.ndarray[Any, Any]) -> str:
        name = f"constant{len(self.constants)}"
        self.constants[name] = data.astype(np.float32)
        return name

    def done(self, *outputs: str) -> ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "large",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in self.inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            [numpy_helper.from_array(data, name) for name, data in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(nodes: int) -> ModelProto:
    """One layer after the other."""
    model, x = _Model(1, 16), "x"
    for i in range(nodes):
        x = model.curve(x, i)
    return model.done(x)


def convolutions(nodes: int) -> ModelProto:
    """Convolutions and activations, channels first."""
    random = np.random.default_rng(0)
    model, x = _Model(1, 4, 6, 6), "x"
    for _ in range(nodes // 2):
        weights = model.constant(random.normal(size=(4, 4, 3, 3)) / 6)
        bias = model.constant(random.normal(size=4))
        x = model("Relu", model("Conv", x, weights, bias, pads=[1, 1, 1, 1]))
    return model.done(x)


def residuals(nodes: int) -> ModelProto:
    """Blocks whose inputs are added to their results."""
    model, x = _Model(1, 16), "x"
    for i in range(nodes // 3):
        x = model("Add", x, model.curve(model.curve(x, i), i + 1))
    return model.done(x)


def skips(nodes: int) -> ModelProto:
    """A network that goes down and up again: what is computed first is needed last."""
    model, x = _Model(1, 16), "x"
    kept = []
    for i in range(nodes // 3):
        x = model.curve(x, i)
        kept.append(x)
    while kept:
        x = model("Add", model.curve(x, len(kept)), kept.pop())
    return model.done(x)


def joined_skips(nodes: int) -> ModelProto:
    """The same with concatenations."""
    model, x = _Model(1, 1, 8), "x"
    kept = []
    for i in range(nodes // 4):
        x = model.curve(x, i)
        kept.append(x)
    while kept:
        both = model("Concat", model.curve(x, len(kept)), kept.pop(), axis=1)
        x = model("ReduceMax", both, axes=[1], keepdims=1)
    return model.done(x)


def branches(nodes: int) -> ModelProto:
    """Chains of three layers from a part of the input each, listed across, and their sum."""
    count = nodes // 5
    model = _Model(count, 8)
    parts = [f"part{i}" for i in range(count)]
    model.nodes.append(helper.make_node("Split", ["x"], parts, name="split", axis=0))
    for i in range(2):
        parts = [model.curve(part, i) for part in parts]
    parts = [model("ReduceMax", part, axes=[1], keepdims=1) for part in parts]
    total = parts[0]
    for part in parts[1:]:
        total = model("Add", total, part)
    return model.done(total)


def recurrent(nodes: int) -> ModelProto:
    """A recurrent layer, unrolled."""
    random = np.random.default_rng(0)
    steps = nodes // 4
    model = _Model(steps, 8)
    model.inputs["h"] = [1, 8]
    weights, recurrence = (model.constant(random.normal(size=(8, 8))) for _ in range(2))
    parts = [f"step{i}" for i in range(steps)]
    model.nodes.append(helper.make_node("Split", ["x"], parts, name="split", axis=0))
    h = "h"
    for part in parts:
        h = model("Tanh", model("Add", model("MatMul", part, weights), model("MatMul", h, recurrence)))
    return model.done(h)


def tangled(nodes: int) -> ModelProto:
    """Layers that read what some of the fifty before them made."""
    random = Random(0)
    model, made = _Model(1, 16), ["x"]
    unread: dict[str, None] = {}
    while len(model.nodes) + len(unread) < nodes:
        operands = random.choices(made[-50:], k=random.randint(1, 2))
        for name in operands:
            unread.pop(name, None)
        kind = random.choice(("Add", "Mul")) if len(operands) == 2 else random.choice(_CURVES)
        made.append(model(kind, *operands))
        unread[made[-1]] = None
    total, *others = unread
    for name in others:
        total = model("Add", total, name)
    return model.done(total)


FAMILIES: Mapping[str, Callable[[int], ModelProto]] = {
    "chain": chain,
    "convolutions": convolutions,
    "residual blocks": residuals,
    "skip connections": skips,
    "joined skip connections": joined_skips,
    "branches": branches,
    "unrolled recurrent layer": recurrent,
    "random graph": tangled,
}
