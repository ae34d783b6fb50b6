"""LoRA: the two small layers of an adapter merge with the layer that they are added to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.dense import Dense
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.match import quantized
from edgekit.core.types import Array


def low_rank(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, merge_adapter)


def merge_adapter(edit: Edit, node: Node) -> Sequence[str] | None:
    """W x + b + (B (A x + a) + c) -> (W + B A) x + (b + B a + c), as peft's merge_and_unload does"""
    if not isinstance(node.op, Add) or quantized(edit, node):
        return None
    for layer_name, adapter_name in (node.inputs, node.inputs[::-1]):
        layer, up = _layer(edit, layer_name), _layer(edit, adapter_name)
        down = _layer(edit, up.inputs[0]) if up else None
        if layer is None or up is None or down is None or layer.inputs[0] != down.inputs[0]:
            continue
        (w, b), (second, c), (first, a) = (_weights(edit, one) for one in (layer, up, down))
        x, *names = layer.inputs
        sums = (w + second @ first, b + second @ a + c)
        with np.errstate(all="ignore"):
            merged = [
                wide.astype(edit.type(name).dtype.numpy) for wide, name in zip(sums, names, strict=True)
            ]
        if not all(np.isfinite(sum).all() for sum in merged):
            return None
        edit.origin = layer.origin
        constants = [edit.const(sum, hint=name) for sum, name in zip(merged, names, strict=True)]
        return edit.add(layer.op, x, *constants)
    return None


def _layer(edit: Edit, name: str) -> Node | None:
    """The dense layer of constant weights that gives a value to one reader, as it is."""
    node = edit.producer(name)
    if node is None or node.op != Dense() or not edit.used_once(name) or quantized(edit, node):
        return None
    return node if all(edit.data(weights) is not None for weights in node.inputs[1:]) else None


def _weights(edit: Edit, layer: Node) -> tuple[Array, Array]:
    w, b = (np.asarray(edit.data(name), np.float64) for name in layer.inputs[1:])
    return w, b
