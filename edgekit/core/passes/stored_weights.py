"""Compressed weights stay compressed: what a file stores in 16 or 8 bits ships so, and floats are computed.

Readers widen what a file stores in fewer bytes, so that passes see plain numbers. Behind them, weights that
are still numbers of a narrow format take that format again: nothing is rounded. Integers are recognised as
multiples of a scale for each output (grid.py), those with a scale for each group by the note that their
reader made (groupwise_weights.py). Formats that the file does not use are not tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from edgekit.core.builder import MIN_NARROW
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear, bias_in_units
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.quantize import Dequantize
from edgekit.core.passes import drop_dead
from edgekit.core.passes.grid import on_grid, rows_on_grid
from edgekit.core.passes.groupwise_weights import groupwise_bytes, stored_groups, widened_groups
from edgekit.core.types import Array, DType, Quant, Value

_HALVES = (DType.F16, DType.BF16)
_INTEGERS = {DType.S8, DType.U8, DType.S4, DType.U4}
_NARROW = {*_HALVES, DType.S8}


def stored_weights(graph: Graph) -> Graph:
    """Weights of layers and tables in the formats of `graph.stored_dtypes`, where that changes no number."""
    graph = drop_dead(stored_groups(graph)) if graph.groupwise else graph
    made = _Shrink(graph).run() if graph.stored_dtypes else graph
    return replace(made, stored_dtypes=()) if graph.stored_dtypes else graph


def widened_weights(graph: Graph, *, only_integers: bool = False) -> Graph:
    """The graph with weights and tables in float32: what quantizing and pruning start from. `only_integers`:
    what GPUs have no kernels for."""
    formats = {DType.S8} if only_integers else _NARROW
    graph = drop_dead(widened_groups(graph, only_halves=only_integers))
    values = dict(graph.values)
    nodes: list[Node] = []

    def wide(name: str) -> str:
        made = f"{name}_f32"
        if made not in values:
            values[made] = _wide(graph.values[name])
        return made

    def is_narrow(name: str) -> bool:
        return _is_narrow(graph, name) and graph.type(name).dtype in formats

    for node in graph.nodes:
        made_real = isinstance(node.op, Cast | Dequantize) and graph.type(node.outputs[0]).dtype is DType.F32
        table = graph.producer(node.inputs[0]) if made_real else None
        if isinstance(node.op, Linear) and is_narrow(node.inputs[1]):
            if graph.type(node.inputs[0]).dtype is DType.F32:
                x, w, *rest = node.inputs
                node = replace(node, inputs=(x, wide(w), *rest))
        elif table is not None and isinstance(table.op, Gather) and is_narrow(table.inputs[0]):
            node = replace(table, inputs=(wide(table.inputs[0]), table.inputs[1]), outputs=node.outputs)
        nodes.append(node)
    if tuple(nodes) == graph.nodes:
        return graph
    return drop_dead(replace(graph, nodes=tuple(nodes), values=values))


def narrow_weights(graph: Graph) -> dict[str, int]:
    """The bytes of weights and tables that floats are computed with in another format, by that."""
    found = dict(groupwise_bytes(graph))
    names = set()
    for node in graph.nodes:
        if isinstance(node.op, Linear) and graph.type(node.inputs[0]).dtype is DType.F32:
            names.add(node.inputs[1])
        elif isinstance(node.op, Gather):
            names.add(node.inputs[0])
    for name in sorted(names):
        if _is_narrow(graph, name):
            type = graph.type(name)
            found[type.dtype.value] = found.get(type.dtype.value, 0) + type.bytes
    return found


class _Shrink:
    """Gives constants a narrow format, each once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values = dict(graph.values)
        self.nodes: list[Node] = []
        self.narrowed: dict[tuple[str, str], str] = {}  # names of narrow constants; empty where there is none
        self.has_integers = bool(_INTEGERS & set(graph.stored_dtypes))

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if isinstance(node.op, Linear):
                self._layer(node)
            elif isinstance(node.op, Gather):
                self._table(node)
            else:
                self.nodes.append(node)
        return drop_dead(replace(self.graph, nodes=tuple(self.nodes), values=self.values))

    def _layer(self, node: Node) -> None:
        x, w, b = node.inputs
        name = ""
        if self.graph.type(x).dtype is DType.F32:
            name = self._once(w, self._half) or self._once_with_bias(w, self.graph.data(b))
        self.nodes.append(replace(node, inputs=(x, name or w, b)))

    def _once_with_bias(self, weights: str, bias: Array | None) -> str:
        """Weights of 8 bits, if there is a bias that can be added in units of their scales."""
        name = "" if bias is None else self._once(weights, self._bytes)
        fits = name and bias is not None and bias_in_units(bias, self.values[name].type) is not None
        return name if fits else ""

    def _table(self, node: Node) -> None:
        """Rows of a table become float32 when they were found."""
        table, index = node.inputs
        name = self._once(table, self._half) or self._once(table, self._byte_table)
        if not name:
            self.nodes.append(node)
            return
        (result,) = node.outputs
        type = self.values[name].type
        row = self._fresh(f"{result}_{type.dtype.value}")
        self.values[row] = Value(replace(self.graph.type(result), dtype=type.dtype, quant=type.quant))
        self.nodes.append(Node(node.op, (name, index), (row,), node.origin))
        widen = Cast(DType.F32) if type.quant is None else Dequantize()
        self.nodes.append(Node(widen, (row,), (result,), node.origin))

    def _once(self, name: str, narrowed: Callable[[Array], tuple[Array, Quant | None] | None]) -> str:
        """The constant in the format that a function finds, each once; empty where there is none."""
        data = self.graph.data(name)
        if data is None or data.dtype != np.float32 or data.size < MIN_NARROW:
            return ""
        key = (name, narrowed.__name__)
        if key not in self.narrowed:
            found = narrowed(data)
            self.narrowed[key] = "" if found is None else self._constant(name, *found)
        return self.narrowed[key]

    def _half(self, data: Array) -> tuple[Array, None] | None:
        """Floats of 16 bits."""
        formats = (dtype for dtype in _HALVES if dtype in self.graph.stored_dtypes)
        found = next((dtype for dtype in formats if _is_exact(data, dtype)), None)
        return None if found is None else (data.astype(found.numpy), None)

    def _bytes(self, data: Array) -> tuple[Array, Quant] | None:
        """Integers with a scale for each output, or one for all."""
        found = rows_on_grid(data) if self.has_integers else None
        if found is None:
            return None
        integers, scales = found
        scales = np.where(scales > 0, scales, 1.0)
        if (scales == scales[0]).all():
            return integers, Quant((float(scales[0]),), (0,))
        return integers, Quant(tuple(scales.tolist()), (0,) * len(scales), 0)

    def _byte_table(self, data: Array) -> tuple[Array, Quant] | None:
        """Integers around a zero point, with one scale."""
        found = on_grid(data) if self.has_integers else None
        return None if found is None else (found[0], Quant((found[1],), (found[2],)))

    def _constant(self, name: str, data: Array, quant: Quant | None) -> str:
        dtype = DType.of(data.dtype)
        made = self._fresh(f"{name}_{dtype.value}")
        data.flags.writeable = False
        self.values[made] = Value(replace(self.graph.type(name), dtype=dtype, quant=quant), data)
        return made

    def _fresh(self, name: str) -> str:
        while name in self.values:
            name += "_"
        return name


def _is_exact(data: Array, dtype: DType) -> bool:
    """Are these numbers of that format?"""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((data.astype(dtype.numpy).astype(np.float32) == data).all())


def _is_narrow(graph: Graph, name: str) -> bool:
    type = graph.type(name)
    is_one = type.dtype in _HALVES or (type.dtype is DType.S8 and type.quant is not None)
    return is_one and graph.data(name) is not None


def _wide(value: Value) -> Value:
    assert value.data is not None, "weights of layers are constant"
    data, quant = value.data.astype(np.float32), value.type.quant
    if quant is not None:
        shape = (-1, *(1,) * (data.ndim - 1)) if quant.axis == 0 else ()
        scale, zero = (np.asarray(v, np.float32).reshape(shape) for v in (quant.scale, quant.zero))
        data = (data - zero) * scale
    data.flags.writeable = False
    return Value(replace(value.type, dtype=DType.F32, quant=None), data)
