"""Checks generated C and kernels for the required rules of MISRA C:2012 with cppcheck.

docs/misra.md lists the deviations: a finding that none of them covers is open, and one that nothing needs is
named. What was checked already lies in build/reliability/misra, by content.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import pkgutil
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ops import cases
from support.exports import SAMPLES
from support.misra import MODEL, PAGE, deviations, findings, required
from support.op_cases import Case, as_graph

from benchmarks.results import RELIABILITY, table, write_section
from edgekit import api
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import render
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.types import DType

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build" / "reliability" / "misra"
_TARGETS = {"portable C": "host", "Cortex-M4": "cortex-m4", "Cortex-M55": "cortex-m55"}


@dataclass(frozen=True)
class Unit:
    """A file to compile, in a folder with all that it includes, and what stands for its content."""

    folder: Path
    path: str
    platform: str
    digest: str


def graphs() -> Iterator[Graph]:
    """Networks of floats and of int8, by the rules of both quantizers, and a case of each operator."""
    digits = ROOT / "examples" / "digits"
    yield api.convert(SAMPLES / "tf" / "net_int8.tflite", name="tflite_int8")
    yield api.convert(digits / "digits.onnx", name="digits")
    yield api.quantize_model(digits / "digits.onnx", digits / "calib.npz")[0].with_name("digits_8")
    seen, chosen = set(), list[Case]()
    for module in pkgutil.iter_modules(cases.__path__):
        for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES:
            key = type(case.op), case.types[0].dtype, case.quants != ()
            if case.types[0].dtype in (DType.F32, DType.S8) and key not in seen:
                seen.add(key)
                chosen.append(case)
    yield as_graph(chosen, "operators")[0]


def units(scratch: Path) -> Iterator[tuple[str, Unit]]:
    """Each file once for each target, with the name of the target."""
    made = list(graphs())
    for what, name in _TARGETS.items():
        for graph in made:
            program = fit(graph, target.load(name))
            folder = scratch / name / program.name
            files = render(program, "size", "c")
            write(files, folder)
            common = [data for path, data in sorted(files.items()) if path.endswith(".h")]
            platform = "unix64" if name == "host" else "arm32-wchar_t2"
            for path in (path for path in files if path.endswith(".c") and not path.endswith("_weights.c")):
                content = platform.encode() + files[path] + b"".join(_included(files, path, common))
                yield what, Unit(folder, path, platform, hashlib.sha256(content).hexdigest()[:24])


def _included(files: Mapping[str, bytes], path: str, common: Sequence[bytes]) -> Iterator[bytes]:
    """The headers that a kernel includes, or all of them for the model."""
    if not path.startswith("edgekit/"):
        yield from common
        return
    todo, seen = [path], set[str]()
    while todo:
        for name in re.findall(rb'#include "([^"]+)"', files[todo.pop()]):
            header = name.decode()
            if header in files and header not in seen:
                seen.add(header)
                todo.append(header)
                yield files[header]


def checked(unit: Unit) -> list[tuple[str, str, int]]:
    """The findings in a file and its headers: rule, file, line; from the cache where it knows them."""
    path = CACHE / f"{unit.digest}.json"
    if not path.exists():
        found = findings(unit.folder, [unit.path], unit.platform)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    return [(rule, file, line) for rule, file, line in json.loads(path.read_text())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        all_ = list(units(Path(scratch)))
        with ThreadPoolExecutor(options.processes) as pool:
            results = list(pool.map(checked, [unit for _, unit in all_]))
    found: dict[str, set[tuple[str, str, int]]] = {what: set() for what in _TARGETS}
    for (what, unit), result in zip(all_, results, strict=True):
        model = unit.folder.name
        found[what] |= {(rule, file.replace(model, MODEL), line) for rule, file, line in result}
    files = {what: len({unit.digest for w, unit in all_ if w == what}) for what in _TARGETS}
    write_section("reliability.misra", "MISRA C:2012", report(found, files), on=RELIABILITY)


def report(found: Mapping[str, set[tuple[str, str, int]]], files: Mapping[str, int]) -> str:
    """The section."""
    allowed = deviations(PAGE.read_text(encoding="utf-8"))
    counts = {what: Counter(r for r, _, _ in places if required(r)) for what, places in found.items()}
    rules = sorted({rule for c in counts.values() for rule in c}, key=lambda r: [*map(int, r.split("."))])
    every = {place for places in found.values() for place in places if required(place[0])}
    open_ = [p for p in every if not any(fnmatchcase(p[1], glob) for glob in allowed.get(p[0], ()))]
    for rule, file, line in sorted(open_):
        print(f"open: {rule} in {file}:{line}")
    for rule in sorted(allowed.keys() - set(rules)):
        print(f"a deviation that nothing needs: {rule}")
    rows = [["files", *(str(files[what]) for what in found), ""]]
    for rule in rules:
        left = sum(place[0] == rule for place in open_)
        rows.append([f"rule {rule}", *(str(c[rule]) for c in counts.values()), str(left)])
    rows.append(["all", *(str(sum(c.values())) for c in counts.values()), str(len(open_))])
    told = subprocess.run(["cppcheck", "--version"], capture_output=True, text=True, check=True)
    return f"""\
Violations of required and mandatory rules that {told.stdout.strip()} and its addon find in the generated C
and the kernels of float and int8 networks (with both rounding rules), and of a model with every operator.
`open` counts those that no deviation in [docs/misra.md](misra.md) covers.

{table(["", *found, "open"], rows)}"""


if __name__ == "__main__":
    main()
