"""Cases of operators that run on GPUs, and all the kernels that come of them."""

import importlib
from collections.abc import Set
from dataclasses import replace

import numpy as np
from support.gpu_calls import kernels_of
from support.integer_bench import Bench, Seeded
from support.integer_families import FAMILIES, attentions, depthwise_runs, grouped_convolutions, long_rows
from support.more_integer_families import MORE
from support.op_cases import Case, as_graph
from support.rotary_and_swiglu import FUSED, DecoderNet

from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.plan import plan
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.types import DType

# Modules of cases with operators that networks for GPUs are made of.
OTHERS = ("attention", "quantized_attention", "dynamic_rows", "groupwise", "indexing", "trigonometry")  # ...
REALS = ("activations", "arithmetic", "contraction", "movement", "pooling", "reduction")
INTEGERS = (*FAMILIES, *MORE, attentions, grouped_convolutions, depthwise_runs, long_rows)


def every_kernel() -> dict[str, GpuKernel]:
    """Those of many random layers, and of cases of floats, by name."""
    bench = Bench(Seeded(0))
    for family in INTEGERS:
        for _ in range(8):
            bench.case(family)
    reals = (as_graph([*usual_cases(module), *narrow_cases(module)])[0] for module in REALS)
    others = (as_graph(importlib.import_module(f"ops.cases.{module}").CASES)[0] for module in OTHERS)
    graphs = [bench.graph(), *reals, *others]
    found = {name: kernel for graph in graphs for name, kernel in kernels_of(graph).items()}
    found |= {d.kernel.name: d.kernel for net in FUSED for d in plan(net(DecoderNet())).dispatches}
    assert len(found) > 80, "most kernels are missing"
    return found


def usual_cases(module: str) -> list[Case]:
    """Those of finite float32; weights are known."""
    cases: tuple[Case, ...] = importlib.import_module(f"ops.cases.{module}").CASES
    return [
        _with_constants(c)
        for c in cases
        if all(x.size and DType.of(x.dtype) is DType.F32 and np.isfinite(x).all() for x in c.operands)
    ]


def narrow_cases(module: str, dtype: DType = DType.F16) -> list[Case]:
    """The same in 16 bits; of layers, every second one has only its weights so, and none its biases."""
    found = []
    for i, c in enumerate(usual_cases(module)):
        is_layer = isinstance(c.op, Conv2d | ConvTranspose2d | Dense)
        found.append(_narrowed(c, {1, i % 2} if is_layer else {*range(len(c.operands))}, dtype))
    return found


def _narrowed(c: Case, which: Set[int], dtype: DType) -> Case:
    """With these operands of such a type."""
    narrow = (x.astype(dtype.numpy) if i in which else x for i, x in enumerate(c.operands))
    return replace(c, operands=tuple(narrow))


def _with_constants(c: Case) -> Case:
    weighted = isinstance(c.op, Conv2d | ConvTranspose2d | Dense | LayerNorm | RmsNorm)
    return replace(c, constant=tuple(range(1, len(c.operands)))) if weighted else c
