"""Single ONNX operators as test cases, judged by onnx's reference evaluator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from edgekit.core.types import Array


@dataclass(frozen=True, eq=False)
class NodeCase:
    """`inputs` in order, None where one is left out; `constant` counts those that are initializers."""

    op: str
    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any]
    opset: int
    outputs: int
    constant: tuple[int, ...]

    def __str__(self) -> str:
        shapes = ",".join("-" if x is None else f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        words = " ".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.op}-{self.opset} {shapes} {words}"


def node_case(
    op: str,
    *inputs: Any,
    opset: int = 21,
    outputs: int = 1,
    variable: Sequence[int] = (0,),
    **attributes: Any,
) -> NodeCase:
    """Lists become int64 tensors. `variable` are the inputs that are known at run time only: the first, if
    nothing is said."""
    arrays = tuple(None if x is None else np.asarray(x) for x in inputs)
    constant = tuple(i for i in range(len(arrays)) if i not in variable)
    return NodeCase(op, arrays, attributes, opset, outputs, constant)


def node_model(c: NodeCase) -> tuple[ModelProto, dict[str, Array]]:
    """The model of a case, and the values of its inputs."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(c.inputs)]
    outputs = [f"y{i}" for i in range(c.outputs)]
    given = {n: x for n, x in zip(names, c.inputs, strict=True) if x is not None}
    fixed = {names[i] for i in c.constant}
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in given.items()
        if n not in fixed
    ]
    graph = helper.make_graph(
        [helper.make_node(c.op, names, outputs, name=c.op, **c.attributes)],
        "node",
        infos,
        [helper.make_tensor_value_info(name, 1, None) for name in outputs],
        [numpy_helper.from_array(x, n) for n, x in given.items() if n in fixed],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", c.opset)], ir_version=10)
    return model, {n: x for n, x in given.items() if n not in fixed}


def reference(model: ModelProto, inputs: dict[str, Array]) -> list[Array]:
    """What onnx's evaluator makes of it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [np.asarray(y) for y in ReferenceEvaluator(model).run(None, inputs)]
