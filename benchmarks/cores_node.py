"""npm packages in Node, several threads against one, in one program and in turn: docs/performance.md.

python -m benchmarks.cores_node [--threads 2]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.cores import NETWORKS, SECONDS, Measured, numbers, write
from edgekit import api
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.core import target as targets

SCRIPT = """
import { readSync, writeSync } from "node:fs";
import { createModel } from "./npm/NAME.js";
const told = (line) => {
  writeSync(1, `${line}\\n`);
  readSync(0, new Uint8Array(1)); // until Python goes on
};
const one = await createModel({ threads: 1 });
told("one");
const all = await createModel({ threads: THREADS });
told("all");
const timed = (model) => {
  const start = performance.now();
  model.run();
  return 1000 * (performance.now() - start);
};
const most = one.input instanceof Float32Array ? 1 : 127;
for (const { input } of [one, all]) for (let i = 0; i < input.length; i++) input[i] = most * Math.sin(i);
const times = [Infinity, Infinity];
for (const end = performance.now() + 1000 * SECONDS; performance.now() < end; ) {
  times[0] = Math.min(times[0], timed(one));
  all.run(); // so that no worker is asleep
  times[1] = Math.min(times[1], timed(all));
}
console.log(...times);
"""
PINNED = """The main thread and its workers are pinned to a processor each: JavaScript cannot ask for it, and
Linux may leave a worker beside the thread that made it for a tenth of a second.
"""


def in_node(threads: int, folder: Path) -> Iterator[Measured]:
    target = replace(targets.load("wasm32-simd"), cores=threads)
    for title, network in NETWORKS.items():
        for kind, graph in numbers(network()):
            own = folder / f"{graph.name}_{kind}"
            program = fit(graph, target)
            api.build(graph, own, target=target, cores=threads, package=("npm",), verify=False)
            script = SCRIPT.replace("NAME", program.name)
            for word, value in (("THREADS", threads), ("SECONDS", SECONDS)):
                script = script.replace(word, str(value))
            (own / "run.mjs").write_text(script)
            yield title, kind, program, partial(pinned, own / "run.mjs", threads)


def pinned(script: Path, threads: int) -> Iterator[float]:
    """What a script prints, while its main thread and its workers have a processor each."""
    with subprocess.Popen(["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        there, go_on = partial(threads_at, node), partial(print, file=node.stdin, flush=True)
        before = there("one")
        go_on()
        workers = there("all") - before
        assert len(workers) == threads - 1, f"{len(workers)} threads began"
        processors = sorted(os.sched_getaffinity(0))[:threads]
        for thread, processor in zip([node.pid, *workers], processors, strict=True):
            os.sched_setaffinity(thread, {processor})
        go_on()
        assert node.stdout
        return map(float, node.stdout.read().split())


def threads_at(node: subprocess.Popen[str], line: str) -> set[int]:
    """Those of Node when it has printed a line."""
    assert node.stdout
    assert node.stdout.readline().strip() == line
    return set(map(int, os.listdir(f"/proc/{node.pid}/task")))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    return write("cores_node", "Several cores, WebAssembly", options.threads, in_node, PINNED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
