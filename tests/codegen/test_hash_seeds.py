"""Processes number strings and sets in another order each: a model gives the same files in all of them."""

import json
import os
import subprocess
import sys

from support.tools import ROOT

# Layers of every kernel, for sets whose kernels want working memory, packed weights and folded sums.
RENDER = """
import hashlib, json
from support.edge_families import FAMILIES
from support.integer_bench import Bench, Seeded
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.core import target

bench = Bench(Seeded(1))
for family in FAMILIES:
    family(bench)
graph, found = bench.graph(), {}
for name in ("cortex-m55", "aarch64-dotprod"):
    for path, text in render(compile_graph(graph, target.load(name)), "size").items():
        data = text.encode() if isinstance(text, str) else text
        found[f"{name}/{path}"] = hashlib.sha256(data).hexdigest()
print(json.dumps(found))
"""


def rendered(seed: str) -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", RENDER],
        env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    files: dict[str, str] = json.loads(done.stdout)
    return files


def test_the_files_of_a_model_do_not_depend_on_the_process() -> None:
    first, second = rendered("1"), rendered("2")
    assert len(first) > 150
    assert {name for name in first | second if first.get(name) != second.get(name)} == set()
