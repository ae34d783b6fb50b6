"""Functions of keras.ops on tensors: arithmetic, activations, shapes, reductions."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence

import numpy as np

from edgekit.converters.keras.ops import activations
from edgekit.converters.semantics import compose
from edgekit.converters.semantics.aten import logic, reduce
from edgekit.converters.semantics.movement import cast, part
from edgekit.converters.semantics.onnx import activations as onnx_activations
from edgekit.converters.semantics.onnx import elementwise
from edgekit.converters.semantics.onnx import shape as onnx_shape
from edgekit.converters.semantics.onnx.shape import unsqueeze
from edgekit.converters.tensor import Operand, Tensor, concat
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Pow
from edgekit.core.types import DType

Axes = int | tuple[int, ...] | None


def _binary(pair: Callable[[Tensor, Operand], Tensor]) -> Callable[..., Tensor]:
    """A handler of two operands, one of which may be a number."""

    def handler(x1: Operand, x2: Operand) -> Tensor:
        if isinstance(x1, Tensor):
            return pair(x1, x2)
        if isinstance(x2, Tensor):
            return pair(x2.like(x1), x2)
        raise EdgeKitError("E0401", "takes a tensor")

    return handler


def _unary(step: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def handler(x: Tensor) -> Tensor:
        return step(x)

    return handler


def _reduction(kind: str) -> Callable[..., Tensor]:
    def handler(x: Tensor, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
        axes = range(x.rank) if axis is None else (axis,) if isinstance(axis, int) else axis
        return compose.reduce(x, kind, axes, keepdims)

    return handler


def _some(reduction: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def handler(x: Tensor, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return reduction(x, dim=axis, keepdim=keepdims)

    return handler


def _tensor(x: Tensor, value: Operand) -> Tensor:
    return value if isinstance(value, Tensor) else x.like(value)


def _named(name: str) -> Callable[..., Tensor]:
    """A handler of an activation function."""

    def handler(x: Tensor) -> Tensor:
        return activations.Activation(x, activation=name)

    return handler


Add = _binary(lambda a, b: a + b)
Subtract = _binary(lambda a, b: a - b)
Multiply = _binary(lambda a, b: a * b)
Divide = TrueDivide = _binary(lambda a, b: a / b)
Maximum = _binary(Tensor.max)
Minimum = _binary(Tensor.min)
Power = _binary(lambda a, b: a * a if b == 2 else a.apply(Pow(), b))

Equal = _binary(lambda a, b: logic.eq(a, other=b))
NotEqual = _binary(lambda a, b: logic.ne(a, other=b))
Less = _binary(lambda a, b: logic.lt(a, other=b))
LessEqual = _binary(lambda a, b: logic.le(a, other=b))
Greater = _binary(lambda a, b: logic.gt(a, other=b))
GreaterEqual = _binary(lambda a, b: logic.ge(a, other=b))
LogicalAnd = _binary(lambda a, b: logic.logical_and(a, other=_tensor(a, b)))
LogicalOr = _binary(lambda a, b: logic.logical_or(a, other=_tensor(a, b)))
LogicalNot = _unary(logic.logical_not)

Negative = _unary(elementwise.Neg)
Absolute = Abs = _unary(elementwise.Abs)
Sqrt = _unary(elementwise.Sqrt)
Rsqrt = _unary(lambda x: 1 / elementwise.Sqrt(x))
Square = _unary(lambda x: x * x)
Exp = _unary(elementwise.Exp)
Log = _unary(elementwise.Log)
Erf = _unary(elementwise.Erf)
Sin = _unary(elementwise.Sin)
Cos = _unary(elementwise.Cos)
Floor = _unary(elementwise.Floor)
Ceil = _unary(elementwise.Ceil)
Reciprocal = _unary(elementwise.Reciprocal)

Mean = _reduction("mean")
Sum = _reduction("sum")
Max = _reduction("max")
Min = _reduction("min")
Prod = _reduction("prod")

Any = _some(reduce.any)
All = _some(reduce.all)

Relu = _named("relu")
Relu6 = _named("relu6")
Sigmoid = _named("sigmoid")
HardSigmoid = _named("hard_sigmoid")
HardSilu = HardSwish = _named("hard_silu")
Silu = Swish = _named("silu")
Tanh = _named("tanh")
Softplus = _named("softplus")
Softsign = _named("softsign")
Selu = _named("selu")
Mish = _named("mish")


def Gelu(x: Tensor, *, approximate: bool = True) -> Tensor:
    return onnx_activations.Gelu(x, approximate="tanh" if approximate else "none")


def LeakyRelu(x: Tensor, *, negative_slope: float = 0.2) -> Tensor:
    return activations.LeakyReLU(x, negative_slope=negative_slope)


def Elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return activations.ELU(x, alpha=alpha)


def Softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return compose.softmax(x, axis)


def Clip(x: Tensor, *, x_min: float, x_max: float) -> Tensor:
    return x.clip(x_min, x_max)


def ZerosLike(x: Tensor, *, dtype: str = "") -> Tensor:
    return _filled(x, 0, dtype)


def OnesLike(x: Tensor, *, dtype: str = "") -> Tensor:
    return _filled(x, 1, dtype)


def _filled(x: Tensor, value: float, dtype: str) -> Tensor:
    filled = x.like(np.full(x.shape, value))
    return Cast(filled, dtype=dtype) if dtype else filled


def Cast(x: Tensor, *, dtype: str) -> Tensor:
    by_name = {str(d.numpy): d for d in DType}
    if dtype not in by_name:
        raise EdgeKitError("E0204", f"elements of type {dtype} are not supported")
    return cast(x, by_name[dtype])


def Matmul(x1: Tensor, x2: Tensor) -> Tensor:
    return compose.matmul(x1, x2)


def Reshape(x: Tensor, *, newshape: tuple[int | None, ...]) -> Tensor:
    """A dimension that is not known yet is the batch."""
    dims = [-1 if n is None else n for n in newshape]
    if dims.count(-1) > 1 and dims[0] == -1:
        dims[0] = x.shape[0]
    if dims.count(-1) == 1:
        known = 1
        for n in dims:
            known *= n if n != -1 else 1
        dims[dims.index(-1)] = x.type.size // known if known else 0
    return x.reshape(*dims)


def Transpose(x: Tensor, *, axes: tuple[int, ...] | None = None) -> Tensor:
    order = tuple(range(x.rank))[::-1] if axes is None else tuple(x.axis(a) for a in axes)
    if sorted(order) != list(range(x.rank)):
        raise EdgeKitError("E0401", f"transpose {list(order)[:8]} of {x.type}")
    return x.transpose(*order)


def ExpandDims(x: Tensor, *, axis: int | tuple[int, ...]) -> Tensor:
    return unsqueeze(x, (axis,) if isinstance(axis, int) else axis)


def Squeeze(x: Tensor, *, axis: Axes = None) -> Tensor:
    return onnx_shape.Squeeze(x, axes=(axis,) if isinstance(axis, int) else axis)


def Concatenate(xs: Sequence[Tensor], *, axis: int = 0) -> Tensor:
    return concat(xs, axis)


def Stack(xs: Sequence[Tensor], *, axis: int = 0) -> Tensor:
    return concat([unsqueeze(x, [axis]) for x in xs], axis)


def Split(x: Tensor, *, indices_or_sections: int | tuple[int, ...], axis: int = 0) -> list[Tensor]:
    at = x.axis(axis)
    n = x.shape[at]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or n % indices_or_sections:
            raise EdgeKitError("E0401", f"{n} cells do not split into {indices_or_sections}")
        size = n // indices_or_sections
        edges = [i * size for i in range(indices_or_sections)]
    else:
        edges = [0, *indices_or_sections]
    ends = [*edges[1:], n]
    if edges != sorted(edges) or edges[-1] > n:
        raise EdgeKitError("E0401", f"{n} cells split at {edges[:8]}")
    return [part(x, at, a, b - a) for a, b in zip(edges, ends, strict=True)]


def GetItem(x: Tensor, key: typing.Any) -> Tensor:
    """x[key]: numbers, slices and None by dimension."""
    keys = list(key) if isinstance(key, list | tuple) else [key]
    axis = 0
    for one in keys:
        if one is None:
            x, axis = unsqueeze(x, [axis]), axis + 1
        elif isinstance(one, slice):
            cells = range(*one.indices(x.shape[axis]))
            x, axis = part(x, axis, cells.start, len(cells), cells.step), axis + 1
        elif type(one) is int:
            n = x.shape[axis]
            if not -n <= one < n:
                raise EdgeKitError("E0401", f"place {one} is outside of {x.type}")
            x = onnx_shape.Squeeze(part(x, axis, one % n, 1), axes=(axis,))
        else:
            raise EdgeKitError("E0203", f"an index of {type(one).__name__} is not supported")
    return x
