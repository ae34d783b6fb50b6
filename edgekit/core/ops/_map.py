"""Elementwise operators: one formula, which C compiles and numpy evaluates; broadcasting is done here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import ClassVar

import numpy as np

from edgekit.core.formula import operations, parse
from edgekit.core.layouts import Layout
from edgekit.core.ops import Arg, Call, Op, OpInLayout, Step, require
from edgekit.core.ops._bounds import at_corners
from edgekit.core.ops._formula import evaluate
from edgekit.core.ops._integer_maps import table, table_call
from edgekit.core.ops._layout import elementwise
from edgekit.core.ops._strided import broadcast, loops
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, DType, Type, Value
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together

# Elements that are computed at once, where no operand repeats: formulas of many steps take memory for each.
_BLOCK = 1 << 22
# The type in which C computes a formula: small floats in float, small integers in 32 bits.
_COMPUTE = (
    {d: DType.F32 for d in DType if d.is_float}
    | {d: DType.S32 for d in DType if d.is_signed}
    | {d: DType.U32 for d in DType if d.is_integer and not d.is_signed}
    | {d: d for d in (DType.F64, DType.S64, DType.U64)}
    | {DType.BOOL: DType.U32}
)


def compute_type(dtype: DType) -> DType:
    """The type in which C computes on values stored as `dtype`."""
    return _COMPUTE[dtype]


def real_type(dtype: DType) -> bool:
    """Is this a type of real numbers that C computes on? Floats of 8 bits and less are only stored."""
    return dtype.is_float and dtype.bytes > 1


@cache
def _written(formula: str, compute: DType) -> str:
    """A formula for numbers of this type."""
    unsigned = f"uint{compute.bits}_t" if compute.is_integer else compute.c
    return formula.format(d=compute.value, T=compute.c, U=unsigned)


class Map(Op):
    """y = f(a, b, c), element by element, with numpy's broadcasting. Subclasses give `c`, the formula in C
    over a, b and c. In it {d} is the suffix of the compute type (f32, s64), {T} its C name, {U} the C name of
    the unsigned type of that width. `c_float` and `c_int` replace it for one kind of numbers, `c_bool` is for
    truth values; a kind without formula is refused. Where a formula calls what _functions.py does not have,
    `compute` says in numpy what it means. Parameters such as a slope are operands: constants of shape [],
    mostly."""

    arity: ClassVar[int] = 2
    # Are the extremes of the result where operands are extreme, as in sums, products, rising functions?
    corners: ClassVar[bool] = False
    # Is the form on integers a table of the results of one tensor, the other operands being numbers?
    tabled: ClassVar[bool] = True
    c: ClassVar[str] = ""
    c_float: ClassVar[str] = ""
    c_int: ClassVar[str] = ""
    c_bool: ClassVar[str] = ""

    def compute(self, *ins: Array) -> Array:
        """The formula in numpy."""
        return self._evaluated([DType.of(x.dtype) for x in ins], ins)

    def result(self, *ins: DType) -> DType:
        """Type of the result; operands must agree unless a subclass says otherwise."""
        if len(set(ins)) != 1:
            raise OperandError(f"operands differ in type: {', '.join(d.value for d in ins)}")
        return ins[0]

    def formula(self, *ins: DType) -> str:
        main = ins[-1]
        if main.is_float and not real_type(main):
            raise OperandError(f"computes nothing on {main.value}: cast it first")
        own = self.c_float if main.is_float else self.c_int
        c = self.c_bool if main is DType.BOOL else own or self.c
        if not c:
            raise OperandError(f"{type(self).__name__} is not defined on {main.value}")
        return _written(c, compute_type(main))

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(len(ins) == self.arity, f"takes {self.arity} operands, got {len(ins)}")
        try:
            shape = np.broadcast_shapes(*(t.shape for t in ins))
        except ValueError:
            raise OperandError(f"shapes {', '.join(map(str, ins))} do not broadcast") from None
        # Numbers beside a quantized tensor (a slope, say) are reals: its table of results knows them.
        dtypes = [t.dtype for t in ins if ins[0].quant is None or t.rank or not t.dtype.is_float]
        if ins[0].quant is None or len(dtypes) > 1:
            self.formula(*dtypes)
        quant = ins[0].quant if self.is_data_movement else None
        return (Type(self.result(*dtypes), shape, quant),)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """The operations of the formula, for each element."""
        of_real = [t.dtype for t in ins if t.quant is None]
        each = operations(self.formula(*of_real)) if len(of_real) == len(ins) else 1
        return super().work(ins, outs) + each * outs[0].size

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        """Floats narrower than float32 are computed in float32, by the very formula of C."""
        shape = np.broadcast_shapes(*(x.shape for x in ins))
        if prod(shape) <= _BLOCK or any(x.size != 1 and x.shape != shape for x in ins):
            return (self._evaluated_at_once(*ins),)
        flat = [x.reshape(-1) for x in ins]
        y = np.empty(prod(shape), self.result(*(DType.of(x.dtype) for x in ins)).numpy)
        for i in range(0, y.size, _BLOCK):
            y[i : i + _BLOCK] = self._evaluated_at_once(
                *(x if x.size == 1 else x[i : i + _BLOCK] for x in flat)
            )
        return (y.reshape(shape),)

    def _evaluated_at_once(self, *ins: Array) -> Array:
        dtypes = [DType.of(x.dtype) for x in ins]
        dtype = self.result(*dtypes)
        with np.errstate(all="ignore"):
            y = self._as_in_c(dtypes, ins) if any(_narrow(x) for x in ins) else self.compute(*ins)
            result: Array = np.asarray(y).astype(dtype.numpy, copy=False)
            return result

    def in_c(self, *ins: Array) -> tuple[Array, ...]:
        dtypes = [DType.of(x.dtype) for x in ins]
        if not all(dtype is DType.F32 for dtype in dtypes) or self.result(*dtypes) is not DType.F32:
            return self.eval(*ins)
        with np.errstate(all="ignore"):
            return (self._as_in_c(dtypes, ins).astype(np.float32, copy=False),)

    def _as_in_c(self, dtypes: Sequence[DType], ins: Sequence[Array]) -> Array:
        wide = [np.atleast_1d(x.astype(np.float32) if _narrow(x) else x) for x in ins]
        shape = np.broadcast_shapes(*(x.shape for x in ins))
        y = self._evaluated(dtypes, wide, as_in_c=True)
        return np.broadcast_to(y, shape or (1,)).reshape(shape)

    def _evaluated(self, dtypes: Sequence[DType], ins: Sequence[Array], *, as_in_c: bool = False) -> Array:
        formula, compute = parse(self.formula(*dtypes)), compute_type(dtypes[-1])
        return evaluate(formula, dict(zip("abc", ins, strict=False)), compute.numpy, as_in_c=as_in_c)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        if self.is_data_movement and all(t.dtype == ins[0].dtype for t in ins):
            return self.eval(*args)
        entries = table(self.compute, args[1:], ins[0], outs[0])
        return (entries[args[0].astype(np.int64) + 128],)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        first, *rest = ins
        numbers = all(v.data is not None and v.data.size == 1 for v in rest)
        return first.data is None and (numbers or not self.tabled)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (y,) = outs
        if y.type.quant is not None and not (
            self.is_data_movement and all(x.type.dtype == y.type.dtype for x in ins)
        ):
            numbers = [x.value.data for x in ins[1:] if x.value.data is not None]
            assert len(numbers) == self.arity - 1, f"{self.label}: only functions of one tensor have tables"
            return [table_call(table(self.compute, numbers, ins[0].type, y.type), ins[0], y)]
        return self.strided(ins, y)

    def strided(self, ins: Sequence[Arg], y: Arg) -> Sequence[Step]:
        """The kernel calls of the formula on what is stored."""
        shape = y.type.shape
        strides = [broadcast(x.type.shape, shape) for x in ins] + [broadcast(shape, shape)]
        calls: list[Step] = []
        letters = "abc"[: len(ins)]
        types = dict(zip(letters.upper(), (x.type.dtype for x in ins), strict=True)) | {"Y": y.type.dtype}
        inplace = tuple(
            i
            for i, x in enumerate(ins)
            if x.type.bytes == y.type.bytes and x.type.dtype.bytes == y.type.dtype.bytes
        )
        for sizes, steps, starts in loops(shape, *strides):
            flat = all(n == 1 for n in sizes[:-1])
            params: dict[str, int | Sequence[int]] = {"n": sizes[-1] if flat else sizes}
            for letter, step in zip(letters, steps, strict=False):
                params[f"s{letter}"] = step[-1] if flat else step
            for letter, start in zip([*letters, "y"], starts, strict=True):
                params[f"{letter}0"] = start
            calls.append(
                Call(
                    kernel=f"map{self.arity}" if flat else f"map{self.arity}_nd",
                    types=types,
                    args=(*ins, y),
                    params=params,
                    label=self.label,
                    expr=self.formula(*(x.type.dtype for x in ins)),
                    inplace=inplace,
                )
            )
        return calls

    @property
    def label(self) -> str:
        """Name of the kernel instance."""
        return type(self).__name__.lower()

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        return elementwise(self, at, ins, np.broadcast_shapes(*(x.value_shape for x in ins)))

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        wraps = not outs[0].dtype.is_float and outs[0].quant is None
        return at_corners(self, ins, outs) if self.corners and not wraps else None

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        n = channels(out)
        return [together(n) if channels(x) == n else None for x in ins]


class Unary(Map):
    arity = 1


class Compare(Map):
    """A test: the result is bool."""

    def result(self, *ins: DType) -> DType:
        super().result(*ins)
        return DType.BOOL


def _narrow(x: Array) -> bool:
    return DType.of(x.dtype).is_float and x.dtype.itemsize < 4
