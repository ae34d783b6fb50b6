"""Rows of which inputs decide how many there are: ONNX Runtime's, and EdgeKit's cut by their counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto
from support.tools import require_module

from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.onnx_backend import counted


def runtime(proto: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """What ONNX Runtime computes."""
    typed = ModelProto.FromString(proto.SerializeToString())
    for value in typed.graph.output:
        value.ClearField("type")  # it is inferred
    session = require_module("onnxruntime").InferenceSession(typed.SerializeToString())
    return list(session.run(None, dict(inputs)))


def of_onnx(graph: Graph, results: Mapping[str, Array], names: Sequence[str]) -> list[Array]:
    """Outputs without unused rows, which are 0."""
    for rows in graph.source.counted_rows:
        count = int(results[rows.count][0])
        assert not np.delete(results[rows.output], range(count), rows.axis).any()
    return [counted(graph, results, name) for name in names]
