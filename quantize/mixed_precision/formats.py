"""In which format each layer computes and each tensor is stored, where it is not int8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Where
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.core.types import Array, DType, Quant
from edgekit.quantize.calibration.scales import given, runs_in_int8, tied
from edgekit.quantize.integers.recurrent import cells

NAMES = {
    DType.S4: "int4",
    DType.S8: "int8",
    DType.S16: "int16",
    DType.F16: "f16",
    DType.BF16: "bf16",
    DType.F32: "float32",
}
_FULL = 10  # one of so many weights stays int8 where others become int4


@dataclass(frozen=True)
class Formats:
    """All names are those of tensors in the float graph; layers are known by their (first) result."""

    wide: frozenset[str] = frozenset()  # tensors in int16: tied ones are wide together
    real: frozenset[str] = frozenset()  # layers that stay floats
    # Of layers: 16-bit floats beside floats, int4 beside integers.
    weights: Mapping[str, DType] = field(default_factory=dict)
    fractional: frozenset[str] = frozenset()  # tensors in int16, too, in parts of the steps that int8 has

    def stored(self, name: str) -> DType:
        """The integers that a quantized tensor is stored in."""
        return DType.S16 if name in self.wide or name in self.fractional else DType.S8


def takes_wide(node: Node) -> bool:
    """Is there a kernel of this node for int16?"""
    moves = keeps_scale(node.op) and (len(node.inputs) == 1 or isinstance(node.op, Concat | Gather | Where))
    return isinstance(node.op, Conv2d | ConvTranspose2d | Dense) or moves


def could_be_wide(graph: Graph, names: Iterable[str]) -> Iterator[str]:
    """The tensors that int16 can store: all that are tied to each other, or none."""
    group = tied(graph)
    narrow = {group[name] for name in given(graph)}
    narrow |= {
        group[node.outputs[0]] for node in graph.nodes if runs_in_int8(graph, node) and not takes_wide(node)
    }
    yield from (name for name in names if group[name] not in narrow)


def wide_anyway(graph: Graph) -> frozenset[str]:
    """The tensors that recurrent layers need in int16."""
    layers = [node for node in graph.nodes if isinstance(node.op, Recurrent) and runs_in_int8(graph, node)]
    if not layers:
        return frozenset()
    group = tied(graph)
    sums = {group[node.inputs[0]] for node in layers}
    return frozenset(cells(graph, group)).union(
        name for name in could_be_wide(graph, graph.values) if group[name] in sums
    )


def wide_quant(narrow: Quant) -> Quant:
    """Symmetric int16 with the range of an int8 scale."""
    scale, zero = narrow.scale[0], narrow.zero[0]
    reach = max(127 - zero, 128 + zero) * scale
    return Quant((float(np.float32(reach / 32767)),), (0,))


def layers(graph: Graph) -> list[Node]:
    """Convolutions and dense layers with constant weights, in order."""
    found = []
    for node in graph.nodes:
        is_layer = isinstance(node.op, Conv2d | Dense)
        if is_layer and graph.data(node.inputs[1]) is not None and graph.type(node.outputs[0]).quant is None:
            found.append(node)
    return found


def int4_layers(graph: Graph) -> dict[str, DType]:
    """The layers for weights in int4, by their results: all but the smallest, which hold a tenth of the
    weights, and are often those that lose most: the first, the last, depthwise ones."""
    found = sorted(layers(graph), key=lambda node: graph.type(node.inputs[1]).size)
    left = sum(graph.type(node.inputs[1]).size for node in found) // _FULL
    narrow = {}
    for node in found:
        left -= graph.type(node.inputs[1]).size
        if left < 0:
            narrow[node.outputs[0]] = DType.S4
    return narrow


def as_narrow(weights: Array, dtype: DType) -> Array:
    """Weights as 16-bit floats, to the nearest, ties to even."""
    made = np.asarray(weights).astype(dtype.numpy)
    made.flags.writeable = False
    return made
