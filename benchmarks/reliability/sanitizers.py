"""Runs the generated C of damaged model files that were accepted under ASan, UBSan and MSan.

Seeded and resumable: what is done lies in build/reliability/sanitizers.jsonl, a line for each batch. Those
with findings of an earlier version are judged again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

from support import c_harness
from support.file_mutants import accepted, formats, prepare
from support.generated import written

from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Optimize

ROOT = Path(__file__).parents[2]
STATE = ROOT / "build" / "reliability" / "sanitizers.jsonl"
_BATCH = 16  # models of a program
_WEIGHTS = 32 << 10  # bytes at most: C text of more takes longer, and breaks no other way
_MACS = 2_000_000
_COMMON = ("-std=gnu99", "-ffp-contract=off", "-fno-math-errno", "-w", "-O1", "-g1", "-I.")
_KINDS: Mapping[str, Sequence[str]] = {
    "ASan, UBSan": ("gcc", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"),
    "MSan": ("clang", "-fsanitize=memory", "-fno-sanitize-recover=all"),
}
_SECONDS = 60  # of a run


@dataclass
class Batch:
    """Models that ran together."""

    optimize: Optimize
    models: list[str]  # format and seed
    texts: list[str]  # hashes of their C without weights
    next: dict[str, int]  # the first seed of each format that was not tried yet
    nodes: int = 0
    faults: list[str] = field(default_factory=list)


def batches(seed: int, done: Sequence[Batch]) -> Iterator[tuple[Batch, list[Program]]]:
    """Batches of accepted mutants whose C differs in more than its weights."""
    at = dict(done[-1].next) if done else dict.fromkeys(formats(), seed)
    seen = {text for batch in done for text in batch.texts}
    host = target.load("host")
    batch, programs = Batch("speed", [], [], {}), list[Program]()
    with tempfile.TemporaryDirectory() as folder:
        for i in count():
            format = formats()[i % len(formats())]
            program = _program(format, at[format], host, Path(folder))
            at[format] += 1
            if program is None:
                continue
            digest = _digest(program)
            if digest in seen:
                continue
            seen.add(digest)
            batch.models.append(f"{format} {at[format] - 1}")
            batch.texts.append(digest)
            programs.append(program)
            if len(programs) == _BATCH:
                batch.next, batch.nodes = dict(at), sum(len(p.lines) for p in programs)
                yield batch, programs
                following: Optimize = "size" if batch.optimize == "speed" else "speed"
                batch, programs = Batch(following, [], [], {}), []


def _program(format: str, seed: int, host: target.Target, folder: Path) -> Program | None:
    graph = accepted(format, seed, folder)
    if graph is None or not graph.nodes:
        return None
    try:
        program = compile_graph(graph.with_name(f"m{seed}_{formats().index(format)}"), host)
    except EdgeKitError:
        return None
    fits = program.weight_bytes <= _WEIGHTS and program.macs <= _MACS and program.lines
    return program if fits else None


def _digest(program: Program) -> str:
    """Of the C text without names of the model and its origin."""
    text = render(program, "size")[f"{program.name}.c"].decode()
    body = text[text.index("*/") :].replace(program.name, "").replace(program.name.upper(), "")
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def judge(batch: Batch, programs: Sequence[Program]) -> None:
    """Compile and run a batch with each sanitizer; what they say is added to it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "harness.c").write_text(c_harness.text(programs))
        compile_ = [*written(programs, folder, batch.optimize), "harness.c"]
        for kind, (compiler, *flags) in _KINDS.items():
            command = [compiler, *_COMMON, *flags, *compile_, "-o", "harness", "-lm"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                batch.faults.append(f"{batch.models}, {kind}: does not compile\n{done.stderr[:3000]}")
                continue
            for i, model in enumerate(batch.models):
                if words := _ran(folder, i):
                    batch.faults.append(f"{model}, {kind}, {batch.optimize}: {words}")


def _ran(folder: Path, index: int) -> str:
    """What a sanitizer says of a model, or nothing."""
    try:
        done = subprocess.run(
            ["./harness", str(index)], cwd=folder, capture_output=True, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"runs longer than {_SECONDS} s"
    return "" if done.returncode == 0 else f"ended with {done.returncode}\n{done.stderr[:3000]}"


def stored() -> list[Batch]:
    """What is done already."""
    if not STATE.exists():
        return []
    return [Batch(**json.loads(line)) for line in STATE.read_text().splitlines()]


def again(done: Sequence[Batch], seed: int) -> list[Batch]:
    """The batches, those with findings of an earlier version as they are judged now."""
    found = []
    for i, old in enumerate(done):
        if old.faults:
            batch, programs = next(batches(seed, done[:i]))
            if batch.models == old.models:
                judge(batch, programs)
                old = batch
        found.append(old)
    return found


def report(done: Sequence[Batch], seed: int) -> str:
    """The section."""
    rows = []
    for format in [*formats(), ""]:
        models = [m for b in done for m in b.models if m.rpartition(" ")[0] == format or not format]
        faults = sum(not format or f.startswith(f"{format} ") for b in done for f in b.faults)
        rows.append([format or "all", f"{len(models):,}", str(faults)])
    layers = sum(b.nodes for b in done)
    return f"""\
Damaged model files (see above) that were accepted and whose C differs in more than its weights, starting at
seed {seed}: {layers:,} kernel calls. One half is compiled for speed and the other for size, with gcc under
AddressSanitizer and UndefinedBehaviorSanitizer (including float-cast-overflow), and with clang under
MemorySanitizer. Each runs on zeros, on all-ones bits, on small numbers, on random bytes, and on NaN,
infinities and the limits of each type, in allocations of exactly the sizes that its header declares.

{table(["format", "models", "findings"], rows)}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after so long; run again to go on"
    )
    options = parser.parse_args()
    done, until = again(stored(), options.seed), time.monotonic() + 60 * options.minutes
    STATE.parent.mkdir(parents=True, exist_ok=True)
    if until > time.monotonic():
        for format in formats():
            prepare(format)
    following = batches(options.seed, done)
    with STATE.open("w") as state:
        state.writelines(json.dumps(asdict(batch)) + "\n" for batch in done)
        while sum(len(b.models) for b in done) < options.models and time.monotonic() < until:
            batch, programs = next(following)
            judge(batch, programs)
            done.append(batch)
            state.write(json.dumps(asdict(batch)) + "\n")
            state.flush()
            print(*batch.faults, sep="\n", end="", flush=True)
    title = "Sanitizers on the generated C of damaged files"
    write_section("reliability.sanitizers", title, report(done, options.seed), on=RELIABILITY)


if __name__ == "__main__":
    main()
