"""What the comment beside a kernel call says of its layer: name, operator, window, shapes, work."""

from __future__ import annotations

from math import inf

from edgekit.codegen.kernels.symbols import Instance
from edgekit.codegen.memory.lifetimes import Scheduled
from edgekit.core.ops import Call
from edgekit.core.types import Type

_LONGEST_ORIGIN = 40
_LONGEST = 92


def layer_comment(scheduled: Scheduled) -> str:
    """conv2: conv2d 3x3 s2 + relu, 8x8x12 -> 4x4x16, 27,648 MACs"""
    rows, node = scheduled.rows, scheduled.node
    call = scheduled.whole
    ins = [arg.type for arg in call.args[: -call.results] if arg.value.data is None]
    outs = [arg.type for arg in call.args[-call.results :]]
    is_mixed = len({type.dtype for type in (*ins, *outs)}) > 1
    given, made = (", ".join(_shape(type, is_mixed) for type in types) for types in (ins, outs))
    what = " ".join(part for part in (Instance.of(call).operator, window(call), _activation(node.op)) if part)
    macs = f", {call.macs:,} MACs" if call.macs else ""
    by = f", by {rows.blocks.rows} of {rows.blocks.layer.height} rows" if rows else ""
    text = f"{_origin(node.origin)}{what}{f', {given}' * bool(given)} -> {made}{by}{macs}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _origin(name: str) -> str:
    """The layer's name in the model; of a long one the end, which tells it from others."""
    if len(name) > _LONGEST_ORIGIN:
        name = f"...{name[-_LONGEST_ORIGIN:]}"
    return f"{name}: " if name else ""


def _shape(type: Type, with_dtype: bool) -> str:
    """8x8x12, without a batch of one."""
    shape = type.shape[1:] if type.rank > 1 and type.shape[0] == 1 else type.shape
    text = "x".join(map(str, shape)) or "1"
    return f"{type.dtype.value} {text}" if with_dtype else text


def window(call: Call) -> str:
    """3x3 s2: a kernel's size, and strides and dilations other than one."""
    p = {name: value for name, value in call.params.items() if isinstance(value, int)}
    if not {"k_h", "k_w"} <= p.keys():
        return ""
    return f"{p['k_h']}x{p['k_w']}" + "".join(
        f" {mark}{_pair(p.get(f'{name}_h', 1), p.get(f'{name}_w', 1))}"
        for mark, name in (("s", "stride"), ("d", "dilation"))
        if (p.get(f"{name}_h", 1), p.get(f"{name}_w", 1)) != (1, 1)
    )


def _pair(high: int, wide: int) -> str:
    return str(high) if high == wide else f"{high}x{wide}"


def _activation(op: object) -> str:
    """+ relu, by the bounds of a layer's results."""
    lo, hi = getattr(op, "lo", None), getattr(op, "hi", None)
    if not isinstance(lo, float) or not isinstance(hi, float) or (lo, hi) == (-inf, inf):
        return ""
    return {(0.0, inf): "+ relu", (0.0, 6.0): "+ relu6"}.get((lo, hi), "+ clamp")
