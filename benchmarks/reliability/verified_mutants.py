"""Planted faults that verification refuses: mutants of the C of small libraries.

Whatever a fault of a kernel, of lowering or of the planner does, it does in this C: a bound, an operator, a
constant or an operand of a kernel, a parameter of a layer, the place of a tensor. A seed draws such changes.
Each is compiled, and verified as `edgekit build` does it. It is refused if that ends in an error. If it does
not, it is missed where the library gives other numbers for inputs that no verification has, and right where
it gives none: then it changes speed, or nothing in this network. What is right does not count.

    python -m benchmarks.reliability.verified_mutants run --count 100 --seed 3
    python -m benchmarks.reliability.verified_mutants missed --seed 3    # as diffs
    python -m benchmarks.reliability.verified_mutants write --seed 3     # the table in docs/reliability.md
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from benchmarks.reliability import mutants_c
from benchmarks.reliability.mutants import sampling_key
from benchmarks.reliability.mutants_python import Edit
from benchmarks.reliability.planted_networks import NETWORKS
from benchmarks.results import RELIABILITY, commit, table, write_section
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import compile_objects
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.verification import selftest
from edgekit.codegen.verification.verify import drive, random_samples, verify
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.input_ranges import CHOICES
from edgekit.core.types import Array

TARGETS = ("host", "x86-64-avx2")
NAME = "net"
_SEED, _SAMPLES = 1000, 36  # inputs that no verification draws
_SIZES = (1.0, 1.0, 1.0, 0.01, 4.0, 30.0)  # of floats
# Of the largest value of an output: sums in another order change it by less.
_FAR = {"f32": 1e-3, "bf16": 3e-2}
_SECONDS = 10  # that a process may take: a fault may never end
_PLACE = re.compile(r"(?<=, arena, )\d+(?=\))")
_AREAS = ("kernels", "headers of kernels", "parameters and places")
_SHARES = {"kernels": 3, "headers of kernels": 1, "parameters and places": 2}  # of six mutants


def edits(file: str, source: str) -> list[Edit]:
    """Every mutant of a file of a library. The place of a tensor may be that of another one, too."""
    found = mutants_c.edits(source)
    if file == f"{NAME}.c":
        places = [(match.start(), match[0]) for match in _PLACE.finditer(source)]
        values = sorted({int(value) for _, value in places})
        for at, value in places if len(values) > 1 else ():
            other = str(values[values.index(int(value)) - 1])
            line = source.count("\n", 0, at) + 1
            start = len(source[:at].encode())
            found.append(Edit("another place", line, start, start + len(value), other, (line, line)))
    return found


def area(file: str) -> str:
    return _AREAS[2] if file == f"{NAME}.c" else _AREAS[1] if file.endswith(".h") else _AREAS[0]


def drawn(files: Mapping[str, str], count: int, seed: str) -> list[tuple[str, Edit]]:
    """Mutants of a library by seed, areas in turn; kinds of changes that are rare weigh more."""
    sites: dict[str, list[tuple[str, Edit]]] = {name: [] for name in _AREAS}
    for file, source in files.items():
        sites[area(file)] += [(file, edit) for edit in edits(file, source)]

    def queue(found: list[tuple[str, Edit]]) -> list[tuple[str, Edit]]:
        often = Counter(edit.kind for _, edit in found)

        def key(site: tuple[str, Edit]) -> float:
            file, edit = site
            return sampling_key(f"{seed} {file} {edit.start} {edit.text} {edit.kind}", often[edit.kind])

        return sorted(found, key=key, reverse=True)

    queues = [queue(sites[name])[at :: _SHARES[name]] for name in _AREAS for at in range(_SHARES[name])]
    mixed = [site for sites in zip_longest(*queues) for site in sites if site is not None]
    return mixed[:count]


@dataclass(frozen=True)
class Result:
    network: str
    target: str
    area: str
    file: str
    kind: str
    line: int
    before: str
    after: str
    verdict: str  # refused, missed, right, or not compiled
    by: str = ""
    commit: str = ""  # that was judged


class Library:
    """A library, and what judges mutants of it."""

    def __init__(self, network: str, name: str, folder: Path) -> None:
        graph = next(each.graph() for each in NETWORKS if each.name == network).with_name(NAME)
        self.network, self.name, self.folder = network, name, folder
        self.program = fit(graph, target.load(name), "caller", optimize="size")
        files = generate(self.program, "size", test=selftest.prepare(graph, []))
        write(files, folder)
        self.files = files
        self.compiler = toolchain.find(self.program.target)
        self.objects = compile_objects(self.program, files, folder, self.compiler, "size")
        self.compiled = {name: (folder / name).read_bytes() for name in self.objects}
        self.run = random_samples(self.program)
        self.samples = [self._sample(i) for i in range(_SAMPLES)]
        self.expected = list(simulate.run_each(graph, self.samples))

    def _sample(self, i: int) -> dict[str, Array]:
        graph, size = self.program.graph, _SIZES[i % len(_SIZES)]
        drawn = simulate.random_inputs(graph, _SEED + i, i % CHOICES)
        return {name: (x * size).astype(x.dtype) if x.dtype.kind == "f" else x for name, x in drawn.items()}

    @property
    def sources(self) -> dict[str, str]:
        """What mutants change: code, but no weights and no self-test."""
        left = {f"{NAME}_weights.c", f"{NAME}_selftest.c"}
        code = {name for name in self.files if name.endswith(".c") and name not in left}
        headers = {name for name in self.files if name.startswith("edgekit/") and name.endswith(".h")}
        return {name: self.files[name].decode() for name in sorted(code | headers)}

    def judge(self, file: str, edit: Edit) -> Result:
        source = self.files[file].decode()
        text = edit.apply(source)
        line = edit.line - 1
        after = text.splitlines()[line].strip()
        result = Result(
            self.network,
            self.name,
            area(file),
            file,
            edit.kind,
            edit.line,
            source.splitlines()[line].strip(),
            after,
            "right",
        )
        (self.folder / file).write_text(text)
        try:
            return self._verified(result) if self._compiles() else replace(result, verdict="not compiled")
        finally:
            write(self.files | self.compiled, self.folder)

    def _compiles(self) -> bool:
        try:
            compile_objects(self.program, self.files, self.folder, self.compiler, "size")
        except EdgeKitError:
            return False
        return True

    def _verified(self, result: Result) -> Result:
        try:
            driver = drive(self.program, self.objects, self.folder, self.compiler, "size")
            driver.seconds = _SECONDS
            verify(self.program, driver, self.compiler, self.objects, self.run)
        except EdgeKitError as error:
            return replace(result, verdict="refused", by=f"{error.code} {error.message}"[:200])
        try:
            for i, found in enumerate(driver.run_each(self.program, self.samples)):
                if not all(map(self._is_right, found.values(), (self.expected[i][name] for name in found))):
                    return replace(result, verdict="missed", by=f"sample {i}")
        except EdgeKitError as error:
            return replace(result, verdict="missed", by=error.message[:200])
        return result

    def _is_right(self, found: Array, right: Array) -> bool:
        if right.dtype.kind in "biu":
            return np.array_equal(found, right)
        found, right = (values.astype(np.float64) for values in (found, right))
        kind = self.network.split()[-1]
        largest = np.abs(np.where(np.isfinite(right), right, 0)).max(initial=0)
        return np.allclose(found, right, 0, _FAR.get(kind, 1e-6) * largest, equal_nan=True)


def results(path: Path) -> list[Result]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Result(**json.loads(line)) for line in lines]


def run(path: Path, count: int, seed: int) -> None:
    """Judge mutants of a seed, library by library; those that were judged are kept."""
    cases = sorted(
        ((network.name, name) for network in NETWORKS for name in TARGETS),
        key=lambda case: hashlib.sha256(f"{seed} {case}".encode()).digest(),
    )
    known = Counter((result.network, result.target) for result in results(path))
    version = commit()
    path.parent.mkdir(parents=True, exist_ok=True)
    for i, case in enumerate(cases):
        wanted = count * (i + 1) // len(cases) - count * i // len(cases)
        if known[case] >= wanted:
            continue
        with tempfile.TemporaryDirectory() as folder, path.open("a", encoding="utf-8") as file:
            library = Library(*case, Path(folder))
            for result in judged(library, wanted, seed, known[case]):
                file.write(json.dumps(asdict(replace(result, commit=version))) + "\n")
                file.flush()
                print(f"{result.verdict:12} {case} {result.file}:{result.line} {result.kind}", flush=True)


def judged(library: Library, count: int, seed: int, first: int = 0) -> Iterator[Result]:
    for file, edit in drawn(library.sources, count, f"{seed} {library.network} {library.name}")[first:]:
        yield library.judge(file, edit)


def missed(found: Sequence[Result]) -> str:
    return "\n".join(
        f"{r.network} on {r.target}, {r.file}:{r.line} ({r.kind}; {r.by})\n- {r.before}\n+ {r.after}\n"
        for r in found
        if r.verdict == "missed"
    )


def written(found: Sequence[Result], seed: int) -> str:
    rows = []
    for name in (*_AREAS, ""):
        verdicts = [r.verdict for r in found if name in ("", r.area)]
        right, refused, not_seen = (verdicts.count(word) for word in ("right", "refused", "missed"))
        share = f"{100 * refused / (refused + not_seen):.0f} %" if refused + not_seen else "-"
        rows.append([name or "all", *map(str, (right + refused + not_seen, right, refused, not_seen)), share])
    head = ("area", "mutants", "same numbers", "refused", "missed", "refused, of those with other numbers")
    count = len({(r.network, r.target) for r in found})
    libraries = f"{count} of {len(NETWORKS) * len(TARGETS)} small libraries"
    commits = ", ".join(dict.fromkeys(r.commit for r in found))
    return f"""Commits {commits}, seed {seed}. Each mutant changes one place in the C of one of {libraries}
({" and ".join(TARGETS)}, `--optimize size`): a bound, an operator, a constant or an operand of a kernel, a
parameter of a layer, the place of a tensor. It is refused if the verification of `edgekit build` ends in an
error, and missed if it does not, although the library is wrong for one of {_SAMPLES} inputs that verification
does not have. All others compute the same in that network, and do not count
([ADR 0179](adr/0179-planted-faults-in-builds.md)).

{table(head, rows)}"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("run", "missed", "write"))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "edgekit_mutation")
    options = parser.parse_args(arguments)
    path = options.folder / f"verified_{options.seed}.jsonl"
    match options.verb:
        case "run":
            run(path, options.count, options.seed)
        case "missed":
            print(missed(results(path)))
        case "write":
            text = written(results(path), options.seed)
            write_section("reliability.verified_mutants", "Planted faults in builds", text, on=RELIABILITY)


if __name__ == "__main__":
    main()
