"""Mutation testing: which small changes of the code do its tests notice?

A seed draws mutants over areas of the code. Each is made in a copy of the checkout, where the tests that run
its line, as recorded once, are run in a process of their own until one fails. Results are lines of JSON, so
that a run that was interrupted goes on where it ended:

    python -m benchmarks.reliability.mutation record            # which test runs which line; half an hour
    python -m benchmarks.reliability.mutation run --count 400 --seed 17
    python -m benchmarks.reliability.mutation run --again       # survivors, after tests were added
    python -m benchmarks.reliability.mutation survivors         # their diffs, and the tests that saw them
    python -m benchmarks.reliability.mutation run --count 280 --seed 41  # of which no survivor was read yet
    python -m benchmarks.reliability.mutation write --fresh 41  # the table in docs/reliability.md

A sample is fresh until its survivors are read, as those of seeds 17 and 29 were: draw another seed then.
Mutants that compute the same as the original are listed, each with its reason, in equivalent_mutants.toml.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from onnx.backend.test.loader import load_model_tests

from benchmarks.reliability import mutants_c, mutants_python
from benchmarks.reliability.mutants_python import Edit
from benchmarks.reliability.related_tests import HEAVY, PYTEST, Related, Test, digest, forked, record, within
from benchmarks.results import RELIABILITY, table, write_section

ROOT = Path(__file__).parent.parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
SECONDS = 100.0  # of recorded time that the tests of a mutant may take together: machines are busy then
TESTS = 150  # that judge a mutant at most
FIRST = 12  # of them, which are run before the others
_NOT_RUN = "exit code 4"  # of pytest: a mutant cannot be imported, or there is no such test
DEFAULTS = "tests/frontends/test_attribute_defaults.py"  # reads signatures, and runs nothing of handlers


@dataclass(frozen=True)
class Area:
    """A part of the code, and how many of 100 mutants are drawn from it."""

    name: str
    patterns: tuple[str, ...]
    share: int


AREAS = (
    Area("fixed-point arithmetic", ("edgekit/core/fixed*.py", "runtime_c/include/edgekit/math/fixed*.h"), 12),
    Area("quantization", ("quantize/**/*.py",), 18),
    Area("passes", ("edgekit/core/passes/**/*.py",), 16),
    Area("planner and code generator", ("codegen/**/*.py",), 16),
    Area("readers", ("converters/**/*.py",), 26),
    Area("kernels", ("runtime_c/kernels/*/*.c",), 12),
)
# Files and folders within these patterns that belong to no area, and why. All others do, so that a new module
# has mutants from its first day.
_MEASURES = "compiles, runs or measures what has been generated"
_BESIDE = "writes what stands beside the model"
_EMULATED = "its tests run emulators, for which dsp and wasm stand already"
_LEFT_OUT = {
    _MEASURES: (
        *("compilation/", "execution/", "verification/verify.py"),
        *(f"cost/{name}.py" for name in ("bench", "counting", "estimate", "instructions", "layer_costs")),
    ),
    _BESIDE: ("packages/", "verification/selftest.py", "verification/selftest_source.py"),
    "its tests emulate GPUs, which takes minutes": ("gpu/",),
}
LEFT_OUT = {f"codegen/{name}": reason for reason, names in _LEFT_OUT.items() for name in names}
LEFT_OUT |= {
    f"runtime_c/kernels/{isa}/": _EMULATED
    for isa in ("dotprod", "mve", "neon", "neon32", "relaxed", "thumb", "vfp")
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    area: str
    file: str
    edit: Edit

    def changed(self, source: str) -> str:
        return self.edit.apply(source)

    def lines(self, source: str) -> tuple[str, str]:
        """The lines that it changes, before and after, as one line each: what names it as code moves."""
        old, new = source.splitlines(), self.changed(source).splitlines()
        pairs = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        before = [line.strip() for tag, a, b, _, _ in pairs if tag != "equal" for line in old[a:b]]
        after = [line.strip() for tag, _, _, a, b in pairs if tag != "equal" for line in new[a:b]]
        return " ".join(before), " ".join(after)


def modules(area: Area, root: Path) -> list[Path]:
    """The files of an area."""
    files = {file for pattern in area.patterns for file in root.glob(pattern)}
    left = tuple(str(root / name) for name in LEFT_OUT)
    return sorted(file for file in files if not str(file).startswith(left))


def sites(area: Area, root: Path) -> list[Mutant]:
    """Every mutant of an area."""
    found = []
    for file in modules(area, root):
        edits = mutants_python.edits if file.suffix == ".py" else mutants_c.edits
        name = file.relative_to(root).as_posix()
        found += [Mutant(area.name, name, e) for e in edits(file.read_text(encoding="utf-8"))]
    return found


def drawn(root: Path, count: int, seed: int) -> list[Mutant]:
    """Mutants by seed, areas in turn, so that each beginning of the list is a sample of all areas. Which are
    drawn depends on the lines that they change, and hardly on other code: a sample lasts as code moves."""
    places = []
    for area in AREAS:
        found = sites(area, root)
        often = Counter(mutant.edit.kind for mutant in found)
        keys, seen = [], Counter[str]()
        for mutant in found:
            edit = mutant.edit
            text = f"{seed} {mutant.file} {edit.kind} {edit.source} {edit.text}"
            keys.append(_key(f"{text} {seen[text]}" if seen[text] else text, often[edit.kind] ** -0.5))
            seen[text] += 1
        order = sorted(range(len(found)), key=keys.__getitem__, reverse=True)
        wanted = round(count * area.share / 100)
        chosen = islice(_distinct((found[at] for at in order), root), wanted)
        places += [((i + 0.5) / wanted, area.name, mutant) for i, mutant in enumerate(chosen)]
    return [mutant for _, _, mutant in sorted(places, key=lambda p: p[:2])]


def _key(text: str, weight: float) -> float:
    """The largest of these are a sample with weights: kinds of changes that are rare weigh more, as constants
    alone would be a third of all."""
    uniform = (int(hashlib.sha256(text.encode()).hexdigest()[:13], 16) + 1) / 16**13
    return float(uniform ** (1 / weight))


def _distinct(mutants: Iterable[Mutant], root: Path) -> Iterator[Mutant]:
    """Those that differ in name: the same change of the same line elsewhere in a file has the same."""
    seen = set()
    for mutant in mutants:
        name = (mutant.file, *mutant.lines((root / mutant.file).read_text(encoding="utf-8")))
        if name not in seen:
            seen.add(name)
            yield mutant


def survived(root: Path, results: Iterable[Result]) -> list[Mutant]:
    """The mutants of results that no test noticed, wherever their lines are now; not those that are known to
    compute the same."""
    wanted = {result.key for result in results if result.verdict in ("survived", "untested")}
    wanted -= equivalents().keys()
    files = {file for file, _, _ in wanted}
    found = []
    for area in AREAS:
        for mutant in sites(area, root):
            if mutant.file in files:
                source = (root / mutant.file).read_text(encoding="utf-8")
                if (mutant.file, *mutant.lines(source)) in wanted:
                    found.append(mutant)
    return found


@dataclass(frozen=True)
class Result:
    """What became of a mutant."""

    area: str
    file: str
    kind: str
    line: int
    before: str
    after: str
    verdict: str  # killed, slow, survived, untested
    tests: int
    by: str
    seconds: float

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.before, self.after


class Workplace:
    """A folder with copies of the checkout, one to record tests and one to make mutants in, and with what was
    found there."""

    def __init__(self, folder: Path, seed: int, tree: str) -> None:
        self.folder, self.tree = folder, folder / tree
        self.results_file = folder / f"results_{seed}.jsonl"
        self.related = Related(self.tree, folder / "record")

    def lock(self) -> TextIO | None:
        """Held by one process at a time: mutants of two would meet. None where another has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = (self.folder / f"{self.tree.name}.lock").open("w", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        return file

    def refresh(self) -> None:
        """Bring the copy up to the checkout: files that git knows or would take."""
        self.folder.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        )
        names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
        for old in set(_files(self.tree)) - set(names):
            (self.tree / old).unlink()
        for name in names:
            source, copy = ROOT / name, self.tree / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink():
                if not copy.is_symlink():
                    copy.symlink_to(source.readlink())
            elif not copy.exists() or digest(copy) != digest(source):
                shutil.copy2(source, copy)
        shared, link = ROOT.parent / "shared", self.folder / "shared"
        if shared.exists() and not link.exists():
            link.symlink_to(shared)

    def results(self) -> dict[tuple[str, str, str], Result]:
        """The last result of each mutant whose lines are still there."""
        if not self.results_file.exists():
            return {}
        lines = self.results_file.read_text(encoding="utf-8").splitlines()
        found = {result.key: result for result in (Result(**json.loads(line)) for line in lines)}
        texts = {file: _joined(ROOT / file) for file, _, _ in found}
        return {key: result for key, result in found.items() if result.before in texts[result.file]}

    def judge(self, mutant: Mutant) -> Result:
        """Run the tests of a mutant until one fails."""
        path = self.tree / mutant.file
        source = path.read_text(encoding="utf-8")
        before, after = mutant.lines(source)
        tests = list(within(self._tests(mutant), SECONDS, TESTS))
        begin, verdict, by, ran = time.monotonic(), "untested", "", len(tests)
        if tests:
            path.write_text(mutant.changed(source), encoding="utf-8")
            try:
                verdict, by, ran = self._run(tests)
            finally:
                path.write_text(source, encoding="utf-8")
            if by == _NOT_RUN and not self._exist(tests):
                verdict, by = "untested", "tests are gone: record again"
        seconds = round(time.monotonic() - begin, 1)
        edit = mutant.edit
        return Result(
            mutant.area, mutant.file, edit.kind, edit.line, before, after, verdict, ran, by, seconds
        )

    def _tests(self, mutant: Mutant) -> list[Test]:
        if mutant.file.startswith("runtime_c/"):
            return self.related.of_kernel(mutant.file, mutant.edit.line)
        found = self.related.of_lines(mutant.file, *mutant.edit.tested)
        reads = mutant.edit.kind == "default" and mutant.file.startswith("converters/")
        return [*self.related.of_file(DEFAULTS), *found] if reads else found

    def _exist(self, tests: Sequence[Test]) -> bool:
        """Does pytest find tests of these names, without the mutant?"""

        def work() -> int:
            import pytest

            return int(pytest.main([*PYTEST, "--collect-only", *(test.name for test in tests)]))

        return forked(work, self.folder / "log.txt", 120) == 0

    def _run(self, tests: Sequence[Test]) -> tuple[str, str, int]:
        """(verdict, the test that failed, how many were run); most mutants die of the first few tests."""
        ran = 0
        for part in (tests[:FIRST], tests[FIRST:]):
            if part:
                verdict, by, more = self._run_part(part)
                ran += more
                if verdict != "survived":
                    return verdict, by, ran
        return "survived", "", ran

    def _run_part(self, tests: Sequence[Test]) -> tuple[str, str, int]:
        log, report = self.folder / "log.txt", self.folder / "report.json"
        report.unlink(missing_ok=True)
        watcher = _Watcher(report)

        def work() -> int:
            import pytest

            shutil.rmtree(self.tree / ".hypothesis", ignore_errors=True)
            names = [test.name for test in tests]
            base = f"--basetemp={self.folder / 'temporary'}"
            return int(pytest.main([*PYTEST, "-x", "--tb=no", base, *names], plugins=[watcher]))

        fixtures = {test.file: test.fixtures for test in tests}
        # Of processor time; with coverage, tests were recorded to take longer than they do here.
        limit = 30 + 3 * (sum(test.seconds for test in tests) + sum(fixtures.values()))
        code = forked(work, log, limit)
        done: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {"ran": 0, "failed": ""}
        if code is None:
            return "slow", f"over {limit:.0f} s", done["ran"]
        if code == 0:
            return "survived", "", done["ran"]
        return "killed", done["failed"] or f"exit code {code}", done["ran"]


def _joined(path: Path) -> str:
    """The lines of a file as one line, as mutants name theirs."""
    return " ".join(map(str.strip, path.read_text(encoding="utf-8").splitlines())) if path.exists() else ""


class _Watcher:
    """A plugin of pytest: how many tests were run, and which failed."""

    def __init__(self, report: Path) -> None:
        self.report, self.ran, self.failed = report, 0, ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.ran += 1

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False) and not self.failed:
            self.failed = str(getattr(report, "nodeid", ""))

    def pytest_sessionfinish(self) -> None:
        self.report.write_text(json.dumps({"ran": self.ran, "failed": self.failed}))


def _files(folder: Path) -> Iterator[str]:
    """What is in a copy, without what running tests leaves there."""
    for path in folder.rglob("*") if folder.exists() else ():
        left = {"__pycache__", ".hypothesis", ".pytest_cache"} & set(path.parts)
        if (path.is_file() or path.is_symlink()) and not left:
            yield path.relative_to(folder).as_posix()


def equivalents() -> Mapping[tuple[str, str, str], str]:
    """Judged mutants that no test can notice, and why."""
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(each["file"], each["before"], each["after"]): each["reason"] for each in listed}


def run(place: Workplace, count: int, seed: int, area: str, again: bool) -> None:
    """Judge the mutants of a seed that have no result yet, so many in all; with `again`, those that survived
    instead."""
    known = place.results()
    chosen = survived(place.tree, known.values()) if again else drawn(place.tree, count, seed)
    for mutant in chosen:
        source = (place.tree / mutant.file).read_text(encoding="utf-8")
        key = (mutant.file, *mutant.lines(source))
        if not re.search(area, mutant.area) or (key in known and not again):
            continue
        result = known[key] = place.judge(mutant)
        with place.results_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        what = f"{result.file}:{result.line} {result.kind}"
        print(f"{result.verdict:9} {result.seconds:6.1f} s  {what}  {result.by}", flush=True)
        if not again and len(known) >= count:
            return


def survivors(results: Iterable[Result]) -> str:
    """The mutants that no test noticed, as diffs."""
    known = equivalents()
    left = [r for r in results if r.verdict in ("survived", "untested") and r.key not in known]
    return "\n".join(
        f"{r.file}:{r.line} ({r.area}, {r.kind}; {r.tests} tests run)\n- {r.before}\n+ {r.after}\n"
        for r in left
    )


@dataclass(frozen=True)
class Score:
    """How many mutants were noticed."""

    mutants: int
    killed: int
    equivalent: int

    @staticmethod
    def of(results: Sequence[Result]) -> Score:
        known = equivalents()
        same = [r for r in results if r.key in known and r.verdict in ("survived", "untested")]
        return Score(len(results), sum(r.verdict in ("killed", "slow") for r in results), len(same))

    @property
    def survived(self) -> int:
        return self.mutants - self.killed - self.equivalent

    @property
    def share(self) -> str:
        judged = self.mutants - self.equivalent
        return f"{100 * self.killed / judged:.0f} %" if judged else "-"


def fresh(results: Sequence[Result], seed: int) -> str:
    """On a sample for which no test was written."""
    score = Score.of(results)
    counts = (
        f"{score.killed} killed, {score.equivalent} known to be equivalent, {score.survived} survived, of\n"
        "which some may be equivalent, too"
    )
    return f"""
The tests were improved on this very sample: tests were written for mutants that survived, and a mutant that
was killed keeps this verdict as code moves. A second sample gives an unbiased rate: each of its mutants was
judged once, and no test was written for it. Of {score.mutants} mutants of the seed {seed},
{score.share} were detected: {counts}.
"""


def written(results: Sequence[Result], count: int, seed: int) -> str:
    """The section of docs/reliability.md."""
    rows = []
    for name in [*(area.name for area in AREAS), ""]:
        score = Score.of([r for r in results if name in ("", r.area)])
        counts = score.mutants, score.killed, score.equivalent, score.survived
        rows.append([name or "all", *map(str, counts), score.share])
    head = ("area", "mutants", "killed", "equivalent", "survived", "killed, of those not equivalent")
    whole = "" if len(results) >= count else f"So far, {len(results)} of {count} have been judged. "
    return (
        f"Seed {seed}: each mutant changes one place of the code, such as an operator, constant, default\n"
        f"or branch, and is judged by at most {TESTS} tests that run the changed line, cheapest first, or\n"
        f"families of tests that share a program. These took at most {SECONDS:.0f} seconds when they were\n"
        "recorded; tests marked slow are left out. A mutant that does not terminate counts as killed.\n"
        f"{whole}Equivalent mutants compute the same results;\n"
        "`benchmarks/reliability/equivalent_mutants.toml` gives the reasons.\n\n" + table(head, rows)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("record", "run", "survivors", "write"))
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--area", default="", help="judge mutants of areas whose name has a match")
    parser.add_argument("--again", action="store_true", help="judge survivors anew")
    parser.add_argument(
        "--fresh", type=int, help="write also of a sample that no test was written for: its seed"
    )
    parser.add_argument("--only", default="", help="record test files whose name has a match of this pattern")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "edgekit_mutation")
    options = parser.parse_args(arguments)
    tree = "tree" if options.verb == "record" else "mutants"
    place = Workplace(options.folder.resolve(), options.seed, tree)
    if options.verb in ("record", "run"):
        lock = place.lock()  # until this process ends
        assert lock, "another process records, or runs mutants, in this folder"
        place.refresh()
        _enter(place.tree)
    match options.verb:
        case "record":
            record(place.tree, place.folder / "record", options.only)
        case "run":
            run(place, options.count, options.seed, options.area, options.again)
        case "survivors":
            print(survivors(place.results().values()))
        case "write":
            text = written(list(place.results().values()), options.count, options.seed)
            if options.fresh is not None:
                other = Workplace(place.folder, options.fresh, tree)
                text += "\n" + fresh(list(other.results().values()), options.fresh)
            write_section("reliability.mutation", "Mutation testing", text, on=RELIABILITY)


def _enter(tree: Path) -> None:
    """Let this process and its children import the copy, and have what takes long to import already."""
    os.environ |= {"PYTHONPATH": str(tree), "EDGEKIT_REQUIRE_TOOLS": "1", "OMP_NUM_THREADS": "1"}
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    os.chdir(tree)
    sys.path[:] = [str(tree), *(p for p in sys.path if p and Path(p).resolve() != ROOT)]
    for name in HEAVY:
        importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its generators divide by zero on purpose
        load_model_tests(kind="node")  # generated once, for all children
    assert not any(name.split(".")[0] == "edgekit" for name in sys.modules), "the original has been imported"


if __name__ == "__main__":
    main()
