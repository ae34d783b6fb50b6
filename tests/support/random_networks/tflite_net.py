"""A TFLite network in the making: operators of the one-operator cases, joined, and layers in a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from support.random_networks.trial import MAX_ELEMENTS, MAX_MAGNITUDE, NOISE, UnfitError
from support.tflite_writer import Operator, Tensor, constant, model, network
from tflite.litert import litert

from edgekit.core.types import Array

Rng = np.random.Generator

# Jump where their operand hardly changes: they get inputs of the network, which are exact.
JUMPS = frozenset(
    [
        "ARG_MAX",
        "ARG_MIN",
        "TOPK_V2",
        "FLOOR",
        "CEIL",
        "ROUND",
        "FLOOR_MOD",
        "EQUAL",
        "NOT_EQUAL",
        "LESS",
        "LESS_EQUAL",
        "GREATER",
        "GREATER_EQUAL",
        "CAST",
        "QUANTIZE",
    ]
)
# Nothing is rounded.
MOVES = frozenset(
    [
        "RESHAPE",
        "SLICE",
        "STRIDED_SLICE",
        "TILE",
        "PAD",
        "PADV2",
        "MIRROR_PAD",
        "TRANSPOSE",
        "CONCATENATION",
        "PACK",
        "UNPACK",
        "SPLIT",
        "SPLIT_V",
        "GATHER",
        "GATHER_ND",
        "REVERSE_V2",
        "SQUEEZE",
        "EXPAND_DIMS",
        "BROADCAST_TO",
        "SPACE_TO_DEPTH",
        "DEPTH_TO_SPACE",
        "SPACE_TO_BATCH_ND",
        "BATCH_TO_SPACE_ND",
        "SELECT",
        "SELECT_V2",
        "ABS",
        "NEG",
        "RELU",
        "MAXIMUM",
        "MINIMUM",
        "REDUCE_MAX",
        "REDUCE_MIN",
        "MAX_POOL_2D",
    ]
)
# The reference kernels lack these, or are wrong: networks with one of them are run by LiteRT's other kernels.
NOT_IN_REFERENCE = frozenset({"CEIL", "ROUND", "BROADCAST_TO", "LOCAL_RESPONSE_NORMALIZATION"})
_MIN_VALUES = 6  # that a tensor must hold to be worth computing with


@dataclass(frozen=True)
class Made:
    """A tensor of the network, what it holds, and whether every implementation gets its bits."""

    tensor: Tensor
    data: Array
    exact: bool


class TfliteNet:
    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.ops: list[Operator] = []
        self.inputs: list[Made] = []
        self.made: list[Made] = []

    def input(self, tensor: Tensor, data: Array) -> Tensor:
        found = Made(tensor, data, exact=True)
        self.inputs.append(found)
        self.made.append(found)
        return tensor

    def find(self, tensor: Tensor) -> Made:
        return next(m for m in self.made if m.tensor is tensor)

    def pick(self, fits: Callable[[Made], bool]) -> Made:
        """One of the tensors that fit, mostly a new one."""
        fitting = [m for m in self.made if fits(m) and m.data.size]
        if not fitting:
            raise UnfitError
        return fitting[-min(int(self.rng.geometric(0.5)), len(fitting))]

    def add(self, op: Operator) -> list[Tensor]:
        """Add an operator, unless LiteRT refuses it or its results are of no use."""
        given = [self.find(t) for t in op.inputs if t is not None and t.data is None and not t.variable]
        alone = replace(op, inputs=[_copy(t) for t in op.inputs])  # the writer makes each operand an input
        try:
            results = litert(model(alone), [m.data for m in given], reference=op.kind not in NOT_IN_REFERENCE)
        except (RuntimeError, ValueError):
            raise UnfitError from None
        for result in results:
            if "SELECT" in op.kind and result.size == 1:
                raise UnfitError  # LiteRT leaves the shape as the file has it, whatever the operands'
            if not 0 < result.size <= MAX_ELEMENTS or result.ndim > 5:
                raise UnfitError
            if result.dtype.kind == "f" and not (np.abs(result) <= MAX_MAGNITUDE).all():
                raise UnfitError
        outputs = [replace(t, shape=tuple(y.shape)) for t, y in zip(op.outputs, results, strict=True)]
        self.ops.append(replace(op, outputs=outputs))
        exact = all(m.exact for m in given) and (
            op.kind in MOVES and not op.values.get("fusedActivationFunction")
        )
        for tensor, y in zip(outputs, results, strict=True):
            self.made.append(Made(tensor, y, exact or y.dtype.kind != "f"))
        return outputs

    def moved(self, op: Operator, data: Array, exact: bool) -> Tensor:
        """Add an operator whose result is known."""
        self.ops.append(op)
        self.made.append(Made(op.outputs[0], data, exact))
        return op.outputs[0]

    def adapted(self, source: Made, wanted: Tensor) -> Tensor:
        """The elements of a tensor, repeated or cut, in the shape and the scale of another."""
        size = int(np.prod(wanted.shape, dtype=int))
        x, data, exact = source.tensor, source.data, source.exact

        def like(shape: Sequence[int]) -> Tensor:
            return replace(source.tensor, shape=tuple(shape), data=None)

        def reshaped(shape: tuple[int, ...]) -> Tensor:
            operator = Operator(
                "RESHAPE", [x, constant(shape)], [like(shape)], "ReshapeOptions", {"newShape": shape}
            )
            return self.moved(operator, data.reshape(shape), exact)

        if data.size != size:
            x, data = reshaped((data.size,)), data.reshape(-1)
            if data.size < size:
                times = -(-size // data.size)
                data = np.tile(data, times)
                x = self.moved(Operator("TILE", [x, constant([times])], [like(data.shape)]), data, exact)
            if data.size > size:
                start = int(self.rng.integers(0, data.size - size + 1))
                data = data[start : start + size]
                operands = [x, constant([start]), constant([size])]
                x = self.moved(Operator("SLICE", operands, [like((size,))], "SliceOptions"), data, exact)
        if data.shape != wanted.shape:
            x, data = reshaped(wanted.shape), data.reshape(wanted.shape)
        if (x.scale, x.zero) != (wanted.scale, wanted.zero):
            if x.dtype == "int16" and x.zero != (0,):  # a softmax; nothing takes it but floats
                raise UnfitError
            y = replace(wanted, data=None)
            x = self.moved(Operator("QUANTIZE", [x], [y]), rescaled(data, x, wanted), exact=True)
        return x

    def attempt(self, step: Callable[[TfliteNet], None]) -> bool:
        """Take a step, or leave everything as it was."""
        before = len(self.ops), list(self.inputs), list(self.made)
        try:
            step(self)
        except UnfitError:
            count, self.inputs, self.made = before
            del self.ops[count:]
            return False
        return True

    @property
    def reference(self) -> bool:
        """Have LiteRT's reference kernels all operators?"""
        return not any(op.kind in NOT_IN_REFERENCE for op in self.ops)

    def content(self, outputs: Sequence[Tensor]) -> bytes:
        return network(self.ops, [m.tensor for m in self.inputs], outputs)

    def noisy(self, outputs: Sequence[Tensor], seed: int) -> bytes:
        """The same network, each float that is rounded changed by some units in its last place."""
        rng = np.random.default_rng(seed)
        exact = {id(m.tensor): m.exact for m in self.made}
        ops = []
        for op in self.ops:
            rounded = [t for t in op.outputs if t.dtype == "float32" and not exact[id(t)]]
            clean = {id(t): replace(t) for t in rounded}
            ops.append(replace(op, outputs=[clean.get(id(t), t) for t in op.outputs]))
            for t in rounded:
                noise = constant(1 + rng.uniform(-NOISE, NOISE, t.shape), "float32")
                ops.append(Operator("MUL", [clean[id(t)], noise], [t], "MulOptions"))
        return network(ops, [m.tensor for m in self.inputs], outputs)

    def loose_ends(self) -> list[Tensor]:
        read = {id(t) for op in self.ops for t in op.inputs}
        return [t for op in self.ops for t in op.outputs if id(t) not in read]


def _copy(t: Tensor | None) -> Tensor | None:
    return t if t is None else replace(t)


def rescaled(data: Array, old: Tensor, new: Tensor) -> Array:
    """About what QUANTIZE makes of integers: exact enough to see whether anything is left of them."""
    info = np.iinfo(new.dtype)
    real = (data.astype(float) - old.zero[0]) * old.scale[0]
    return np.clip(np.rint(real / new.scale[0]) + new.zero[0], info.min, info.max).astype(new.dtype)


def varied(data: Array) -> bool:
    return np.unique(data).size >= min(_MIN_VALUES, data.size)
