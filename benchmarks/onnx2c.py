"""Float networks: EdgeKit's portable C against onnx2c's, both compiled by gcc -O3, in turns in one process.

Needs an onnx2c binary (--onnx2c) and the float MLPerf Tiny networks as TFLite files (--models).
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import onnx

from benchmarks.results import machine, table, write_section
from edgekit import target
from edgekit.codegen.build import generate
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.publish import write
from edgekit.codegen.render import sources
from edgekit.converters.from_onnx import convert
from edgekit.passes.simplify import simplify
from tests.support.tflite_to_onnx import translate

NETWORKS = {
    "image classification": "pretrainedResnet",
    "keyword": "kws_ref_model_float32",
    "visual wake words": "vww_96_float",
    "anomaly": "ad01_fp32",
}
_ROUNDS = 60

# Each round runs both once, so that what else the machine does hits both; ratios are taken round by round.
_MAIN = """
#include "ours.h"
#include <stdio.h>
#include <time.h>
void entry(const void *x, void *y);
static float x[{inputs}], y[{outputs}], z[{outputs}];
static double arena[{arena} / 8 + 1];
static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}}
int main(void)
{{
    for (int i = 0; i < {inputs}; i++)
        x[i] = (float)((i * 37) % 101) / 50.0f - 1.0f;
    for (int round = 0; round < {rounds}; round++) {{
        const double start = now();
        ours_run(x, y, arena);
        const double middle = now();
        entry(x, z);
        printf("%.3f %.3f\\n", middle - start, now() - middle);
    }}
    double worst = 0, largest = 0;
    for (int i = 0; i < {outputs}; i++) {{
        const double d = y[i] > z[i] ? y[i] - z[i] : z[i] - y[i], m = z[i] < 0 ? -z[i] : z[i];
        worst = d > worst ? d : worst;
        largest = m > largest ? m : largest;
    }}
    return worst > 1e-4 * largest;
}}
"""


def compare(model: onnx.ModelProto, onnx2c: Path, folder: Path) -> tuple[Program, list[tuple[float, float]]]:
    """Microseconds of both, round by round."""
    onnx.save(model, folder / "model.onnx")
    command = [str(onnx2c), "model.onnx"]
    theirs = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    (folder / "theirs.c").write_text(theirs)
    program = compile_graph(simplify(convert(folder / "model.onnx", name="ours")), target.load("host"))
    files = generate(program, "speed")
    write(files, folder)
    (folder / "main.c").write_text(
        _MAIN.format(
            inputs=program.inputs[0].type.size,
            outputs=program.outputs[0].type.size,
            arena=program.arena.size,
            rounds=_ROUNDS,
        )
    )
    ours = [s for s in sources(files, "speed") if not s.endswith("_selftest.c")]
    flags = ["-O3", "-ffp-contract=off", "-I."]
    subprocess.run(["gcc", *flags, *ours, "theirs.c", "main.c", "-o", "both", "-lm"], cwd=folder, check=True)
    out = subprocess.run([folder / "both"], capture_output=True, text=True, check=True).stdout
    pairs = [(float(a), float(b)) for a, b in re.findall(r"([\d.]+) ([\d.]+)", out)]
    return program, pairs[_ROUNDS // 10 :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--onnx2c", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="folder of the MLPerf Tiny .tflite files")
    arguments = parser.parse_args()
    rows = []
    for title, file in NETWORKS.items():
        model = translate(arguments.models / f"{file}.tflite", layout="NCHW")
        with tempfile.TemporaryDirectory() as folder:
            program, pairs = compare(model, arguments.onnx2c.resolve(), Path(folder))
        ours, theirs = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        ratio = statistics.median(a / b for a, b in pairs)
        rows.append([title, f"{program.macs / 1e6:.2f} M", f"{ours:,.0f}", f"{theirs:,.0f}", f"{ratio:.2f}"])
        print(*rows[-1], sep="  ")
    text = table(["float32", "MACs", "EdgeKit, us", "onnx2c, us", "EdgeKit / onnx2c"], rows)
    note = f"Medians of {_ROUNDS} rounds in which both run once; outputs agree within 1e-4. {machine()}, -O3."
    write_section("onnx2c", "Portable float C against onnx2c", f"{text}\n\n{note}")


if __name__ == "__main__":
    main()
