"""Refuses ONNX models that compute with the number of rows that NonMaxSuppression or NonZero selects.

Shapes are fixed here, so that `Shape` says how many rows there is room for. As the shape of what has such
rows that is right; everywhere else the number that is known at run time only was meant. Models that are
refused here are read with counted_rows.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import GraphProto, NodeProto

from edgekit.converters.onnx.check import label
from edgekit.converters.semantics.selected_rows import Found, SelectedRows, refusal, trace
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

_SAME = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")  # elements as the first operand has them
_CHOSEN = (*_SAME, "Concat", "Gather", "Min", "Slice")  # of the numbers there are
_BOUNDED = ("Slice", "TopK")  # go on with min(rows, bound) rows
_BRANCHES = ("If", "Loop", "Scan")
ASKS = ("Shape", "Size")  # ask for the shape of their operand


def checked(
    graph: GraphProto, tensors: Mapping[str, Tensor], builder: Builder, asked: Sequence[tuple[str, str]]
) -> Found:
    """The tensors with selected rows, if their number gets into no output, and decides about no other data.
    What is padded to a number of rows that is the same for any count is no longer among them. `asked` are
    nodes in bodies of functions and branches that ask for a shape, which are not followed, and its edge."""
    found = trace(builder)
    if not found:
        return found
    counts = _Counts(builder, tensors, found)
    for here, name in asked:
        if isinstance(rows := found.get(name), SelectedRows):
            raise counts.error("a result", here, rows)
    for i, node in enumerate(graph.node):
        counts.add(node, label(node, i))
    for value in graph.output:
        if value.name in counts.origins:
            raise counts.error(value.name, *counts.origins[value.name])
    for i, node in enumerate(graph.node):  # TopK took what it was given for rows
        x = tensors.get(node.input[0]) if node.op_type == "TopK" else None
        rows = found.get(x.name) if x and x.name not in counts.found else None
        if isinstance(rows, SelectedRows):
            raise counts.error(node.output[0], label(node, i), rows)
    return counts.found


@dataclass
class _Counts:
    """Which elements of constants depend on a number of rows, and the node and rows that they come from."""

    builder: Builder
    tensors: Mapping[str, Tensor]
    found: Found
    masks: dict[str, Array] = field(default_factory=dict)
    origins: dict[str, tuple[str, SelectedRows]] = field(default_factory=dict)
    computed: set[str] = field(default_factory=set)  # constants that are no such number, nor a bound of it
    padded: set[str] = field(default_factory=set)  # tensors with a number of rows that does not depend on any

    def add(self, node: NodeProto, here: str) -> None:
        if node.op_type == "Pad":
            self._pad(node, here)
        asked = self._rows(node) if node.op_type in ASKS else None
        origins = [self.origins[name] for name in node.input if name in self.origins]
        if asked:
            origins = [(here, asked)]
        if not origins:
            return
        for name in node.output:
            x = self.tensors.get(name)
            if x is None:
                continue
            if x.data is None:
                follows = x.name in self.padded or isinstance(self.found.get(x.name), SelectedRows)
                bounded = node.op_type in _BOUNDED and not self.computed.isdisjoint(node.input)
                if node.op_type in _BRANCHES or bounded or not follows:
                    raise self.error(name, *origins[0])
                continue
            depends = self._asked(node, asked) if asked else self._kept(node, x.shape)
            if depends.any():
                if not asked and (node.op_type not in _CHOSEN or not self.computed.isdisjoint(node.input)):
                    self.computed.add(name)
                self.masks[name], self.origins[name] = depends, origins[0]

    def _rows(self, node: NodeProto) -> SelectedRows | None:
        """The selected rows of the first operand."""
        x = self.tensors.get(node.input[0]) if node.input else None
        rows = self.found.get(x.name) if x else None
        return rows if isinstance(rows, SelectedRows) else None

    def _pad(self, node: NodeProto, here: str) -> None:
        """Rows may be padded to a fixed number of them."""
        rows, y = self._rows(node), self.tensors.get(node.output[0])
        if rows is None or y is None:
            return
        own = {a.name: a for a in node.attribute}
        operands = [*node.input, "", "", ""]
        pads, _, axes = (self._data(name) for name in operands[1:4])
        amounts = np.asarray(own["pads"].ints) if pads is None and "pads" in own else pads
        along = range(y.rank) if axes is None else [int(a) % y.rank for a in axes.reshape(-1)]
        if amounts is None or rows.axis not in along:
            return
        at = list(along).index(rows.axis)
        counts = np.zeros(amounts.shape, bool) if pads is None else self._mask(node.input[1])
        if counts[at + len(along)]:
            self.padded.add(y.name)
            self.found = trace(self.builder, self.padded)
        elif amounts[[at, at + len(along)]].any():
            raise self.error(node.output[0], here, rows)

    def _data(self, name: str) -> Array | None:
        return self.tensors[name].data if name in self.tensors else None

    def _asked(self, node: NodeProto, rows: SelectedRows) -> Array:
        """Of a node that asks for the shape of rows, which numbers of the answer count them."""
        if node.op_type == "Size":
            return np.ones((), bool)
        given = {a.name: a.i for a in node.attribute}
        counted: Array = np.arange(self.tensors[node.input[0]].rank) == rows.axis
        return counted[slice(given.get("start", 0), given.get("end"))]

    def _kept(self, node: NodeProto, shape: Sequence[int]) -> Array:
        """Which elements of a constant depend on a number of rows."""
        masks = [self._mask(name) for name in node.input]
        if node.op_type in _SAME and not any(mask.any() for mask in masks[1:]):
            return masks[0].reshape(shape)
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        if node.op_type == "Concat":
            return np.concatenate(masks, axis)
        if node.op_type == "Gather" and masks[0].ndim == 1 and not masks[1].any():
            index = self.tensors[node.input[1]].data
            assert index is not None, "the index of a constant is one"
            return np.asarray(masks[0][index])
        return np.ones(shape, bool)

    def _mask(self, name: str) -> Array:
        if name in self.masks or name not in self.tensors:
            return self.masks.get(name, np.zeros((), bool))
        return np.zeros(self.tensors[name].shape, bool)

    def error(self, name: str, origin: str, rows: SelectedRows) -> EdgeKitError:
        message = (
            f"{name} depends on how many rows {rows.by} selects, which a shape of fixed size does not say"
        )
        return refusal(self.builder, rows, message, f"node {origin}")
