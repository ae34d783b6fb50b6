"""What the layers of a float model take on a target once they are in int8, and what its kernels like."""

from __future__ import annotations

import re
from collections.abc import Mapping

from edgekit.codegen.cost import instructions
from edgekit.codegen.cost.calibrations import calibrations
from edgekit.codegen.program import Program, compile_graph
from edgekit.core.ir import Graph
from edgekit.core.simulate import random_inputs
from edgekit.core.target import Optimize, Target
from edgekit.quantize import post_training
from edgekit.quantize.pruning.cost import Costs
from edgekit.quantize.settings import Settings

_OUTPUTS = re.compile(r"\bO/(\d+)")  # of the layout of weights: how many results are computed together


def layer_costs(target: Target, optimize: Optimize = "speed") -> Costs | None:
    """Tells the estimated instructions of layers, by their origins; None where kernels are not calibrated."""
    if not calibrations(target.core, optimize):
        return None

    def costs(graph: Graph) -> Mapping[str, float]:
        found = instructions.estimated(_program(graph, target), optimize)
        taken: dict[str, float] = {}
        for layer in found.layers if found else ():
            taken[layer.origin] = taken.get(layer.origin, 0.0) + (layer.instructions or 0)
        return taken

    return costs


def liked_multiple(graph: Graph, target: Target, optimize: Optimize = "speed") -> int:
    """Numbers of channels are best multiples of this: what the target says, or more where the kernel of the
    layer with most products computes more results together. That is looked up where costs are, too."""
    if not calibrations(target.core, optimize):
        return target.channels
    heaviest = max(_program(graph, target).lines, key=lambda line: line.macs)
    together = _OUTPUTS.search(heaviest.kernel.pack.get("w", ""))
    return max(target.channels, int(together[1]) if together else 1)


def _program(graph: Graph, target: Target) -> Program:
    quick = Settings(calibrate="minmax", strict_int8=True)
    made, _ = post_training.quantize(graph, [random_inputs(graph, 0)], quick)
    return compile_graph(made, target)
