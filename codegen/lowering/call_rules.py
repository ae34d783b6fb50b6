"""Rules that rewrite a kernel call for a target, before its kernel is selected.

Each says what it makes of a call, or None where it does not apply; each is tried once, in the order of RULES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import nan

from edgekit.codegen.kernels.selection import cost
from edgekit.codegen.kernels.sources import candidates, variant_of
from edgekit.codegen.kernels.variants import variants
from edgekit.codegen.lowering.float_requant import LINE, is_for_line, proven
from edgekit.codegen.lowering.tfl_add import as_affine
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call, Param
from edgekit.core.ops.transpose import Transpose
from edgekit.core.target import Target
from edgekit.core.types import DType

Rule = Callable[[Call, Graph, Target], Call | None]

# Reading channels-first data with strides beats a copy only while a pixel is few cache lines.
_MAX_STRIDED_CHANNELS = 16
# Kernels of windows that take a row of any length.
_POOLS = ("avgpool2d_s8", "meanpool2d", "meanpool2d_s8", "pool2d")
_BORDERS = ("pad_top", "pad_left", "counted_top", "counted_left", "counted_bottom", "counted_right")
# Kernels of convolutions take so many terms of a row of a filter together, others alone. A convolution is
# taken for a share of the cost that errors of estimates leave clear.
_LONG_FILTER, _CLEARLY = 8, 0.75
# Kernels may add the zero point in front of the shift, to a number of 30 bits.
_LEAST_EXPONENT_UP = -22


def rewritten(call: Call, graph: Graph, target: Target) -> Call:
    """The call by all rules that apply."""
    for rule in RULES:
        call = rule(call, graph, target) or call
    return call


def strided_image(call: Call, graph: Graph, target: Target) -> Call | None:
    """A convolution over a transposed image reads the image as it is, with strides."""
    if "step_c" not in call.params:
        return None
    x = call.args[0]
    producer = graph.producer(x.name)
    if producer is None or not isinstance(producer.op, Transpose) or producer.op.perm != (0, 2, 3, 1):
        return None
    _, height, width, channels = x.type.shape
    if channels > _MAX_STRIDED_CHANNELS:
        return None
    source = Arg(producer.inputs[0], graph.values[producer.inputs[0]])
    steps = {"step_h": width, "step_w": 1, "step_c": height * width}
    return replace(call, args=(source, *call.args[1:]), params={**call.params, **steps})


def window_in_one_row(call: Call, graph: Graph, target: Target) -> Call | None:
    """A window that is the whole image is a single row: nothing lies between its rows."""
    params = call.params
    if call.kernel not in _POOLS or any(params.get(name) for name in _BORDERS):
        return None
    image, window = (params["in_h"], params["in_w"]), (params["k_h"], params["k_w"])
    assert isinstance(image[0], int)
    assert isinstance(image[1], int)
    results, dilations = (params["out_h"], params["out_w"]), (params["dilation_h"], params["dilation_w"])
    # Below and to the right of the image there may be padding: then results are more.
    if window != image or image[0] == 1 or (results, dilations) != ((1, 1), (1, 1)):
        return None
    cells = image[0] * image[1]
    row = {"in_h": 1, "in_w": cells, "k_h": 1, "k_w": cells, "stride_h": 1, "stride_w": 1}
    return replace(call, params={**params, **row})


def depthwise_of_one_channel(call: Call, graph: Graph, target: Target) -> Call | None:
    """A depthwise layer over one channel is a convolution, too: taken as one where that has a kernel of a
    better instruction set, or one that is cheaper (long filters with a stride, say)."""
    if not call.kernel.startswith("depthwise2d") or call.params["in_c"] != 1:
        return None
    steps: dict[str, Param] = {"step_h": call.params["in_w"], "step_w": 1, "step_c": 1, "groups": 1}
    kernel = call.kernel.replace("depthwise2d", "conv2d")
    convolution = replace(call, kernel=kernel, params={**call.params, **steps})
    kernels = [variant_of(way, target) for way in (call, convolution)]
    ranks = [target.isa.index(kernel.isa) for kernel in kernels]
    if ranks[0] != ranks[1]:
        return convolution if ranks[1] < ranks[0] else None
    terms = call.params["k_w"]
    assert isinstance(terms, int)
    if terms < _LONG_FILTER:
        return None
    costs = [_cost(way, target) for way in (call, convolution)]
    return convolution if costs[1] < _CLEARLY * costs[0] else None


def float_requantization(call: Call, graph: Graph, target: Target) -> Call | None:
    """One multiplication of floats instead of the rule, where the target has a kernel for that, and it is
    proven to give the same."""
    return proven(call) if is_for_line(call) and _has_rule(call, LINE, target) else None


def halves_up(call: Call, graph: Graph, target: Target) -> Call | None:
    """TFLite's rule with halves that go up, not away from zero, where the target has a kernel for that and
    bounds leave no results below zero."""
    up = f"{call.rule}_up"
    if call.facts.get("least_exponent", 0) < _LEAST_EXPONENT_UP:
        return None
    if call.types.get("Y") is not DType.S8 or not _has_rule(call, up, target):
        return None
    zero, low = call.params["zero"], call.params["lo"]
    assert isinstance(zero, int)
    assert isinstance(low, int)
    return replace(call, rule=up) if low >= zero else None


def sum_as_products(call: Call, graph: Graph, target: Target) -> Call | None:
    """A sum by TFLite's rule as products, where the target has a kernel for them, and they are proven."""
    if call.kernel != "add_s8" or not any(variants(isa, "affine_s8") for isa in target.isa if isa != "ref"):
        return None
    found = as_affine(call)
    return found if found and variant_of(found, target).isa != "ref" else None


RULES: tuple[Rule, ...] = (
    strided_image,
    window_in_one_row,
    depthwise_of_one_channel,
    float_requantization,
    halves_up,
    sum_as_products,
)


def _cost(call: Call, target: Target) -> float:
    """Instructions of the kernel that the call takes; not a number where nothing says."""
    _, operands = candidates(call, target)
    found = cost(variant_of(call, target), call, target, operands)
    return found.instructions if found else nan


def _has_rule(call: Call, rule: str, target: Target) -> bool:
    """Would the call take a kernel that names this rule, of no worse instruction set than it takes now?"""
    if rule not in _named_rules(target.isa, call.kernel):
        return False
    found = variant_of(replace(call, rule=rule), target)
    if rule not in found.rules:
        return False
    return target.isa.index(found.isa) <= target.isa.index(variant_of(call, target).isa)


@cache
def _named_rules(isas: tuple[str, ...], kernel: str) -> frozenset[str]:
    """The rules that kernels of these sets name: those that name none take any, as they call it."""
    return frozenset(rule for isa in isas for variant in variants(isa, kernel) for rule in variant.rules)
