"""What units cost: multiplications or bytes of weights, for any number of units left in each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edgekit.ir import Array
from edgekit.quantize.pruning.groups import Network

Unit = Literal["macs", "weights"]


@dataclass(frozen=True)
class Cost:
    """A sum over layers, each in proportion to the shares of its inputs and outputs that are left."""

    full: Array  # [layers]
    inputs: Array  # [layers, groups]: the share of a layer's inputs that a group is
    outputs: Array

    @staticmethod
    def of(network: Network, unit: Unit) -> Cost:
        graph, rows = network.graph, []
        for name, layer in network.layers.items():
            node = graph.producer(name)
            assert node is not None
            types = [graph.type(n) for n in node.inputs]
            full = node.op.macs(*types) if unit == "macs" else layer.w.size
            x, y = node.inputs[0], name
            ins = [_share(group.cells, x, types[0].shape[-1]) for group in network.groups]
            outs = [_share(group.cells, y, layer.w.shape[0]) for group in network.groups]
            # A depthwise layer has one input for each output: it shrinks once.
            rows.append((full, [0.0] * len(ins) if layer.is_depthwise else ins, outs))
        groups = len(network.groups)
        return Cost(
            np.array([row[0] for row in rows], np.float64),
            np.array([row[1] for row in rows]).reshape(-1, groups),
            np.array([row[2] for row in rows]).reshape(-1, groups),
        )

    def __call__(self, gone: Array) -> float:
        """With these shares of each group gone."""
        left = (1 - self.inputs @ gone) * (1 - self.outputs @ gone)
        return float(self.full @ left)


def _share(cells: Mapping[str, Array], name: str, channels: int) -> float:
    return cells[name].size / channels if name in cells else 0.0
