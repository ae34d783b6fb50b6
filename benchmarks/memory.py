"""Working memory of the int8 MLPerf Tiny networks, inputs and outputs included, beside that of TFLite Micro.

Needs the networks as TFLite files (--models). Nothing is compiled: the plan says how large the arena is.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.results import table, write_section
from edgekit import api, target
from edgekit.codegen.program import compile_graph

# File, and the arena that TensorFlow Lite Micro was measured to take, inputs and outputs included.
NETWORKS = {
    "image classification": ("pretrainedResnet_quant", 54_996),
    "keyword": ("kws_ref_model", 22_820),
    "visual wake words": ("vww_96_int8", 100_708),
    "anomaly": ("ad01_int8", 2_580),
}
_NOTE = """\
Bytes with portable kernels (target `{target}`). The caller has the memory of inputs and outputs, or they are
parts of the arena (`--ports arena`), where the planner may use that of an input for something else as soon as
nobody reads it any more. No plan needs less than the bound, whichever offsets it chooses.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--target", default="host")
    arguments = parser.parse_args()
    rows = []
    for title, (name, tflm) in NETWORKS.items():
        graph = api.convert(arguments.models / f"{name}.tflite")
        apart = compile_graph(graph, target.load(arguments.target))
        whole = compile_graph(graph, target.load(arguments.target), "arena")
        sizes = (apart.arena.size, apart.working_bytes, whole.working_bytes, whole.arena.lower_bound, tflm)
        rows.append([title, *(f"{size:,}" for size in sizes), f"{tflm / whole.working_bytes:.1f}x"])
    head = (
        "network",
        "arena alone",
        "with inputs and outputs",
        "--ports arena",
        "bound",
        "TFLM",
        "TFLM / ours",
    )
    note = _NOTE.format(target=arguments.target)
    write_section("memory", "Working memory, int8", f"{table(head, rows)}\n\n{note}")


if __name__ == "__main__":
    main()
