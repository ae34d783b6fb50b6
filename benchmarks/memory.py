"""Working memory of the int8 MLPerf Tiny networks, inputs and outputs included, beside that of TFLite Micro.

Needs the networks as TFLite files (--models). Nothing is compiled: the plan says how large the arena is.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.results import table, write_section
from edgekit import api
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ir import Graph

# File, and the arena that TensorFlow Lite Micro was measured to take, inputs and outputs included.
NETWORKS = {
    "image classification": ("pretrainedResnet_quant", 54_996),
    "keyword": ("kws_ref_model", 22_820),
    "visual wake words": ("vww_96_int8", 100_708),
    "anomaly": ("ad01_int8", 2_580),
}
PORTABLE = "host"
TARGETS = (
    "cortex-m4",
    "cortex-m55",
    "aarch64",
    "aarch64-dotprod",
    "aarch64-i8mm",
    "armv7-neon",
    "x86-64-avx2",
)
_NOTE = f"""\
Bytes with portable kernels (target `{PORTABLE}`). The caller provides the memory of inputs and outputs, or
they are part of the arena (`--ports arena`), where the planner may reuse the memory of an input as soon as
it is no longer live. The bound is a lower limit for any choice of offsets.
"""
_TARGETS_NOTE = """\
`--ports arena` with the kernels of other targets, including their scratch memory. The bound is in
parentheses where a plan needs more.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    models = parser.parse_args().models
    graphs = {title: api.convert(models / f"{file}.tflite") for title, (file, _) in NETWORKS.items()}
    rows = [_portable(title, graph) for title, graph in graphs.items()]
    head = (
        "network",
        "arena alone",
        "with inputs and outputs",
        "--ports arena",
        "bound",
        "TFLM",
        "TFLM / ours",
    )
    others = [[title, *(_size(graph, name) for name in TARGETS)] for title, graph in graphs.items()]
    text = f"{table(head, rows)}\n\n{_NOTE}\n{table(('network', *TARGETS), others)}\n\n{_TARGETS_NOTE}"
    write_section("memory", "Working memory, int8", text)


def _portable(title: str, graph: Graph) -> list[str]:
    apart = compile_graph(graph, target.load(PORTABLE))
    whole = compile_graph(graph, target.load(PORTABLE), "arena")
    tflm = NETWORKS[title][1]
    sizes = (apart.arena.size, apart.working_bytes, whole.working_bytes, whole.arena.lower_bound, tflm)
    return [title, *(f"{size:,}" for size in sizes), f"{tflm / whole.working_bytes:.1f}x"]


def _size(graph: Graph, name: str) -> str:
    arena = compile_graph(graph, target.load(name), "arena").arena
    return f"{arena.size:,}" if arena.optimal else f"{arena.size:,} ({arena.lower_bound:,})"


if __name__ == "__main__":
    main()
