"""y = a b: matrix products over the last two dimensions, broadcast over the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core import fixed
from edgekit.core.layouts import Layout, plain
from edgekit.core.ops import Arg, Call, Op, OpInLayout, Param, Step, require
from edgekit.core.ops._integer import SingleRule, centred, quant_of, single_rule
from edgekit.core.ops._layout import stored
from edgekit.core.ops._linear import wrapping
from edgekit.core.ops._order import is_narrow, product, term_by_term
from edgekit.core.ops._strided import Strides, contiguous, loops
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, DType, Type, Value, type_of

_MAX_TERMS = (2**31 - 1) // 255**2  # of a sum of products of differences from zero points, in 32 bits


@dataclass(frozen=True)
class MatMul(Op):
    """Operands: a [..., I, K], b [..., K, J], after their dimensions were put in the order of `perm_a` and
    `perm_b` (empty: as they are). The kernel reads transposed operands in place."""

    perm_a: tuple[int, ...] = ()
    perm_b: tuple[int, ...] = ()

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(
            len(ins) == 2 and all(t.rank >= 2 for t in ins),
            f"takes two matrices, got {', '.join(map(str, ins))}",
        )
        for t, perm in zip(ins, (self.perm_a, self.perm_b), strict=True):
            require(
                not perm or sorted(perm) == [*range(t.rank)], f"{perm} is no order of the dimensions of {t}"
            )
        a, b = (_permuted(t.shape, perm) for t, perm in zip(ins, (self.perm_a, self.perm_b), strict=True))
        require(ins[0].dtype == ins[1].dtype, f"operands differ in type: {ins[0]} and {ins[1]}")
        dtype = ins[0].dtype
        require(dtype.is_float or (dtype.is_integer and dtype.bits >= 8), f"is not defined on {dtype.value}")
        require(a[-1] == b[-2], f"{list(a)} has rows of {a[-1]}, {list(b)} has columns of {b[-2]}")
        try:
            batch = np.broadcast_shapes(a[:-2], b[:-2])
        except ValueError:
            raise OperandError(f"shapes {list(a)} and {list(b)} do not broadcast") from None
        return (Type(ins[0].dtype, (*batch, a[-2], b[-1])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        a, b = self._matrices(*ins)
        with np.errstate(all="ignore"):
            if is_narrow(a):
                dots = self._has_dots(*(type_of(x) for x in ins))
                y = product(a.astype(np.float32), b.astype(np.float32), lanes=dots)
            else:
                y = np.matmul(a, b)
        return (y.astype(a.dtype),)

    def _has_dots(self, *ins: Type) -> bool:
        """Dense rows of b are added up whole; where its columns are dense, each result is a dot product."""
        a, b = (_operand(x, perm, ()) for x, perm in zip(ins, (self.perm_a, self.perm_b), strict=True))
        columns = _permuted(ins[1].shape, self.perm_b)[-1]
        return b[-1] != 1 and columns > 1 and b[-2] == 1 and a[-1] == 1

    def _matrices(self, *ins: Array) -> list[Array]:
        perms = (self.perm_a, self.perm_b)
        return [x.transpose(perm) if perm else x for x, perm in zip(ins, perms, strict=True)]

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        a, b = self._matrices(*(centred(x, t) for x, t in zip(args, ins, strict=True)))
        sums: Array = np.matmul(a, b).astype(np.int64)
        y = quant_of(outs[0])
        low, high = fixed.int_range(outs[0].dtype)
        return (fixed.requantize(sums, _ratio(ins, outs[0]), y, low, high).astype(outs[0].dtype.numpy),)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        return _permuted(ins[0].type.shape, self.perm_a)[-1] <= _MAX_TERMS

    def macs(self, *ins: Type) -> int:
        (y,) = self.infer(*ins)
        return y.size * _permuted(ins[0].shape, self.perm_a)[-1]

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return super().work(ins, outs) + term_by_term(ins[0], _permuted(ins[0].shape, self.perm_a)[-1])

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (y,) = outs
        *batch, rows, columns = y.type.shape
        a, b = (
            _operand(x.type, perm, batch) for x, perm in zip(ins, (self.perm_a, self.perm_b), strict=True)
        )
        inner = _permuted(ins[0].type.shape, self.perm_a)[-1]
        kernel = "matmul_nt" if self._has_dots(*(x.type for x in ins)) else "matmul"
        rule = _rule(ins, y) if y.type.quant is not None else None
        calls: list[Step] = []
        for sizes, (a_batch, b_batch, y_batch), (a0, b0, y0) in loops(
            batch, a[:-2], b[:-2], contiguous(y.type.shape)[:-2]
        ):
            params: dict[str, Param] = {"n": sizes, "a_n": a_batch, "b_n": b_batch, "y_n": y_batch}
            params |= {"a0": a0, "b0": b0, "y0": y0, "rows": rows, "inner": inner, "columns": columns}
            if kernel == "matmul_nt":
                params |= {"a_row": a[-2], "b_row": b[-1]}
            else:
                params |= {"a_row": a[-2], "a_inner": a[-1], "b_row": b[-2], "b_column": b[-1]}
            calls.append(
                Call(
                    kernel=f"{kernel}_s8" if rule else kernel,
                    types={} if rule else {"T": wrapping(y.type.dtype)},
                    args=(*ins, y),
                    params=params | rule.params if rule else params,
                    label=f"{kernel}_s8" if rule else "",
                    expr=rule.expr if rule else "",
                    rule=rule.name if rule else "",
                    macs=y.type.size * inner if not calls else 0,
                )
            )
        return calls

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        """Operands may lie in any order of their dimensions."""
        perms, wants = [], []
        for x, perm in zip(ins, (self.perm_a, self.perm_b), strict=True):
            single = all(len(group) == 1 for group in x.dims)
            x = x if single else plain(x.value_shape)
            wants.append(x)
            perms.append(tuple(x.dims[p][0] for p in perm or range(len(x.dims))))
        a, b = (() if perm == tuple(range(len(perm))) else perm for perm in perms)
        shapes = [Type(DType.F32, x.value_shape) for x in ins]
        (y,) = self.infer(*shapes)
        return stored(MatMul(a, b), wants, [plain(y.shape)])


def _ratio(ins: Sequence[Type], out: Type) -> Array:
    return fixed.ratio(*(quant_of(t) for t in (*ins, out)))


def _rule(ins: Sequence[Arg], y: Arg) -> SingleRule:
    """How sums of products become integers of y, with all parameters beside the strides."""
    rule = single_rule(_ratio([x.type for x in ins], y.type), quant_of(y.type))
    low, high = fixed.int_range(y.type.dtype)
    zeros = {f"{letter}_zero": quant_of(x.type).zero[0] for letter, x in zip("ab", ins, strict=True)}
    bounds = {"zero": quant_of(y.type).zero[0], "lo": low, "hi": high}
    return replace(rule, params={**rule.params, **zeros, **bounds})


def _permuted(shape: Sequence[int], perm: Sequence[int]) -> tuple[int, ...]:
    return tuple(shape[p] for p in perm) if perm else tuple(shape)


def _operand(type: Type, perm: tuple[int, ...], batch: Sequence[int]) -> Strides:
    """Element strides over (*batch, rows, columns); 0 where an operand repeats."""
    strides = contiguous(type.shape)
    shape = _permuted(type.shape, perm)
    strides = _permuted(strides, perm)
    missing = len(batch) + 2 - len(shape)
    repeated = tuple(0 if n == 1 else s for n, s in zip(shape[:-2], strides[:-2], strict=True))
    return (0,) * missing + repeated + strides[-2:]
