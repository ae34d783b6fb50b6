"""Activations, arithmetic, logic: primitives on single elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgekit.converters.mindir.file import dtype_of as _dtype_of
from edgekit.converters.semantics.aten import activations as _activations
from edgekit.converters.semantics.aten import arithmetic as _torch
from edgekit.converters.semantics.aten import logic as _logic
from edgekit.converters.semantics.aten.type_promotion import Number, Operand
from edgekit.converters.semantics.compose import log_softmax as _log_softmax
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.compose import softmax as _softmax
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.semantics.onnx import elementwise as _math
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt as _Sqrt


def _function(apply: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def handler(x: Tensor) -> Tensor:
        return apply(x)

    return handler


def _pair(apply: Callable[..., Tensor]) -> Callable[[Operand, Operand], Tensor]:
    def handler(x: Operand, y: Operand) -> Tensor:
        return apply(x, other=y)

    return handler


Abs = _function(_math.Abs)
ACos = _function(_torch.acos)
Acosh = _function(_torch.acosh)
Asin = _function(_torch.asin)
Asinh = _function(_torch.asinh)
Atan = _function(_torch.atan)
Atanh = _function(_torch.atanh)
Ceil = _function(_torch.ceil)
Cos = _function(_torch.cos)
Cosh = _function(_torch.cosh)
Erf = _function(_torch.erf)
Exp = _function(_torch.exp)
Expm1 = _function(_torch.expm1)
Floor = _function(_torch.floor)
Log1p = _function(_torch.log1p)
Neg = _function(_torch.neg)
Reciprocal = Inv = _function(_torch.reciprocal)
Rsqrt = _function(_torch.rsqrt)
Sign = _function(_math.Sign)
Sin = _function(_torch.sin)
Sinh = _function(_torch.sinh)
Sqrt = _function(_torch.sqrt)
Square = _function(_torch.square)
Tan = _function(_torch.tan)
Trunc = _function(_torch.trunc)

HSigmoid = HSigmoidExt = _function(_activations.hardsigmoid)
HSwish = _function(_onnx.HardSwish)
LogSigmoid = _function(_activations.log_sigmoid)
Mish = MishExt = _function(_onnx.Mish)
ReLU = _function(_onnx.Relu)
ReLU6 = _function(_activations.relu6)
SeLU = SeLUExt = _function(_onnx.Selu)
Sigmoid = _function(_onnx.Sigmoid)
SiLU = _function(_onnx.Swish)
Softsign = _function(_onnx.Softsign)
Tanh = _function(_onnx.Tanh)

Add = Adds = _pair(_torch.add)
Sub = Subs = _pair(_torch.sub)
Mul = Muls = InplaceMul = _pair(_torch.mul)
Div = Divs = RealDiv = InplaceDiv = _pair(_torch.div)
FloorDiv = _pair(_torch.floor_divide)
FloorMod = RemainderTensorScalar = RemainderTensorTensor = _pair(_torch.remainder)
Mod = _pair(_torch.fmod)
Maximum = _pair(_torch.maximum)
Minimum = _pair(_torch.minimum)
Equal = EqScalar = _pair(_logic.eq)
NotEqual = NeScalar = _pair(_logic.ne)
Less = LessScalar = _pair(_logic.lt)
LessEqual = LessEqualScalar = _pair(_logic.le)
Greater = GreaterScalar = _pair(_logic.gt)
GreaterEqual = GreaterEqualScalar = _pair(_logic.ge)
LogicalAnd = _pair(_logic.logical_and)
LogicalOr = _pair(_logic.logical_or)
LogicalXor = _pair(_logic.logical_xor)
LogicalNot = _function(_logic.logical_not)
IsNan = _function(_logic.isnan)
IsInf = _function(_logic.isinf)


def AddExt(x: Operand, y: Operand, alpha: Number = 1) -> Tensor:
    return _torch.add(x, other=y, alpha=alpha)


AddScalar = InplaceAddExt = AddExt


def SubExt(x: Operand, y: Operand, alpha: Number = 1) -> Tensor:
    return _torch.sub(x, other=y, alpha=alpha)


SubScalar = InplaceSubExt = SubExt


def AddN(x: Sequence[Tensor]) -> Tensor:
    first, *rest = x
    for other in rest:
        first = first + other
    return first


def Pow(x: Operand, y: Operand) -> Tensor:
    if isinstance(y, Tensor) and y.data is not None and y.type.size == 1:
        return _torch.pow(x, exponent=y.data.reshape(()).item())
    return _torch.pow(x, exponent=y)


PowTensorScalar = PowScalarTensor = Pow


def Log(x: Tensor, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0) -> Tensor:
    if (base, scale, shift) != (-1, 1, 0):
        raise EdgeKitError("E0203", f"logarithms of base {base} are not supported")
    return _torch.log(x)


def Round(x: Tensor, decimals: int = 0) -> Tensor:
    return _torch.round(x, decimals=decimals)


def Lerp(start: Tensor, end: Tensor, weight: Operand) -> Tensor:
    return _torch.lerp(start, end=end, weight=weight)


LerpScalar = Lerp


def Cast(x: Tensor, dtype: int) -> Tensor:
    return _cast(x, _dtype_of(dtype))


def Select(condition: Tensor, x: Operand, y: Operand) -> Tensor:
    return _logic.where(condition, self=x, other=y)


def ClampScalar(x: Tensor, min: Number | None = None, max: Number | None = None) -> Tensor:
    return _torch.clamp(x, min=min, max=max)


ClampTensor = ClampScalar


def Elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return _onnx.Elu(x, alpha=alpha)


def CeLU(x: Tensor, alpha: float = 1.0) -> Tensor:
    return _onnx.Celu(x, alpha=alpha)


def LeakyReLU(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    return _onnx.LeakyRelu(x, alpha=negative_slope)


LeakyReLUExt = LeakyReLU


def GeLU(x: Tensor) -> Tensor:
    return _onnx.Gelu(x, approximate="tanh")


def GeluExt(x: Tensor, approximate: int = 0) -> Tensor:
    return _onnx.Gelu(x, approximate="tanh" if approximate else "none")


def HShrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    return _activations.hardshrink(x, lambd=lambd)


def SoftShrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    return _activations.softshrink(x, lambd=lambd)


def Softplus(x: Tensor) -> Tensor:
    return _activations.softplus(x)


def SoftplusExt(x: Tensor, beta: Number = 1, threshold: Number = 20) -> Tensor:
    return _activations.softplus(x, beta=beta)


def Threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    return _activations.threshold(x, threshold=threshold, value=value)


def GLU(x: Tensor, axis: int = -1) -> Tensor:
    return _activations.glu(x, dim=axis)


def PReLU(x: Tensor, weight: Tensor) -> Tensor:
    """One slope for all, or one for each channel."""
    return _activations.prelu(x, weight=weight)


def Softmax(x: Tensor, axis: int | Sequence[int] = -1) -> Tensor:
    return _softmax(x, _one(axis))


def LogSoftmax(x: Tensor, axis: int | Sequence[int] = -1) -> Tensor:
    return _log_softmax(x, _one(axis))


def MaskedFill(x: Tensor, mask: Tensor, value: Operand) -> Tensor:
    return _logic.masked_fill(x, mask=mask, value=value)


def L2Normalize(x: Tensor, *, axis: int | Sequence[int] = 0, epsilon: float = 1e-4) -> Tensor:
    """x of length 1; what is shorter than the root of epsilon is divided by that."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    return x / _reduce(x * x, "sum", axes).max(epsilon).apply(_Sqrt())


def _one(axis: int | Sequence[int]) -> int:
    axes = [axis] if isinstance(axis, int) else list(axis)
    if len(axes) != 1:
        raise EdgeKitError("E0205", f"softmax over {len(axes)} dimensions is not supported")
    return axes[0]
