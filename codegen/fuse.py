"""Sums that a convolution can compute with its own result: the sum then lies over the other operand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from edgekit.codegen.affine import as_affine
from edgekit.codegen.kernels import variant_of
from edgekit.codegen.sharing import Layer
from edgekit.ir import DType, Graph
from edgekit.ops import Arg, Call
from edgekit.target import Target

_FIELDS = 13  # of what conv2d_add_int.h calls add


def fuse_sums(graph: Graph, layers: Sequence[Layer], target: Target) -> list[Layer]:
    """The layers, where convolutions compute the sums that their results are for, and nothing else is. The
    kernels that a target has for the two together must be as good as those for convolutions alone."""
    users = Counter([*(name for node in graph.nodes for name in node.inputs), *graph.exits])
    fused: dict[str, Layer] = {}  # by the first result
    for layer in layers:
        total = _sum(layer)
        operands = [arg.name for arg in total.args[:2] if users[arg.name] == 1] if total else []
        # The later one: what the earlier one computes is there already.
        for name in [name for name in reversed(fused) if name in operands]:
            made = _with_sum(fused[name], total, target) if total else None
            if made:
                layer = Layer(replace(fused.pop(name).node, outputs=layer.node.outputs), (made,))
                break
        fused[layer.node.outputs[0]] = layer
    return [*fused.values()]


def _sum(layer: Layer) -> Call | None:
    """The call of a layer that adds two tensors of one shape, and does nothing else."""
    match layer.steps:
        case [Call() as call] if (
            call.kernel in ("add_s8", "affine_s8") and len({arg.type.shape for arg in call.args}) == 1
        ):
            return call
    return None


def _with_sum(layer: Layer, total: Call, target: Target) -> Call | None:
    """The call of a convolution with this sum, if there is a kernel for it."""
    match layer.steps:
        case [Call(kernel="conv2d_int") as call] if call.types["Y"] is DType.S8:
            at = [arg.name for arg in total.args].index(call.args[-1].name)
        case _:
            return None
    addend, y = total.args[1 - at], total.args[2]
    if addend.value.data is not None:
        return None
    isa = variant_of(call, target).isa
    products = as_affine(total) if total.kernel == "add_s8" and isa != "ref" else None
    for way in (products, total):
        made = _joined(call, way, at, addend, y) if way else None
        if made and variant_of(made, target).isa == isa:
            return made
    return None


def _joined(call: Call, total: Call, at: int, addend: Arg, y: Arg) -> Call:
    """The convolution `call` and the sum, of which it computes the first or second operand."""
    function, added = _added(total, at)
    return replace(
        call,
        kernel="conv2d_add_int",
        args=(*call.args[:-1], addend, y),
        params={**call.params, "add": added + [0] * (_FIELDS - len(added))},
        name=call.name.replace("conv2d", f"conv2d_{function}", 1),
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
