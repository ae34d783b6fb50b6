"""npm packages in Node, several threads against one, in one program and in turn: docs/performance.md.

python -m benchmarks.cores_node [--threads 2]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.cores import NETWORKS, ROUNDS, Measured, numbers, write
from edgekit import api
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.core import target as targets

SCRIPT = """
import { createModel } from "./npm/NAME.js";
const one = await createModel({ threads: 1 }), all = await createModel({ threads: THREADS });
const timed = (model) => {
  const start = performance.now();
  model.run();
  return 1000 * (performance.now() - start);
};
const most = one.input instanceof Float32Array ? 1 : 127;
for (const { input } of [one, all]) for (let i = 0; i < input.length; i++) input[i] = most * Math.sin(i);
const times = [[], []];
for (let i = -3; i < ROUNDS; i++) {
  const alone = timed(one);
  all.run(); // so that no worker is asleep
  const together = timed(all);
  if (i >= 0) [alone, together].forEach((time, which) => times[which].push(time));
}
console.log(...times.map((found) => found.sort((a, b) => a - b)[found.length >> 1]));
"""


def in_node(threads: int, folder: Path) -> Iterator[Measured]:
    target = replace(targets.load("wasm32-simd"), cores=threads)
    for title, network in NETWORKS.items():
        for kind, graph in numbers(network()):
            own = folder / f"{graph.name}_{kind}"
            program = fit(graph, target)
            api.build(graph, own, target=target, cores=threads, package=("npm",), verify=False)
            script = SCRIPT.replace("NAME", program.name)
            for word, value in (("THREADS", threads), ("ROUNDS", ROUNDS)):
                script = script.replace(word, str(value))
            (own / "run.mjs").write_text(script)
            done = subprocess.run(["node", own / "run.mjs"], capture_output=True, text=True, check=True)
            one, several = map(float, done.stdout.split())
            yield title, kind, program, one, several


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    return write("cores_node", "Several cores, WebAssembly", options.threads, in_node)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
