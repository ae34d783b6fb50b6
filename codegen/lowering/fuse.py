"""Sums that a convolution can compute with its own result, which then may lie over the other operand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Protocol

from edgekit.codegen.kernels.sources import variant_of
from edgekit.codegen.lowering.tfl_add import as_affine
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call, View
from edgekit.core.target import Target
from edgekit.core.types import DType

_FIELDS = 13  # of what conv2d_add_int.h calls add


class SumKernels(Protocol):
    """The kernels for a convolution and a sum together."""

    def are_as_good(self, both: Call, alone: Call) -> bool:
        """Are they as good as those for the convolution alone?"""

    def want_products(self, alone: Call) -> bool:
        """Is a sum of products better than one by TFLite's rule?"""


@dataclass(frozen=True)
class TargetKernels:
    """Those in C for a target."""

    target: Target

    def are_as_good(self, both: Call, alone: Call) -> bool:
        one, other = variant_of(both, self.target), variant_of(alone, self.target)
        return one.isa == other.isa and (both.kernel == "conv2d_add_int" or one.name == other.name)

    def want_products(self, alone: Call) -> bool:
        return variant_of(alone, self.target).isa != "ref"


def fuse_sums(graph: Graph, layers: Sequence[LoweredLayer], kernels: SumKernels) -> list[LoweredLayer]:
    """The layers, where convolutions compute the sums that their results are for, and nothing else is, and in
    floats their bounds."""
    users = Counter([*(name for node in graph.nodes for name in node.inputs), *graph.exits])
    fused: dict[str, LoweredLayer] = {}  # by the first result
    turn: dict[str, int] = {}
    viewed: dict[str, str] = {}  # what nothing reads but a view of all of it
    for i, layer in enumerate(layers):
        operands: dict[str, Arg] = {}
        match layer.steps:
            case [Call() as call]:
                used = [arg for arg in call.args[:2] if users[arg.name] == 1]
                operands = {viewed.get(arg.name, arg.name): arg for arg in used}
            case [View(arg=whole, result=part)] if (
                users[whole.name] == 1 and part.type.size == whole.type.size
            ):
                viewed[part.name] = whole.name
        # The later one: what the earlier one computes is there already.
        for name in sorted(operands.keys() & fused.keys(), key=turn.__getitem__, reverse=True):
            made = _together(_into(fused[name], operands[name]), layer, kernels)
            if made:
                layer = LoweredLayer(replace(fused.pop(name).node, outputs=layer.node.outputs), (made,))
                break
        fused[layer.node.outputs[0]] = layer
        turn[layer.node.outputs[0]] = i
    return [*fused.values()]


def _into(layer: LoweredLayer, result: Arg) -> LoweredLayer:
    """The layer with a view of its result in place of it."""
    match layer.steps:
        case [Call() as call] if call.args[-1].name != result.name:
            return replace(layer, steps=(replace(call, args=(*call.args[:-1], result)),))
    return layer


def _together(first: LoweredLayer, then: LoweredLayer, kernels: SumKernels) -> Call | None:
    """The call of two layers, of which the second reads the first, if there is a kernel for it."""
    match first.steps, then.steps:
        case [Call(kernel="conv2d_int") as call], [Call(kernel="add_s8" | "affine_s8") as total]:
            return _with_integers(call, total, kernels) if call.types["Y"] is DType.S8 else None
        case [Call(kernel="conv2d") as call], [Call(kernel="map2", label="add") as total]:
            return _with_floats(call, total, kernels)
        case [Call(kernel="conv2d_add") as call], [Call(kernel="map3", label="clip") as clip]:
            return _with_bounds(call, clip)
    return None


def _with_bounds(call: Call, clip: Call) -> Call | None:
    """The call of a convolution and a sum, with the bounds behind them."""
    lo, hi = (arg.value.data for arg in clip.args[1:3])
    if not _is_free(call) or clip.args[0].name != call.args[-1].name or lo is None or hi is None:
        return None
    if lo.size != 1 or hi.size != 1:
        return None
    params = {**call.params, "lo": float(lo.item()), "hi": float(hi.item())}
    return replace(call, args=(*call.args[:-1], clip.args[-1]), params=params)


def _is_free(call: Call) -> bool:
    """Has the result no bounds?"""
    return call.params["lo"] == -inf and call.params["hi"] == inf


def _with_floats(call: Call, total: Call, kernels: SumKernels) -> Call | None:
    """The call of a convolution of floats, and a sum."""
    if (
        not _is_free(call)
        or not _is_of_equals(total)
        or {arg.type.dtype for arg in total.args} != {DType.F32}
    ):
        return None
    addend, y = _others(call, total)
    if addend.value.data is not None:
        return None
    inplace = (len(call.args) - 1,)
    made = replace(call, kernel="conv2d_add", args=(*call.args[:-1], addend, y), inplace=inplace)
    return made if kernels.are_as_good(made, call) else None


def _with_integers(call: Call, total: Call, kernels: SumKernels) -> Call | None:
    """The call of a convolution of integers, and a sum."""
    addend, y = _others(call, total)
    if not _is_of_equals(total) or addend.value.data is not None:
        return None
    at = [arg.name for arg in total.args].index(call.args[-1].name)
    products = as_affine(total) if total.kernel == "add_s8" and kernels.want_products(call) else None
    for way in (products, total):
        made = _joined(call, way, at, addend, y) if way else None
        if made and kernels.are_as_good(made, call):
            return made
    return None


def _is_of_equals(total: Call) -> bool:
    """Are all tensors of a sum of one shape?"""
    return len({arg.type.shape for arg in total.args}) == 1


def _others(call: Call, total: Call) -> tuple[Arg, Arg]:
    """What is added to the result of a call, and the sum."""
    at = [arg.name for arg in total.args].index(call.args[-1].name)
    return total.args[1 - at], total.args[2]


def _joined(call: Call, total: Call, at: int, addend: Arg, y: Arg) -> Call:
    """The convolution `call` and the sum, of which it computes the first or second operand."""
    function, added = _added(total, at)
    return replace(
        call,
        kernel="conv2d_add_int",
        args=(*call.args[:-1], addend, y),
        params={**call.params, "add": added + [0] * (_FIELDS - len(added))},
        label=f"conv2d_{function}",
        tail=f"ek_{function}(y, addend, width, p->add)",
        inplace=(len(call.args) - 1,),
    )


def _added(total: Call, at: int) -> tuple[str, list[int]]:
    """The function of addend.h, and its parameters."""

    def numbers(*names: str) -> list[int]:
        found = [total.params[name] for name in names]
        return [n for n in found if isinstance(n, int)]

    if total.kernel == "affine_s8":
        factors = numbers("first", "second")
        return "add_affine", [factors[at], factors[1 - at], *numbers("constant", "shift", "lo", "hi")]
    signs = [1, *numbers("sign")]
    scales = [
        [*numbers(f"{letter}_zero", f"{letter}_multiplier", f"{letter}_exponent"), sign]
        for letter, sign in zip("ab", signs, strict=True)
    ]
    bounds = numbers("multiplier", "exponent", "zero", "lo", "hi")
    return "add_tfl", [*scales[at], *scales[1 - at], *bounds]
