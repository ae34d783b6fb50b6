"""Layers between Dequantize and Quantize compute on integers, and integers keep their label on the way.

A model that comes quantized says what is quantized by pairs of conversions around float layers. Looking back
from a Quantize, everything up to the nearest Dequantize has an integer form, or the float layer stays: both
mean the same, within the one rounding at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core import fixed
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._integer import acc_bits, quant_of
from edgekit.core.ops._linear import Linear
from edgekit.core.ops._map import Map
from edgekit.core.ops.activations import PRelu
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit, rewrite
from edgekit.core.passes.clamps import limits_of_clip
from edgekit.core.passes.grid import on_grid, rows_on_grid
from edgekit.core.passes.integer_labels import Form, keeps_scale, label_of_plain, labelled_constant
from edgekit.core.passes.match import with_fields
from edgekit.core.types import Array, DType, Quant, Type

# Beyond these, multipliers have no bits left for what is multiplied, or shifts end.
_MAX_FACTOR = 2.0**20  # the scale of products over that of the result
_MAX_CANCELLED = 2.0**13  # the scale of an operand over that of a sum
_MAX_BIAS = 2.0**30  # in units of its layer, which must leave room for sums
# Of sums, by the format of what is multiplied: those of 16 bits are added up in 64.
_MAX_BITS = {DType.S8: 31, DType.S16: 46}
_SOFTMAX = Quant((1 / 256,), (-128,))
_NEAR = 2.0**-12  # what rounding to float32 did to a number of steps


def integer_layers(graph: Graph) -> Graph:
    """The pass."""
    return rewrite(graph, quantize_of_layer, label_of_plain, clip_into_layer, transpose_of_bytes)


def quantize_of_layer(edit: Edit, node: Node) -> Sequence[str] | None:
    """quantize(layer(dequantize(x))) -> the layer on integers"""
    out = edit.type(node.outputs[0])
    if not isinstance(node.op, Quantize) or out.quant is None or out.quant.rounding != "E":
        return None
    found = _Integers(edit).of(node.inputs[0], (out.dtype, out.quant), alone=True)
    return None if found is None else (found,)


def clip_into_layer(edit: Edit, node: Node) -> Sequence[str] | None:
    """clip(layer(x), lo, hi) on integers -> a layer with these limits, as reals"""
    out = edit.type(node.outputs[0])
    layer = edit.producer(node.inputs[0])
    clip = limits_of_clip(edit, node)
    if clip is None or layer is None or not isinstance(layer.op, Linear) or out.quant is None:
        return None
    if not edit.used_once(node.inputs[0]):
        return None
    low, high = fixed.int_range(out.dtype)
    scale, zero = float(np.float32(out.quant.scale[0])), out.quant.zero[0]
    lo, hi = (scale * (limit - zero) for limit in clip)
    lo = layer.op.lo if clip[0] <= low else max(lo, layer.op.lo)
    hi = layer.op.hi if clip[1] >= high else min(hi, layer.op.hi)
    if lo > hi:
        return None
    edit.origin = layer.origin
    return edit.add(with_fields(layer.op, lo=lo, hi=hi), *layer.inputs, quant=out.quant)


def transpose_of_bytes(edit: Edit, node: Node) -> Sequence[str] | None:
    """transpose(dequantize(x)) -> dequantize(transpose(x)): that moves fewer bytes"""
    before = edit.producer(node.inputs[0]) if isinstance(node.op, Transpose) else None
    if before is None or not isinstance(before.op, Dequantize) or not edit.used_once(node.inputs[0]):
        return None
    return edit.add(before.op, edit.one(node.op, before.inputs[0]))


@dataclass(frozen=True)
class _Integers:
    """What computes a real value as integers. Nodes that are added in vain are not taken over."""

    edit: Edit

    def of(self, name: str, form: Form | None, *, alone: bool) -> str | None:
        """The integers of a value, in this form, or in the one that it has. `alone`: is what they are
        computed from read nowhere else? Layers are not computed twice."""
        edit = self.edit
        node = edit.producer(name)
        if node is None or len(node.outputs) != 1:
            return None
        if edit.type(name).dtype is not DType.F32 or edit.type(name).rank == 0 or edit.type(name).size == 0:
            return None  # a number or nothing is not worth it
        alone = alone and edit.used_once(name)
        edit.origin = node.origin
        if isinstance(node.op, Dequantize):
            return self.rescaled(node.inputs[0], form)
        if keeps_scale(node.op):
            return self.moved(node, form, alone)
        return self.computed(node, form) if form is not None and alone else None

    def rescaled(self, x: str, form: Form | None) -> str | None:
        """Integers in another form."""
        have = self.edit.type(x)
        if have.quant is None or have.quant.rounding != "E":
            return None
        if form is None or (have.dtype, have.quant) == form:
            return x
        dtype, quant = form
        if have.quant.scale[0] / quant.scale[0] >= _MAX_FACTOR:
            return None
        return self.edit.add(Requantize(dtype), x, quant=quant)[0]

    def moved(self, node: Node, form: Form | None, alone: bool) -> str | None:
        """What only moves elements moves integers; constants among its operands take their form. Rounding
        before a clip is rounding behind it, with limits that are rounded too."""
        edit = self.edit
        computed = [n for n in node.inputs if edit.type(n).dtype.is_float and edit.data(n) is None]
        integers = {name: self.of(name, form, alone=alone) for name in computed}
        forms = {_form(edit.type(x)) for x in integers.values() if x is not None}
        if None in integers.values() or len(forms) != 1:
            return None
        (own,) = forms
        assert own is not None, "integers have a scale"
        operands = []
        for name in node.inputs:
            data = edit.data(name)
            operand: str | None = integers.get(name, name)
            if data is not None and data.dtype.kind == "f":
                operand = self.constant(name, data, own, exact=form is None)
            if operand is None:
                return None
            operands.append(operand)
        edit.origin = node.origin
        return edit.add(node.op, *operands, quant=own[1])[0]

    def constant(self, name: str, data: Array, form: Form, *, exact: bool) -> str | None:
        """A constant in a form; None for NaN, and where it should be exact and is not."""
        dtype, quant = form
        low, high = fixed.int_range(dtype)
        scaled = data.astype(np.float64) / quant.scale[0] + quant.zero[0]
        if np.isnan(scaled).any():
            return None
        nearest = np.rint(scaled).clip(low, high)
        if exact and (np.isfinite(scaled) & (np.abs(scaled - nearest) > _NEAR)).any():
            return None
        return labelled_constant(self.edit, name, nearest.astype(dtype.numpy), quant)

    def computed(self, node: Node, form: Form) -> str | None:
        """A layer whose operands are integers."""
        edit = self.edit
        dtype, quant = form
        if not node.op.has_integers([edit.values[name] for name in node.inputs]):
            return None
        if isinstance(node.op, Linear):
            return self.layer(node, form)
        if dtype is not DType.S8 or len(node.outputs) > 1:
            return None
        if isinstance(node.op, Add | Sub | Mul | MatMul):
            return self.binary(node, quant)
        x = self.byte(node.inputs[0])
        if x is None:
            return None
        edit.origin = node.origin
        match node.op:
            case Softmax():
                (rows,) = edit.add(node.op, x, quant=_SOFTMAX)
                fine = quant.scale[0] >= _SOFTMAX.scale[0] * (1 - _NEAR)  # steps of 1/256 are no coarser
                return self.rescaled(rows, (dtype, quant)) if fine else None
            case _ if _gain(edit, node, quant_of(edit.type(x)).scale[0]) / quant.scale[0] < _MAX_CANCELLED:
                return edit.add(node.op, x, *node.inputs[1:], quant=quant)[0]
            case _:
                return None

    def byte(self, name: str) -> str | None:
        """An operand as int8 in the form that it has."""
        found = self.of(name, None, alone=True)
        return found if found is not None and self.edit.type(found).dtype is DType.S8 else None

    def binary(self, node: Node, quant: Quant) -> str | None:
        """A sum or a product; constants become integers where they lie on a grid of 8 bits."""
        edit = self.edit
        operands = []
        for name in node.inputs:
            data = edit.data(name)
            operand = self.byte(name) if data is None else self.grid_constant(name, data)
            if operand is None:
                return None
            operands.append(operand)
        scales = [quant_of(edit.type(name)).scale[0] for name in operands]
        match node.op:
            case Mul() | MatMul():
                sound = scales[0] * scales[1] / quant.scale[0] < _MAX_FACTOR
            case Add() | Sub():
                sound = max(scales) / quant.scale[0] < _MAX_CANCELLED
            case _:
                return None
        edit.origin = node.origin
        return edit.add(node.op, *operands, quant=quant)[0] if sound else None

    def grid_constant(self, name: str, data: Array) -> str | None:
        found = on_grid(data)
        if found is None:
            return None
        integers, scale, zero = found
        return labelled_constant(self.edit, name, integers, Quant((scale,), (zero,)))

    def layer(self, node: Node, form: Form) -> str | None:
        """A layer with weights on a grid of 8 bits, and a bias in units of its products."""
        edit = self.edit
        dtype, quant = form
        x = self.of(node.inputs[0], None, alone=True)
        if x is None or not {dtype, edit.type(x).dtype} <= {DType.S8, DType.S16}:
            return None
        weights, bias = (edit.data(name) for name in node.inputs[1:])
        assert weights is not None, "has_integers lets no other layers pass"
        assert bias is not None, "has_integers lets no other layers pass"
        found = rows_on_grid(weights)
        if found is None or not np.isfinite(bias).all():
            return None
        integers, scales = found
        x_quant = quant_of(edit.type(x))
        unit = float(np.float32(x_quant.scale[0]))
        least = np.abs(bias.astype(np.float64)) / (unit * _MAX_BIAS)
        # An output without weights is its bias, in whatever unit: as fine as others, if it fits.
        finest = scales[scales > 0].min(initial=quant.scale[0] / unit)
        scales = np.where(scales > 0, scales, np.maximum(finest, least)).astype(np.float32).astype(np.float64)
        if (scales < least * (1 - _NEAR)).any() or (scales * unit / quant.scale[0] >= _MAX_FACTOR).any():
            return None
        wide = np.rint(bias / (scales * unit)).astype(np.int32)
        if acc_bits(edit.type(x), integers, wide) > _MAX_BITS[edit.type(x).dtype]:
            return None
        w_quant = Quant(tuple(scales.tolist()), (0,) * len(scales), 0)
        w = labelled_constant(edit, node.inputs[1], integers, w_quant)
        b = labelled_constant(edit, node.inputs[2], wide, None)
        edit.origin = node.origin
        op = with_fields(node.op, dtype=None if dtype is edit.type(x).dtype else dtype)
        return edit.add(op, x, w, b, quant=quant)[0]


def _form(type: Type) -> Form | None:
    return None if type.quant is None else (type.dtype, type.quant)


def _gain(edit: Edit, node: Node, scale: float) -> float:
    """The largest factor by which a function of one tensor multiplies integers of this scale, if it does;
    infinite where other operands should be constants, and are not."""
    others = [edit.data(name) for name in node.inputs[1:]]
    known = [data for data in others if data is not None]
    if len(known) < len(others):
        return np.inf
    match node.op:
        case PRelu():
            return scale * max(1.0, float(np.abs(known[0]).max(initial=0.0)))
        case LayerNorm(epsilon) | RmsNorm(epsilon):
            n = edit.type(node.inputs[0]).shape[-1]
            if n * epsilon / scale**2 > fixed.MAX_EPSILON / 2:  # it is all that counts
                return np.inf
            return float(np.abs(known[0]).max(initial=0.0))
        case Resample():
            return scale * float(np.abs(known[1]).max(initial=0.0))
        case Pool2d() | Reduce():
            return scale
        case Map():
            return 0.0
        case _:
            return np.inf
