"""EdgeKit's portable C, float and int8, against onnx2c's float C: all in turns in one process.

Needs an onnx2c binary (--onnx2c), the MLPerf Tiny networks as TFLite files (--models), float and int8, and
valgrind, which counts instructions.

onnx2c gets what suits it best: a network without any Transpose; its optimization passes, which are on unless
switched off; the borders of convolutions written as Pad where that is faster; and -ffast-math, which its
README advises, where that is faster. Its sums without that are chains of additions, each of which waits for
the one before: how long differs between processors, and the ratio with it. Instructions do not differ.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from support.tflite_to_onnx import translate

from benchmarks.results import machine, table, write_section
from edgekit import api
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify

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
_ROUNDS = 100
_FLAGS = {"-O3": ["-O3"], "-O3 -ffast-math": ["-O3", "-ffast-math"]}

_NOTE = """\
Microseconds of CPU time: the best decile of {rounds} rounds in which every program runs once. EdgeKit's
code is compiled with -O3 alone. The ratios compare EdgeKit's float32, and the slower of its int8 variants,
with the fastest onnx2c variant: with or without -ffast-math, which its README recommends, and with the
better of two ways to express the padding of convolutions: as `pads` of Conv, for which its code tests the
position of every product, or as a Pad before it. Its optimization passes are enabled. Where its
accumulations are chains of dependent additions, the time depends on the latency of the processor's
addition; the ratios of instructions, counted by callgrind, are independent of the processor. The float
results agree within 1e-4. {machine}.
"""

# Each round runs all once, so that what else the machine does hits all.
_MAIN = """
#include <stdio.h>
#include <stdlib.h>
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
int main(int count, char **words)
{{
    for (int i = 0; i < {inputs}; i++) {{
        x[i] = (float)((i * 37) % 101) / 50.0f - 1.0f;
        bytes[i] = (signed char)((i * 37) % 256 - 128);
    }}
    int rounds = count > 1 ? atoi(words[1]) : 0;
    for (int round = 0; round < rounds; round++) {{
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

    @property
    def function(self) -> str:
        return self.call.split("(")[0]


def library(graph: Graph, name: str, folder: Path, position: int) -> tuple[Program, Entry]:
    """EdgeKit's code, compiled."""
    program = compile_graph(graph.with_name(name), target.load("host"))
    files = generate(program, "speed")
    write(files, folder / name)
    objects = []
    for source in library_sources(files):
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


@dataclass(frozen=True)
class Taken:
    """What a run takes: of EdgeKit in float32, with the integers of the int8 file, with those that `quantize`
    chooses; and of the better way of onnx2c to write borders, by flags."""

    ours: Mapping[str, float]
    theirs: Mapping[str, float]

    @property
    def ratios(self) -> list[str]:
        """Of float32 and of the slower int8 to the fastest of onnx2c."""
        fastest, slowest = min(self.theirs.values()), max(self.ours["file"], self.ours["quantized"])
        return [f"{taken / fastest:.2f}" for taken in (self.ours["float"], slowest)]


def measure(title: str, models: Path, onnx2c: Path, folder: Path) -> tuple[Program, Taken, Taken]:
    """Microseconds and instructions."""
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
    _link(folder, entries, programs)

    def taken(by_name: Mapping[str, float]) -> Taken:
        best = {said: min(by_name[name] for name, way in ways.items() if way == said) for said in _FLAGS}
        return Taken({name: by_name[f"ours_{name}"] for name in kinds}, best)

    return programs["float"], taken(_times(folder, entries)), taken(_instructions(folder, entries))


def _link(folder: Path, entries: Sequence[Entry], programs: Mapping[str, Program]) -> None:
    """One program that runs all in turns, as often as it is told."""
    program = programs["float"]
    timed = 'start = now();\n        {call};\n        printf("%.3f ", now() - start);'
    text = _MAIN.format(
        prototypes="\n".join(entry.prototype for entry in entries),
        calls="\n        ".join(timed.format(call=entry.call) for entry in entries),
        inputs=program.inputs[0].type.size,
        outputs=program.outputs[0].type.size,
        count=len(entries),
        arena=max(p.arena.size for p in programs.values()),
    )
    (folder / "main.c").write_text(text)
    objects = [path for entry in entries for path in entry.objects]
    _gcc(folder, ["-O3", "-I.", "main.c", *objects, "-o", "all", "-lm"])


def _times(folder: Path, entries: Sequence[Entry]) -> dict[str, float]:
    """Microseconds by entry, whose results are compared."""
    command = [str(folder / "all"), str(_ROUNDS)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rounds, results = (
        np.array([[float(word) for word in line.split()] for line in part])
        for part in (out[:_ROUNDS], out[_ROUNDS:])
    )
    for entry, result in zip(entries, results, strict=True):
        if not entry.name.startswith("ours"):
            assert np.abs(result - results[0]).max() <= 1e-4 * np.abs(results[0]).max(), entry.name
    best = np.quantile(rounds, 0.1, axis=0)
    return dict(zip((entry.name for entry in entries), best.tolist(), strict=True))


def _instructions(folder: Path, entries: Sequence[Entry]) -> dict[str, float]:
    """Instructions of one run by entry, with all that it calls."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=counts", "./all", "1"]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    command = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", "counts"]
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    found = {}
    for entry in entries:
        (count,) = re.findall(rf"^ *([\d,]+) .*:{entry.function}\b", out, re.MULTILINE)
        found[entry.name] = float(count.replace(",", ""))
    return found


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
            program, times, counts = measure(
                title, arguments.models, arguments.onnx2c.resolve(), Path(folder)
            )
        each = [f"{time:,.0f}" for taken in (times.ours, times.theirs) for time in taken.values()]
        rows.append([title, f"{program.macs / 1e6:.2f} M", *each, *times.ratios, *counts.ratios])
        print(*rows[-1], sep="  ", flush=True)
    head = ["us", "MACs", "float32", "int8 of the file", "int8 of `quantize`"]
    head += [*(f"onnx2c float32, {said}" for said in _FLAGS), "float32 / onnx2c", "int8 / onnx2c"]
    head += ["instructions: float32 / onnx2c", "int8 / onnx2c"]
    text = table(head, rows) + "\n\n" + _NOTE.strip().format(rounds=_ROUNDS, machine=machine())
    print(text)
    if not arguments.dry:
        write_section("onnx2c", "Portable C against onnx2c", text)


if __name__ == "__main__":
    main()
