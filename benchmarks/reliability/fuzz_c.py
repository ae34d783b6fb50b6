"""Fuzzes what C takes from outside, by libFuzzer: inputs, states, texts, weights, kept GPU kernels."""

from __future__ import annotations

import argparse
import importlib
import json
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
from support.generated import written
from support.nets import Net
from support.op_cases import Case, as_graph
from support.stateful import random_graph
from support.tokenizers import tokenizer_json

from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import environment, render
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.text.render import render as text_files
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.tokenizer import parse
from edgekit.core import target
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.roi_align import RoiAlign
from edgekit.core.target import Optimize

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
_HARNESSES = ROOT / "benchmarks" / "reliability"
TOKENIZERS = ("qwen2", "mistral", "unigram_bytes")


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


def built(programs: Sequence[Program], optimize: Optimize, folder: Path) -> Path:
    """The fuzzer of these models."""
    names = written(programs, folder, optimize)
    (folder / "harness.c").write_text(c_harness.text(programs, fuzzer=True))
    for name in (compile_ := [*names, "harness.c"]):
        _clang(folder, "-c", name)
    _clang(folder, *(f"{Path(name).stem}.o" for name in compile_), "-o", "fuzzer", "-lm")
    return folder


def built_cache(folder: Path = FOLDER / "cache") -> Path:
    """The fuzzer of what the OpenCL runtime keeps of compiled kernels."""
    net = Net()
    program = compile_graph(net.done(net(Neg(), net.x(3))), target.load("opencl"))
    write(render(program, "speed"), folder)
    _clang(folder, str(_HARNESSES / "fuzz_cache.c"), "-o", "fuzzer")
    return folder


def built_text(kind: str, folder: Path) -> Path:
    """The fuzzer of a tokenizer and of the sampler. It begins with texts in many scripts."""
    tokenizer = parse(Record.of(json.loads(tokenizer_json(kind)), "tokenizer.json"))
    files = {name: text.encode() for name, text in text_files(tokenizer, "net", environment()).items()}
    write(files, folder)
    _clang(
        folder,
        str(_HARNESSES / "fuzz_text.c"),
        *(name for name in files if name.endswith(".c")),
        "-o",
        "fuzzer",
    )
    texts = (
        "",
        "hello \u4f60\u597d",
        "a\u0301 \u1112\u1161\u11ab",
        " 12  34\n",
        "<s>\u2581\U0001f44d\U0001f3fd",
    )
    _begin(folder, [bytes([how]) + text.encode() for how in (0, 3, 8, 12) for text in texts])
    return folder


def built_weights(folder: Path = FOLDER / "weights") -> Path:
    """The fuzzer of weights that runs are given. It begins with the right ones."""
    net = Net(seed=1)
    y = net(Dense(), net.x(2, 8), net.random(4, 8), net.random(4), name="y")
    program = compile_graph(net.done(y).with_name("net"), target.load("host"), by_pointer=True)
    files = render(program, "speed")
    write(files, folder)
    compile_weights(folder)
    blob = files["net_weights.bin"]
    _begin(folder, [b"\1" + blob, b"\0" + blob, b"\0" + blob[:-4], b"\0" + blob[:20], b"\1" + blob + b"more"])
    return folder


def compile_weights(folder: Path) -> None:
    """The fuzzer of the library there."""
    _clang(folder, str(_HARNESSES / "fuzz_weights.c"), "net.c", "net_weights.c", "-o", "fuzzer")


def _begin(folder: Path, inputs: Sequence[bytes]) -> None:
    """Inputs that a fuzzer goes on from."""
    (folder / "corpus").mkdir(exist_ok=True)
    for i, data in enumerate(inputs):
        (folder / "corpus" / f"first{i}").write_bytes(data)


def _clang(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["clang", *_FLAGS, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"clang {' '.join(arguments)}\n{done.stderr[:4000]}")


def fuzzed(what: str, folder: Path, limit: str, seed: int) -> Found:
    """Let a fuzzer run, by -max_total_time or -runs; it goes on from the inputs that earlier runs found."""
    (folder / "corpus").mkdir(exist_ok=True)
    limits = [limit, f"-max_len={_SIZE}", "-timeout=10", "-rss_limit_mb=2048"]
    command = ["./fuzzer", *limits, f"-seed={seed}", "-len_control=10", "-print_final_stats=1", "corpus"]
    # Memory may end: what asks for more is told so, and has to live with it.
    options = {"ASAN_OPTIONS": "max_allocation_size_mb=64:allocator_may_return_null=1"}
    # The peak of memory begins with that of the process that starts another one: with a shell it is small.
    small = ["sh", "-c", '"$@"; exit $?', "sh", *command]
    done = subprocess.run(
        small, cwd=folder, capture_output=True, text=True, errors="replace", env={**os.environ, **options}
    )
    said = done.stderr
    runs = re.search(r"stat::number_of_executed_units: (\d+)", said)
    edges = re.findall(r" cov: (\d+)", said)
    finding = said[-6000:] if done.returncode else ""
    return Found(what, int(runs[1]) if runs else 0, int(edges[-1]) if edges else 0, finding)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600, help="for each fuzzer")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    programs = list(models())
    found = []
    limit = f"-max_total_time={options.seconds}"
    for optimize in ("size", "speed"):
        # Kernels lie in each model at speed: one model of an operator has them all.
        some = [
            p for p in programs if optimize == "size" or p.name.startswith("stream") or p.name.endswith("_0")
        ]
        what = f"{len(some)} models, `--optimize {optimize}`"
        found.append(fuzzed(what, built(some, optimize, FOLDER / optimize), limit, options.seed))
    found.append(fuzzed("cache of compiled GPU kernels", built_cache(), limit, options.seed))
    for kind in TOKENIZERS:
        what = f"tokenizer `{kind}`, and the sampler"
        found.append(fuzzed(what, built_text(kind, FOLDER / kind), limit, options.seed))
    found.append(fuzzed("weights by pointer", built_weights(), limit, options.seed))
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
the caller's function. Tokenizers take texts of any bytes and tokens of any number, the sampler logits and
settings of any bits, and libraries whose weights are an argument of each run take any bytes for them; what
passes their check is run.
No C of EdgeKit decodes images: pages and apps use what their system has.

{table(["", "runs", "edges", "findings"], rows)}"""
    write_section("reliability.fuzz_c", "Fuzzing the C side", text, on=RELIABILITY)


if __name__ == "__main__":
    main()
