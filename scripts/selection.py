"""Says for each kernel call of a model which kernels there are: which is selected, and why not the others.

For those who add or change a kernel: see docs/kernels.md. Calls are those of the layers with --layer in their
description.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from edgekit import api
from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.selection import cost
from edgekit.codegen.kernels.sources import variant_of
from edgekit.codegen.kernels.symbols import instance_name
from edgekit.codegen.kernels.variants import unmet, variants
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.target import Target


def explained(graph: Graph, target: Target, layer: str = "") -> Iterator[str]:
    """Lines of text: a call, then its kernels, those of the best instruction set first."""
    for line in compile_graph(graph, target).lines:
        if layer in line.comment:
            yield f"{line.comment}; {instance_name(line.call)}"
            yield from (f"  {file:32} {words}" for file, words in kernels(line.call, target))


def kernels(call: Call, target: Target) -> Iterator[tuple[str, str]]:
    """Each kernel for a call on a target, and how it relates to the call."""
    name, selected = instance_name(call), variant_of(call, target)
    operands = contracts.operands_of(call.kernel, name)
    names = dict.fromkeys((name, call.kernel))  # a kernel may be named after the instance or the contract
    for variant in (v for isa in target.isa for kernel in names for v in variants(isa, kernel)):
        if tag := unmet(variant, call, operands):
            yield variant.file, f"does not fit: {tag}"
            continue
        known = cost(variant, call, target, operands)
        count = f"{known.instructions:,.0f} instructions" if known else "not calibrated"
        if variant.file == selected.file:
            yield variant.file, f"selected, {count}"
        else:
            yield variant.file, f"fits, {count if variant.isa == selected.isa else 'a later instruction set'}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--target", default="cortex-m4")
    parser.add_argument("--layer", default="", metavar="TEXT")
    arguments = parser.parse_args()
    print(*explained(api.convert(arguments.model), targets.load(arguments.target), arguments.layer), sep="\n")


if __name__ == "__main__":
    main()
