"""Measures how conversion, planning and code generation grow with the number of nodes."""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import onnx
from support.large_models import FAMILIES

from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx import reader as onnx_reader
from edgekit.core import ek_file, target
from edgekit.core.passes.simplify import simplify

SMALL, LARGE = 3_750, 30_000
_STEPS = ("convert", "plan", "write C")
_TEXT = """\
CPU seconds in one process on a shared machine, for target `host`, without compilation. The ratio is for
{times} times as many nodes; the steps are for {large:,} nodes. The last column shows how far the arena is
above its lower bound for the order of layers that was found. Searches have step budgets that do not depend
on the size, and the same input gives the same bytes; a test counts the work at two sizes
(`tests/codegen/test_large_graphs.py`).

"""


def measured(family: str, nodes: int) -> tuple[list[float], int, int]:
    """Seconds of processor time for each step, and bytes of the arena and of its lower bound."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(FAMILIES[family](nodes), path)
        times = [time.process_time()]
        graph = simplify(onnx_reader.convert(path))
        ek_file.save(graph, path.with_suffix(ek_file.SUFFIX))
        times.append(time.process_time())
    program = compile_graph(graph, target.load("host"))
    times.append(time.process_time())
    generate(program, "speed")
    times.append(time.process_time())
    return (
        [after - before for before, after in pairwise(times)],
        program.arena.size,
        program.arena.lower_bound,
    )


def row(family: str) -> list[str]:
    """A line of the table."""
    (few, _, _), (many, size, bound) = measured(family, SMALL), measured(family, LARGE)
    parts = [f"{seconds:.1f}" for seconds in many]
    ratio = f"{sum(many) / sum(few):.1f}"
    above = "0 %" if size == bound else f"{100 * (size - bound) / max(bound, 1):.1f} %"
    return [family, f"{sum(few):.1f}", f"{sum(many):.1f}", ratio, *parts, above]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=list(FAMILIES), help="print these, write nothing")
    families = parser.parse_args().families
    measured(families[0], 100)  # what is cached is there now
    rows = []
    for family in families:
        rows.append(row(family))
        print(*rows[-1], sep="  ", flush=True)
    if families != list(FAMILIES):
        return
    header = [
        "graph",
        *(f"{nodes:,} nodes, s" for nodes in (SMALL, LARGE)),
        "ratio",
        *_STEPS,
        "above the bound",
    ]
    text = _TEXT.format(times=LARGE // SMALL, large=LARGE) + table(header, rows)
    write_section("reliability.planning", "Planning time", text, on=RELIABILITY)


if __name__ == "__main__":
    main()
