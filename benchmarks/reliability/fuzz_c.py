"""Fuzzes what the C side takes from outside with libFuzzer: inputs, states, and the cache of GPU kernels."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ops import cases
from support import c_harness
from support.generated import units
from support.nets import Net
from support.op_cases import Case, as_graph
from support.stateful import random_graph

from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import Optimize, render, sources
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.roi_align import RoiAlign

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "reliability" / "fuzz_c"  # programs, and inputs that led somewhere new
_NODES = 12  # cases of a model
_CASES = 48  # of an operator at most
_STREAMS = 12
_SIZE = 4096  # bytes of an input at most
_FLAGS = (
    *("-std=gnu99", "-ffp-contract=off", "-fno-math-errno", "-w", "-O1", "-g1", "-I."),
    "-fsanitize=fuzzer,address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
)
_CACHE = ROOT / "benchmarks" / "reliability" / "fuzz_cache.c"


@dataclass(frozen=True)
class Found:
    """What a fuzzer did."""

    what: str
    runs: int
    edges: int
    finding: str = ""


def models() -> Iterator[Program]:
    """All operators on tensors from outside, a dozen cases a model; and streams with states. RoiAlign
    that takes a sample of each pixel is left out: boxes of any size take 4,096 a side, minutes of a run."""
    host = target.load("host")
    by_operator = defaultdict[str, list[Case]](list)
    for module in pkgutil.iter_modules(cases.__path__):
        for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES:
            if not (isinstance(case.op, RoiAlign) and case.op.samples == 0):
                by_operator[type(case.op).__name__].append(case)
    for operator, all_ in by_operator.items():
        chosen = all_[:: -(-len(all_) // _CASES)]
        for i in range(0, len(chosen), _NODES):
            graph, _, _ = as_graph(chosen[i : i + _NODES], f"{operator.lower()}_{i}")
            yield compile_graph(graph, host)
    for seed in range(_STREAMS):
        yield compile_graph(random_graph(seed).with_name(f"stream_{seed}"), host)


def built(programs: Sequence[Program], optimize: Optimize) -> Path:
    """The fuzzer of these models."""
    folder = FOLDER / optimize
    names = dict[str, None]()
    for program in programs:
        files = render(program, optimize, "c")
        write(files, folder)
        names |= dict.fromkeys(sources(files, optimize))
    (folder / "harness.c").write_text(c_harness.text(programs, fuzzer=True))
    for name in (compile_ := [*units([*names], folder), "harness.c"]):
        _clang(folder, "-c", name)
    _clang(folder, *(f"{Path(name).stem}.o" for name in compile_), "-o", "fuzzer", "-lm")
    return folder


def built_cache() -> Path:
    """The fuzzer of what the OpenCL runtime keeps of compiled kernels."""
    folder, net = FOLDER / "cache", Net()
    program = compile_graph(net.done(net(Neg(), net.x(3))), target.load("opencl"))
    write(render(program, "speed"), folder)
    _clang(folder, str(_CACHE), "-o", "fuzzer")
    return folder


def _clang(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["clang", *_FLAGS, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"clang {' '.join(arguments)}\n{done.stderr[:4000]}")


def fuzzed(what: str, folder: Path, seconds: int, seed: int) -> Found:
    """Let a fuzzer run; it goes on from the inputs that earlier runs found."""
    (folder / "corpus").mkdir(exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-max_len={_SIZE}", "-timeout=10", "-rss_limit_mb=2048"]
    command = ["./fuzzer", *limits, f"-seed={seed}", "-len_control=10", "-print_final_stats=1", "corpus"]
    # Memory may end: what asks for more is told so, and has to live with it.
    options = {"ASAN_OPTIONS": "max_allocation_size_mb=64:allocator_may_return_null=1"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", env={**os.environ, **options}
    )
    said = done.stderr
    runs = re.search(r"stat::number_of_executed_units: (\d+)", said)
    edges = re.findall(r" cov: (\d+)", said)
    finding = said[-6000:] if done.returncode else ""
    return Found(what, int(runs[1]) if runs else 0, int(edges[-1]) if edges else 0, finding)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600, help="for each of the three fuzzers")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    programs = list(models())
    found = []
    for optimize in ("size", "speed"):
        # Kernels lie in each model at speed: one model of an operator has them all.
        some = [
            p for p in programs if optimize == "size" or p.name.startswith("stream") or p.name.endswith("_0")
        ]
        what = f"{len(some)} models, `--optimize {optimize}`"
        found.append(fuzzed(what, built(some, optimize), options.seconds, options.seed))
    found.append(fuzzed("cache of compiled GPU kernels", built_cache(), options.seconds, options.seed))
    for one in found:
        print(one.what, one.finding or "clean")
    nodes = sum(len(p.lines) for p in programs)
    rows = [[f.what, f"{f.runs:,}", f"{f.edges:,}", str(int(bool(f.finding)))] for f in found]
    text = f"""\
libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer (including float-cast-overflow), seed
{options.seed}, {options.seconds} s each. The models contain every operator that has cases in tests/ops, on
tensors of arbitrary bytes (indices out of bounds, NaN and infinities that are converted to integers,
division by zero), {nodes:,} kernel calls; and streams whose states are arbitrary bytes, as if restored from
storage. RoiAlign with a sample for each pixel is left out: its run time depends on its boxes, up to 4,096
samples a side. The kernel cache is fed arbitrary data of any size on each call, as if from a file or from
the caller's function.

{table(["", "runs", "edges", "findings"], rows)}"""
    write_section("reliability.fuzz_c", "Fuzzing the C side", text, on=RELIABILITY)


if __name__ == "__main__":
    main()
