"""Reads a million damaged model files of all formats, and counts what is neither read nor refused.

Seeded and resumable: what is done lies in build/reliability/file_mutants.jsonl, a line for each block of
seeds. Faults that an earlier version of the code had are judged again before the section is written. On
another machine `--add` goes on behind the seeds of the table in docs/reliability.md, and adds to its numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from support.file_mutants import MEMORY, SECONDS, formats, judge, limit_memory, prepare

from benchmarks.results import RELIABILITY, commit, cumulated, table, write_section

ROOT = Path(__file__).parents[2]
STATE = ROOT / "build" / "reliability" / "file_mutants.jsonl"
_BLOCK = 250  # seeds of one format that a process takes at a time
_HANGING = 300  # seconds on the clock without a mutant done: the process sits in code that no signal ends
_CONTEXT = get_context("fork")


@dataclass
class Block:
    """What became of the mutants of a block."""

    format: str
    first: int
    read: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    faults: list[tuple[int, str]] = field(default_factory=list)  # seed, what went wrong
    seconds: float = 0.0  # of processor time, of the slowest
    memory: int = 0  # bytes at most, of the process until here
    commit: str = ""  # that it was judged on

    @property
    def mutants(self) -> int:
        return self.read + sum(self.codes.values()) + len(self.faults)


class Worker:
    """A process that judges blocks, and says which mutant it is at."""

    def __init__(self) -> None:
        self.at = _CONTEXT.Value("q", 0, lock=False)
        self.block: Block | None = None
        self.since = (0, 0.0)  # the mutant last seen, and when
        self.pipe, other = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_work, args=(other, self.at), daemon=True)
        self.process.start()
        other.close()

    def give(self, block: Block) -> None:
        self.block, self.since = block, (-1, time.monotonic())
        self.at.value = block.first
        self.pipe.send((block.format, block.first))

    def hangs(self) -> bool:
        if self.at.value != self.since[0]:
            self.since = (self.at.value, time.monotonic())
        return time.monotonic() - self.since[1] > _HANGING


def _work(pipe: Connection, at: Any) -> None:
    limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        while True:
            try:
                format, first = pipe.recv()
            except EOFError:
                return
            pipe.send(_judged(format, first, Path(folder), at))


def _judged(format: str, first: int, folder: Path, at: Any) -> Block:
    block, codes = Block(format, first), Counter[str]()
    for seed in range(first, first + _BLOCK):
        at.value = seed
        before = time.process_time()
        verdict = judge(format, seed, folder)
        block.seconds = max(block.seconds, time.process_time() - before)
        if verdict.fault:
            block.faults.append((seed, verdict.fault))
        elif verdict.code:
            codes[verdict.code] += 1
        else:
            block.read += 1
    block.codes = dict(codes)
    block.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return block


def run(blocks: Iterator[Block], processes: int, until: float) -> Iterator[Block]:
    """Judge blocks in so many processes; a process that dies or hangs is a fault of the mutant it was at."""
    workers = [Worker() for _ in range(processes)]
    for worker in workers:
        _next(worker, blocks, until)
    while busy := [w for w in workers if w.block]:
        ready = connection.wait([w.pipe for w in busy], timeout=5)
        for i, worker in enumerate(workers):
            if worker.block is None or (worker.pipe not in ready and not worker.hangs()):
                continue
            try:
                if worker.pipe not in ready:
                    raise EOFError
                done = worker.pipe.recv()
            except (EOFError, ConnectionResetError):
                what = "hangs" if worker.process.is_alive() else "ends the process"
                worker.process.kill()
                done = worker.block  # the others of the block stay unjudged
                done.faults = [(worker.at.value, f"{done.format} {worker.at.value}: {what}")]
                workers[i] = Worker()
            yield done
            _next(workers[i], blocks, until)


def _next(worker: Worker, blocks: Iterator[Block], until: float) -> None:
    block = next(blocks, None) if time.monotonic() < until else None
    worker.block = None
    if block is not None:
        worker.give(block)


def wanted(seed: int, mutants: int, done: Sequence[Block]) -> Iterator[Block]:
    """The blocks that are missing, a format after the other, until there are enough mutants."""
    have, total = {(b.format, b.first) for b in done}, sum(b.mutants for b in done)
    for block in done:
        have |= {(block.format, block.first + at) for at in range(0, block.mutants, _BLOCK)}
    for i in count():
        for format in formats():
            if total >= mutants:
                return
            if (format, seed + i * _BLOCK) not in have:
                total += _BLOCK
                yield Block(format, seed + i * _BLOCK)


def stored() -> list[Block]:
    """What is done already."""
    if not STATE.exists():
        return []
    return [Block(**json.loads(line)) for line in STATE.read_text().splitlines()]


def with_earlier(done: Sequence[Block], seed: int) -> list[Block]:
    """What is done, behind what the page says of earlier runs: one block a format, from the first seed on."""
    page = RELIABILITY.read_text(encoding="utf-8")
    section = page.split("<!-- reliability.file_mutants -->")[1].split("<!-- end")[0]
    worst = re.search(
        r"The slowest mutant took ([\d.]+) s, and the largest process used ([\d,]+) MB", section
    )
    assert worst, "the section has other words than report() writes"
    blocks = []
    for format in formats():
        cells = rf"^\| {re.escape(format)} \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| 0 \|$"
        row, own = re.search(cells, section, re.MULTILINE), [b for b in done if b.format == format]
        if row:
            _, read, refused = map(_number, row.groups())
            seconds, memory = float(worst[1]), _number(worst[2]) << 20
            earlier = Block(format, seed, read, {"": refused}, seconds=seconds, memory=memory)
            own = [earlier, *(b for b in own if b.first >= seed + earlier.mutants)]
        blocks += own
    return blocks


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def still_faulty(blocks: Sequence[Block]) -> list[str]:
    """Of the faults that were found, those that this version of the code has."""
    left = []
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks:
            for seed, _ in block.faults:
                if fault := judge(block.format, seed, Path(folder)).fault:
                    left.append(fault)
    return left


def report(blocks: Sequence[Block], seed: int, left: Sequence[str]) -> str:
    """The section, and its table."""
    rows = []
    for format in [*formats(), ""]:
        own = [b for b in blocks if format in ("", b.format)]
        total, read = sum(b.mutants for b in own), sum(b.read for b in own)
        faults = sum(text.startswith(f"{format} ") for text in left) if format else len(left)
        rows.append([format or "all", f"{total:,}", f"{read:,}", f"{total - read - faults:,}", str(faults)])
    found = sum(len(b.faults) for b in blocks)
    found_faults = "1 fault was" if found == 1 else f"{found:,} faults were"
    on_the_way = f" {found_faults} found along the way; what was faulty was run again." if found else ""
    slowest, most = max(b.seconds for b in blocks), max(b.memory for b in blocks)
    return f"""\
Model files with one to four mutations of their structure (operators, operands, attributes, shapes, types,
numbers, archive members, message fields) or of their bytes, starting at seed {seed}. Each is imported and
simplified; half of the models that are accepted are saved and loaded again, half are lowered to kernel
calls, and an eighth is compiled to C. A fault is any exception other than a refusal with an error code, an
assertion, a crash of the process, more than {SECONDS} s of processor time, or more than
{MEMORY >> 30} GB beside what the process had before.{on_the_way}

{table(["format", "mutants", "read", "refused", "faults"], rows)}

The slowest mutant took {slowest:.1f} s, and the largest process used {most / 2**20:,.0f} MB.
All runs, by the commit that they ran on:

{cumulated("reliability.file_mutants", _RUNS, _runs(blocks), RELIABILITY)}"""


_RUNS = ["commit", "seed", "mutants", "faults"]


def _runs(blocks: Sequence[Block]) -> list[list[str]]:
    """How many mutants each commit judged, and the faults that it had."""
    rows = []
    for version in sorted({block.commit for block in blocks} - {""}):
        own = [block for block in blocks if block.commit == version]
        counts = sum(b.mutants for b in own), sum(len(b.faults) for b in own)
        rows.append([version, str(min(b.first for b in own)), *(f"{n:,}" for n in counts)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after so long; run again to go on"
    )
    parser.add_argument("--report", action="store_true", help="write the section of what is done so far")
    parser.add_argument("--add", action="store_true", help="go on behind what docs/reliability.md says")
    options = parser.parse_args()
    for format in formats():
        prepare(format)
    done = stored()
    if options.add:
        done = with_earlier(done, options.seed)
    until = 0.0 if options.report else time.monotonic() + 60 * options.minutes
    STATE.parent.mkdir(parents=True, exist_ok=True)
    version = commit()
    with STATE.open("a") as state:
        for block in run(wanted(options.seed, options.mutants, done), options.processes, until):
            block.commit = version
            done.append(block)
            state.write(json.dumps(asdict(block)) + "\n")
            state.flush()
            for _, fault in block.faults:
                print(fault, flush=True)
    left = still_faulty(done)
    print("\n\n".join(left))
    write_section(
        "reliability.file_mutants", "Damaged model files", report(done, options.seed, left), on=RELIABILITY
    )
    if left:
        raise SystemExit(f"{len(left)} mutants are neither read nor refused")


if __name__ == "__main__":
    main()
