"""Models in the format of ONNX Runtime, which saves them itself, and nets that its optimizer rewrites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from onnx import ModelProto, helper
from support import mutants
from support.onnx_models import model, node, tensor
from support.quantized_models import SCHEMES, Scheme, convolutions, quantized, residual
from support.tools import require_module

from edgekit.core.types import Array

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
BLOCKED = "NchwcTransformer"  # of x86: a layout that no other processor has


def saved(net: ModelProto, level: str, blocked: bool = False) -> bytes:
    """As the runtime saves a model that it has optimized."""
    ort = require_module("onnxruntime")
    with TemporaryDirectory() as folder:
        path = Path(folder, "net.ort")
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.optimized_model_filepath = str(path)
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        options.add_session_config_entry("session.save_model_format", "ORT")
        without = [] if blocked else [BLOCKED]
        ort.InferenceSession(
            net.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=without
        )
        return path.read_bytes()


def numbers(*shape: int) -> Array:
    return np.random.default_rng([len(shape), *shape]).standard_normal(shape).astype(np.float32)


def inputs(net: ModelProto) -> dict[str, Array]:
    """One sample."""
    rng = np.random.default_rng(1)
    made = {}
    for value in net.graph.input:
        kind = value.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        shape = [dim.dim_value or 1 for dim in kind.shape.dim]
        made[value.name] = (
            rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 4, shape)
        ).astype(dtype)
    return made


def activations() -> ModelProto:
    """Convolutions and products, each with an activation behind it, one of them with a sum between."""
    kinds: dict[str, dict[str, float]] = {
        "Relu": {},
        "LeakyRelu": {"alpha": 0.2},
        "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
        "Sigmoid": {},
        "Tanh": {},
    }
    nodes = [
        node("Conv", "x w b", "c0", pads=[1, 1, 1, 1]),
        node("Add", "c0 x", "s0"),
        node("Relu", "s0", "h0"),
    ]
    for i, (kind, attributes) in enumerate(kinds.items()):
        nodes += [node("Conv", f"h{i} w b", f"c{i + 1}", pads=[1, 1, 1, 1])]
        nodes += [node(kind, f"c{i + 1}", f"h{i + 1}", **attributes)]
    nodes += [node("Clip", f"h{len(kinds)} low high", "k"), node("Flatten", "k", "g0")]
    dense = {**kinds, "Elu": {"alpha": 0.5}, "Selu": {"alpha": 1.5}, "Softplus": {}, "Softsign": {}}
    dense |= {"ThresholdedRelu": {"alpha": 0.1}}
    for i, (kind, attributes) in enumerate(dense.items()):
        nodes += [node("Gemm", f"g{i} d{min(i, 1)} e", f"m{i}", transB=1, alpha=0.5)]
        nodes += [node(kind, f"m{i}", f"g{i + 1}", **attributes)]
    constants = {"w": numbers(4, 4, 3, 3) / 4, "b": numbers(4), "low": np.float32(-1), "high": np.float32(1)}
    constants |= {"d0": numbers(6, 144) / 9, "d1": numbers(6, 6), "e": numbers(6)}
    return model(nodes, constants, inputs=[tensor("x", [1, 4, 6, 6])], outputs=(f"g{len(dense)}",))


def products() -> ModelProto:
    """Transposes before products, which become settings of these, the batch among what is moved."""
    nodes = [
        node("Transpose", "x", "a", perm=[1, 2, 0, 3]),
        node("Transpose", "z", "b", perm=[1, 2, 3, 0]),
        node("MatMul", "a b", "p"),
        node("Mul", "p half", "q"),
        node("Transpose", "q", "r", perm=[0, 1, 3, 2]),
        node("MatMul", "r q", "s"),
        node("Transpose", "z", "c", perm=[1, 2, 0, 3]),
        node("Transpose", "p", "t", perm=[0, 1, 3, 2]),
        node("MatMul", "t p", "u"),
        node("Softmax", "u", "v"),
        node("Erf", "c", "y"),
    ]
    inputs = [tensor("x", [5, 2, 3, 4]), tensor("z", [6, 2, 3, 4])]
    return model(nodes, {"half": np.float32(0.5)}, inputs=inputs, outputs=("s", "v", "y"))


def branches() -> ModelProto:
    """A branch and a loop, whose graphs are attributes."""
    inner = [tensor("i", []), tensor("go", []), tensor("h", [2, 3])]
    inner[0].type.tensor_type.elem_type, inner[1].type.tensor_type.elem_type = 7, 9
    body = helper.make_graph(
        [node("Identity", "go", "more"), node("Mul", "h half", "h_next")],
        "body",
        inner,
        [tensor("more", [], 9), tensor("h_next", [2, 3])],
    )
    then, other = (
        helper.make_graph([node(op, "x", name)], name, [], [tensor(name, [2, 3])])
        for op, name in (("Sin", "a"), ("Cos", "b"))
    )
    nodes = [
        node("ReduceSum", "x", "sum", keepdims=0),
        node("Greater", "sum zero", "is_large"),
        node("If", "is_large", "f", then_branch=then, else_branch=other),
        node("Loop", "three yes f", "y", body=body),
    ]
    constants = {"zero": np.float32(0), "half": np.float32(0.5), "three": np.int64(3), "yes": np.array(True)}
    return model(nodes, constants)


def of_mutants(name: str) -> ModelProto:
    """A net that mutants of ONNX are made of."""
    made = ModelProto.FromString(mutants.models()[name])
    for output in made.graph.output:
        output.ClearField("type")  # the runtime infers it
    return made


def integers(make: Callable[[np.random.Generator], ModelProto], scheme: Scheme) -> ModelProto:
    return quantized(make(np.random.default_rng(1)), scheme)


# Those that the optimizer makes most of.
NETWORKS: Mapping[str, Callable[[], ModelProto]] = {
    "activations": activations,
    "products": products,
    "branches": branches,
    **{name: partial(of_mutants, name) for name in mutants.models()},
    **{f"convolutions {scheme}": partial(integers, convolutions, scheme) for scheme in SCHEMES[::5]},
    **{f"residual {scheme}": partial(integers, residual, scheme) for scheme in SCHEMES[::5]},
}


@cache
def network(name: str) -> ModelProto:
    return NETWORKS[name]()
