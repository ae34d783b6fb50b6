"""EdgeKit's portable C, float and int8, against onnx2c's float C: all in turns in one process.

Needs an onnx2c binary (--onnx2c) and the MLPerf Tiny networks as TFLite files (--models), float and int8.

onnx2c gets what suits it best: a network without any Transpose; its optimization passes, which are on
unless switched off; the borders of convolutions written as Pad where that is faster. A column of its own has
what its README advises, -ffast-math.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.results import machine, table, write_section
from edgekit import api, target
from edgekit.codegen.build import generate
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.publish import write
from edgekit.codegen.render import sources
from edgekit.converters.from_onnx import convert
from edgekit.ir import Graph
from edgekit.passes.simplify import simplify
from tests.support.tflite_to_onnx import translate

NETWORKS = {
    "image classification": "pretrainedResnet",
    "keyword": "kws_ref_model_float32",
    "visual wake words": "vww_96_float",
    "anomaly": "ad01_fp32",
}
_INT8 = {
    "image classification": "pretrainedResnet_quant",
    "keyword": "kws_ref_model",
    "visual wake words": "vww_96_int8",
    "anomaly": "ad01_int8",
}
_ROUNDS = 60
_FLAGS = {"-O3": ["-O3"], "-O3 -ffast-math": ["-O3", "-ffast-math"]}

_NOTE = """\
Medians of {rounds} rounds in which all run once, in microseconds of processor time. EdgeKit's code is
compiled with -O3 alone, and the ratios are those to onnx2c's with the same; int8 is the slower of its
columns. onnx2c has its optimization passes on and the better of two ways to write the borders of
convolutions: as `pads` of Conv, for which its code tests the place of every product, or as Pad before
it. The float results agree within 1e-4. {machine}.
"""

# Each round runs all once, so that what else the machine does hits all.
_MAIN = """
#include <stdio.h>
#include <time.h>
{prototypes}
static float x[{inputs}], outputs[{count}][{outputs}];
static signed char bytes[{inputs}], byte_outputs[{outputs}];
static double arena[{arena} / 8 + 1];
static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others use the machine, too */
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}}
int main(void)
{{
    for (int i = 0; i < {inputs}; i++) {{
        x[i] = (float)((i * 37) % 101) / 50.0f - 1.0f;
        bytes[i] = (signed char)((i * 37) % 256 - 128);
    }}
    for (int round = 0; round < {rounds}; round++) {{
        double start;
        {calls}
        printf("\\n");
    }}
    for (int k = 0; k < {count}; k++) {{
        for (int i = 0; i < {outputs}; i++)
            printf("%.9g ", (double)outputs[k][i]);
        printf("\\n");
    }}
    return 0;
}}
"""


@dataclass(frozen=True)
class Entry:
    """One function of the process: what it is called, and how."""

    name: str
    prototype: str
    call: str
    objects: Sequence[str]


def library(graph: Graph, name: str, folder: Path, position: int) -> tuple[Program, Entry]:
    """EdgeKit's code, compiled."""
    program = compile_graph(graph.with_name(name), target.load("host"))
    files = generate(program, "speed")
    write(files, folder / name)
    objects = []
    for source in sources(files, "speed"):
        if not source.endswith("_selftest.c"):
            objects.append(f"{name}/{Path(source).name}.o")
            flags = ["-O3", "-ffp-contract=off", f"-I{name}"]
            _gcc(folder, [*flags, "-c", f"{name}/{source}", "-o", objects[-1]])
    is_float = program.inputs[0].type.dtype.is_float
    ends = f"x, outputs[{position}]" if is_float else "bytes, byte_outputs"
    prototype = f'#include "{name}/{name}.h"'
    return program, Entry(name, prototype, f"{name}_run({ends}, arena)", objects)


def theirs(code: str, folder: Path, flags: Sequence[str], position: int) -> Entry:
    """onnx2c's code, compiled."""
    function = f"theirs_{position}"
    (folder / f"{function}.c").write_text(code)
    _gcc(folder, [*flags, f"-Dentry={function}", "-c", f"{function}.c", "-o", f"{function}.o"])
    prototype = f"void {function}(const void *x, void *y);"
    return Entry(function, prototype, f"{function}(x, outputs[{position}])", [f"{function}.o"])


def translated(model: onnx.ModelProto, onnx2c: Path, folder: Path) -> str:
    """What onnx2c makes of a model."""
    onnx.save(model, folder / "theirs.onnx")
    command = [str(onnx2c), "theirs.onnx"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def with_pads(model: onnx.ModelProto) -> onnx.ModelProto:
    """The network with the borders of its convolutions written by operators of their own."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    zero = numpy_helper.from_array(np.zeros((), np.float32), "border/zero")
    graph.initializer.append(zero)
    for node in [node for node in graph.node if node.op_type == "Conv"]:
        (pads,) = (attribute for attribute in node.attribute if attribute.name == "pads")
        top, left, bottom, right = pads.ints
        if any(pads.ints):
            around = np.array([0, 0, top, left, 0, 0, bottom, right], np.int64)
            name = f"{node.output[0]}/border"
            graph.initializer.append(numpy_helper.from_array(around, f"{name}/around"))
            pad = helper.make_node("Pad", [node.input[0], f"{name}/around", zero.name], [name])
            graph.node.insert(list(graph.node).index(node), pad)
            node.input[0] = name
            pads.ints[:] = [0, 0, 0, 0]
    onnx.checker.check_model(made)
    return made


def measure(title: str, models: Path, onnx2c: Path, folder: Path) -> tuple[Program, dict[str, float]]:
    """Median microseconds: of EdgeKit in float32, with the integers of the int8 file, with those that
    `quantize` chooses; and the better way of onnx2c to write borders, by flags."""
    model = translate(models / f"{NETWORKS[title]}.tflite", layout="NCHW")
    onnx.save(model, folder / "model.onnx")
    graph = simplify(convert(folder / "model.onnx"))
    quantized, _ = api.quantize_model(graph, "random", calibrate="minmax")
    kinds = {
        "float": graph,
        "file": api.convert(models / f"{_INT8[title]}.tflite"),
        "quantized": quantized,
    }
    entries: list[Entry] = []
    programs: dict[str, Program] = {}
    for name, kind in kinds.items():
        programs[name], entry = library(kind, f"ours_{name}", folder, len(entries))
        entries.append(entry)
    ways = {}
    for written in (model, with_pads(model)):
        code = translated(written, onnx2c, folder)
        for said, flags in _FLAGS.items():
            entries.append(theirs(code, folder, flags, len(entries)))
            ways[entries[-1].name] = said
    times = _run(folder, entries, programs)
    ours = {name: times[f"ours_{name}"] for name in kinds}
    best = {said: min(times[name] for name, way in ways.items() if way == said) for said in _FLAGS}
    return programs["float"], {**ours, **best}


def _run(folder: Path, entries: Sequence[Entry], programs: Mapping[str, Program]) -> dict[str, float]:
    program = programs["float"]
    timed = 'start = now();\n        {call};\n        printf("%.3f ", now() - start);'
    text = _MAIN.format(
        prototypes="\n".join(entry.prototype for entry in entries),
        calls="\n        ".join(timed.format(call=entry.call) for entry in entries),
        inputs=program.inputs[0].type.size,
        outputs=program.outputs[0].type.size,
        count=len(entries),
        arena=max(p.arena.size for p in programs.values()),
        rounds=_ROUNDS,
    )
    (folder / "main.c").write_text(text)
    objects = [path for entry in entries for path in entry.objects]
    _gcc(folder, ["-O3", "-I.", "main.c", *objects, "-o", "all", "-lm"])
    out = subprocess.run([folder / "all"], capture_output=True, text=True, check=True).stdout.splitlines()
    rounds = np.array([[float(word) for word in line.split()] for line in out[:_ROUNDS]])
    results = np.array([[float(word) for word in line.split()] for line in out[_ROUNDS:]])
    for entry, result in zip(entries, results, strict=True):
        if not entry.name.startswith("ours"):
            assert np.abs(result - results[0]).max() <= 1e-4 * np.abs(results[0]).max(), entry.name
    medians = [statistics.median(column) for column in rounds[_ROUNDS // 10 :].T]
    return dict(zip((entry.name for entry in entries), medians, strict=True))


def _gcc(folder: Path, arguments: Sequence[str]) -> None:
    subprocess.run(["gcc", *arguments], cwd=folder, check=True)


def main() -> None:
    """Measure, print, write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--onnx2c", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="folder of the MLPerf Tiny .tflite files")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    rows = []
    for title in NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            program, times = measure(title, arguments.models, arguments.onnx2c.resolve(), Path(folder))
        slowest, theirs_is = max(times["file"], times["quantized"]), times["-O3"]
        rows.append(
            [
                title,
                f"{program.macs / 1e6:.2f} M",
                *(f"{time:,.0f}" for time in times.values()),
                *(f"{time / theirs_is:.2f}" for time in (times["float"], slowest)),
            ]
        )
        print(*rows[-1], sep="  ", flush=True)
    head = ["us", "MACs", "float32", "int8 of the file", "int8 of `quantize`"]
    head += [*(f"onnx2c float32, {said}" for said in _FLAGS), "float32 / onnx2c", "int8 / onnx2c"]
    text = table(head, rows) + "\n\n" + _NOTE.strip().format(rounds=_ROUNDS, machine=machine())
    print(text)
    if not arguments.dry:
        write_section("onnx2c", "Portable C against onnx2c", text)


if __name__ == "__main__":
    main()
