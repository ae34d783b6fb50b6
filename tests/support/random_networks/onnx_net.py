"""An ONNX network in the making: every node is run by ONNX Runtime as soon as it is added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from support.random_models import Dice
from support.random_networks.trial import MAX_ELEMENTS, MAX_MAGNITUDE, NOISE, RuntimeRefusalError, UnfitError
from support.tools import require_module

from edgekit.core.types import Array

# Results are the same bits in every implementation if the operands are: nothing is rounded.
EXACT = frozenset(
    [
        "Abs",
        "And",
        "ArgMax",
        "ArgMin",
        "BitShift",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "Cast",
        "Ceil",
        "CenterCropPad",
        "Clip",
        "Compress",
        "Concat",
        "ConstantOfShape",
        "DepthToSpace",
        "Equal",
        "Expand",
        "EyeLike",
        "Flatten",
        "Floor",
        "Gather",
        "GatherElements",
        "GatherND",
        "Greater",
        "GreaterOrEqual",
        "GlobalMaxPool",
        "Hardmax",
        "Identity",
        "IsInf",
        "IsNaN",
        "Less",
        "LessOrEqual",
        "Max",
        "MaxPool",
        "Min",
        "Neg",
        "Not",
        "OneHot",
        "Or",
        "Pad",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "Reshape",
        "ReverseSequence",
        "Round",
        "ScatterElements",
        "ScatterND",
        "Shape",
        "Sign",
        "Size",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "TopK",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Where",
        "Xor",
        "Dropout",
    ]
)
# Jump where their operand hardly changes: they get only operands that are exact.
JUMPS = frozenset(
    [
        "ArgMax",
        "ArgMin",
        "Ceil",
        "Equal",
        "Floor",
        "Greater",
        "GreaterOrEqual",
        "Hardmax",
        "Less",
        "LessOrEqual",
        "Mod",
        "Round",
        "Shrink",
        "Sign",
        "ThresholdedRelu",
        "TopK",
    ]
)
# Lose the last places of small results in ONNX Runtime: exp(x) - 1 where x is near 0, and a tanh and a
# sigmoid that are quotients of polynomials: 1 / (1 + e^8.7) is a 1/8000 off. So the noise in these results
# is not relative to them.
CANCELS = frozenset(["Celu", "Elu", "Selu", "Sigmoid", "GRU", "LSTM", "RNN"])


class OnnxNet:
    """Nodes so far, and the value of each edge for the inputs of the test."""

    def __init__(self, dice: Dice, opset: int) -> None:
        self.dice, self.opset = dice, opset
        self.nodes: list[NodeProto] = []
        self.inputs: dict[str, Array] = {}
        self.constants: dict[str, Array] = {}
        self.made: dict[str, Array] = {}  # inputs and results, the newest last
        self.exact: set[str] = set()
        self.may_be_empty = False  # results, for now

    def input(self, data: Array) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.made[name] = data
        self.exact.add(name)
        return name

    def const(self, data: Any, dtype: Any = None) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(data, dtype)
        self.exact.add(name)
        return name

    def normal(self, *shape: int, scale: float = 1.0) -> str:
        return self.const(self.dice.normal(*shape) * np.float32(scale))

    def ints(self, data: Any) -> str:
        return self.const(data, np.int64)

    def value(self, name: str) -> Array:
        return self.constants[name] if name in self.constants else self.made[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return self.value(name).shape

    def pick(
        self, fits: Callable[[Array], bool] = lambda _: True, dtype: Any = np.float32, exact: bool = False
    ) -> str:
        """One of the values that fit, mostly a new one: deep networks have more to simplify."""
        names = [
            name
            for name, v in self.made.items()
            if v.dtype == dtype and v.size and fits(v) and (not exact or name in self.exact)
        ]
        if not names:
            raise UnfitError
        back = min(int(self.dice.rng.geometric(0.5)), len(names))
        return names[-back]

    def rank(self, *ranks: int, exact: bool = False) -> str:
        return self.pick(lambda v: v.ndim in ranks, exact=exact)

    def add(self, op: str, *operands: str, **attributes: Any) -> str:
        return self.add_all(op, *operands, **attributes)[0]

    def add_all(
        self,
        op: str,
        *operands: str,
        outputs: int = 1,
        domain: str = "",
        reads: Sequence[str] = (),
        **attributes: Any,
    ) -> list[str]:
        """Add a node, unless ONNX Runtime refuses it or its results are of no use. Graphs within it `read`
        values besides its operands."""
        exact = all(name in self.exact for name in operands if name)
        jumps = op in JUMPS or (
            op == "Cast" and attributes["to"] not in (TensorProto.FLOAT, TensorProto.DOUBLE)
        )
        if jumps and not exact:
            raise UnfitError
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(
            op, operands, names, name=f"{op}_{len(self.nodes)}", domain=domain, **attributes
        )
        results = self._run(node, reads)
        for result in results:
            if not (0 if self.may_be_empty else 1) <= result.size <= MAX_ELEMENTS or result.ndim > 6:
                raise UnfitError
            if result.dtype.kind == "f" and not (np.abs(result) <= MAX_MAGNITUDE).all():
                raise UnfitError
        self.nodes.append(node)
        self.made |= dict(zip(names, results, strict=True))
        integers = all(result.dtype.kind in "iub" for result in results)
        if exact and (
            op in EXACT or (integers and all(self.value(n).dtype.kind in "iub" for n in operands if n))
        ):
            self.exact |= set(names)
        return names

    def _run(self, node: NodeProto, reads: Sequence[str]) -> list[Array]:
        names = [name for name in dict.fromkeys([*node.input, *reads]) if name]
        feeds = {name: self.value(name) for name in names}
        # What is constant in the network is constant here: operators refuse some operands that are not.
        given = {name: x for name, x in feeds.items() if name not in self.constants}
        held = {name: x for name, x in feeds.items() if name in self.constants}
        try:
            return run(_model([node], given, held, list(node.output), self.opset), [given])[0]
        except RuntimeRefusalError:
            raise UnfitError from None

    def attempt(self, step: Callable[[OnnxNet], None]) -> bool:
        """Take a step, or leave everything as it was."""
        before = len(self.nodes), dict(self.made), dict(self.constants), set(self.exact)
        try:
            step(self)
        except UnfitError:
            count, self.made, self.constants, self.exact = before
            del self.nodes[count:]
            return False
        return True

    def model(self, outputs: Sequence[str]) -> ModelProto:
        return _model(self.nodes, self.inputs, self.constants, outputs, self.opset)

    def noisy_model(self, outputs: Sequence[str], seed: int) -> ModelProto:
        """The same network, each result that is rounded changed by some units in its last place."""
        rng = np.random.default_rng(seed)
        nodes: list[NodeProto] = []
        noise: dict[str, Array] = {}
        for node in self.nodes:
            floats = [n for n in node.output if n and self.made[n].dtype.kind == "f"]
            rounded = [n for n in floats if n not in self.exact]
            copy = NodeProto.FromString(node.SerializeToString())
            copy.output[:] = [f"{name}_" if name in rounded else name for name in node.output]
            nodes.append(copy)
            for name in rounded:
                x = self.made[name]
                units = rng.uniform(-NOISE, NOISE, x.shape)
                off = units if node.op_type in CANCELS else x * units
                noise[f"{name}_noise"] = off.astype(x.dtype)
                nodes.append(helper.make_node("Add", [f"{name}_", f"{name}_noise"], [name]))
        return _model(nodes, self.inputs, self.constants | noise, outputs, self.opset)

    def loose_ends(self) -> list[str]:
        """Results that no node reads."""
        read = {name for node in self.nodes for name in node.input}
        return [name for node in self.nodes for name in node.output if name not in read]


def _model(
    nodes: Sequence[NodeProto],
    inputs: dict[str, Array],
    constants: dict[str, Array],
    outputs: Sequence[str],
    opset: int,
) -> ModelProto:
    """A model of these nodes alone."""
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in inputs.items()
    ]
    ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
    held = [numpy_helper.from_array(data, name) for name, data in constants.items()]
    graph = helper.make_graph(nodes, "net", values, ends, held)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 21 else 10
    )


def run(proto: ModelProto, feeds: Sequence[dict[str, Array]], optimized: bool = False) -> list[list[Array]]:
    """What ONNX Runtime computes, node by node as the file says, or as its optimizations have it."""
    ort = require_module("onnxruntime")
    faults = require_module("onnxruntime.capi.onnxruntime_pybind11_state")
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    known = (
        faults.Fail,
        faults.InvalidArgument,
        faults.InvalidGraph,
        faults.NotImplemented,
        faults.RuntimeException,
    )
    try:
        session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return [[np.asarray(y) for y in session.run(None, feed)] for feed in feeds]
    except known as fault:
        raise RuntimeRefusalError(str(fault)) from None
