"""Global average pooling in loops over rows: running sums of the channels, divided after the loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.codegen.lowering.lower import fitted
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.ops import Arg, Call, Param
from edgekit.core.ops._integer import constant
from edgekit.core.target import Target
from edgekit.core.types import DType, Type, Value

# Sums of so many int8, and what a mean of TFLite divides them by, are exact in 32 bits.
_MAX_CELLS = 1 << 16


@dataclass(frozen=True)
class RunningSums:
    """Layers, in which means over whole images are two: their sums, and their division."""

    layers: tuple[LoweredLayer, ...]
    means: Mapping[str, LoweredLayer]  # as they were, by the sums

    def joined(self, layers: Sequence[LoweredLayer]) -> Iterator[LoweredLayer]:
        """The same layers, of which those in no loop are means again."""
        whole: set[str] = set()
        for layer in layers:
            (result, *_) = layer.node.outputs
            if result in self.means and layer.rows is None:
                yield self.means[result]
                whole.add(result)
            elif whole.isdisjoint(layer.node.inputs):
                yield layer


def with_running_sums(layers: Sequence[LoweredLayer], target: Target) -> RunningSums:
    """The layers with means as sums by rows, which need a row of their input at a time."""
    found: list[LoweredLayer] = []
    means: dict[str, LoweredLayer] = {}
    for layer in layers:
        if (split := _split(layer, target)) is None:
            found.append(layer)
            continue
        means[split[0].node.outputs[0]] = layer
        found += split
    return RunningSums(tuple(found), means)


def _split(layer: LoweredLayer, target: Target) -> tuple[LoweredLayer, LoweredLayer] | None:
    """The sums and the division of a mean over all pixels of an image; None for any other layer."""
    call = layer.asked
    if call is None or layer.guards or not _is_of_whole_image(call):
        return None
    x, y = call.args
    channels, cells = y.type.size, x.type.size // y.type.size
    if x.value.data is not None or not 4 < cells <= _MAX_CELLS:
        return None
    sums = Arg(f"{y.name}#sums", Value(Type(DType.S32, (channels,))))
    start = constant(f"{y.name}#start", np.zeros(1, np.int32), "what sums start from")
    parts = Call("channel_sums_s8", {}, (x, start, sums), {"n": cells, "channels": channels})
    divided = replace(
        _division(call, cells),
        kernel="requantize",
        types={"A": DType.S32, "Y": DType.S8},
        args=(sums, y),
        label="",
    )
    return _layer(layer, x, sums, parts, target), _layer(layer, sums, y, divided, target)


def _layer(mean: LoweredLayer, x: Arg, y: Arg, asked: Call, target: Target) -> LoweredLayer:
    node = replace(mean.node, inputs=(x.name,), outputs=(y.name,))
    return LoweredLayer(node, tuple(fitted(asked, replace(target, cores=1))), asked=asked)


def _is_of_whole_image(call: Call) -> bool:
    """Is each result the mean of a channel over all pixels of an image?"""
    p, (x, *_) = call.params, call.args
    if call.kernel == "total_s8":
        channels, cells = (prod(_numbers(p[name])) for name in ("n", "r"))
        is_dense = (_numbers(p["n"])[-1], _numbers(p["r"])[-1]) == (channels, cells)
        return is_dense and (_numbers(p["x_n"])[-1], _numbers(p["x_r"])[-1]) == (1, channels)
    if call.kernel not in ("avgpool2d_s8", "meanpool2d_s8") or x.type.shape[0] != 1:
        return False
    sides = (("h", "pad_top"), ("w", "pad_left"))
    return all(
        p[f"out_{side}"] == p[f"dilation_{side}"] == 1 and _number(p[f"k_{side}"]) - _number(p[pad]) >= size
        for side, pad in sides
        if (size := _number(p[f"in_{side}"]))
    )


def _division(call: Call, cells: int) -> Call:
    """How sums become results: as kernels of means do it, by a rule."""
    p: dict[str, Param] = {"n": call.args[-1].type.size}
    if call.kernel == "avgpool2d_s8":
        # The reciprocal, rounded up: halves of these sums stay halves, and no other number comes across one.
        exponent = 1 - (cells - 1).bit_length()
        p |= {"multiplier": -(-(1 << 31 - exponent) // cells), "exponent": exponent}
        p |= {"x_zero": 0, "zero": 0, "lo": -128, "hi": 127}
        expr = "ek_requantize_once(acc, p->multiplier, p->exponent)"
        return replace(call, params=p, expr=expr, rule="once")
    p |= {name: call.params[name] for name in ("multiplier", "exponent", "zero", "lo", "hi")}
    return replace(
        call,
        params={**p, "x_zero": cells * _number(call.params["x_zero"])},
        rule=call.rule.removesuffix("_up"),
    )


def _number(value: Param) -> int:
    assert isinstance(value, int)
    return value


def _numbers(value: Param) -> list[int]:
    assert isinstance(value, Sequence)
    return [_number(each) for each in value]
