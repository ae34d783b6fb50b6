"""Which tests run a line: recorded once with coverage.py, a test file at a time.

Tests of a kernel are those that compiled it: a family of tests that share one program counts as one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from math import ceil, inf
from pathlib import Path
from typing import Any

from benchmarks.reliability.kernel_users import users
from benchmarks.reliability.mutants import Mutant

# Recorded folders: those whose tests run the mutated code in this process, or compile its kernels.
FOLDERS = (
    *("passes", "frontends", "quantize", "onnx", "tflite", "runtime", "codegen", "ops", "kernels"),
    *("tune", "training", "text", "cli"),
)
NODE_CASES = "benchmarks/reliability/node_cases.py"
# What takes long to import; children of a process have what it has.
HEAVY = ("numpy", "onnx", "torch", "hypothesis", "ml_dtypes", "jinja2", "typer", "flatbuffers")
RECORD_LIMIT = 2400  # seconds that the tests of one file may take
_SOURCES = ("edgekit", "converters", "quantize", "codegen")


def forked(work: Callable[[], int], log: Path, limit: float) -> int | None:
    """The exit code of work in a child of this process, which has the heavy modules already; none if it took
    longer than the limit, in seconds of processor time (a process that waits for ever has forty times as long
    on the clock: machines are shared). What it writes goes to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (ceil(limit), ceil(limit) + 5))
            file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, 1)
            os.dup2(file, 2)
            code = int(work())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + 40 * limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.02)
    os.killpg(child, 9)
    os.waitpid(child, 0)
    return None


def _processor_time() -> float:
    """Of this process and its children, in seconds: a busy machine makes a test no longer."""
    return sum(os.times()[:4])


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class Recorder:
    """A plugin of pytest: the lines, the kernels, the time and the outcome of each test."""

    def __init__(self, tree: Path, most: float) -> None:
        import coverage

        self.tree, self.most = tree, most
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, source=[str(tree / name) for name in _SOURCES], branch=False
        )
        self.tests: dict[str, list[Any]] = {}
        self.kernels: dict[str, set[str]] = defaultdict(set)
        self.now = ""
        self.spent = 0.0
        self.is_watching = False

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out functions that take too long."""
        known = tomllib.loads((self.tree / "tests/times.toml").read_text(encoding="utf-8"))
        items[:] = [item for item in items if self._seconds(item.nodeid, known) <= self.most]

    @staticmethod
    def _seconds(test: str, known: Any) -> float:
        file, _, function = test.partition("[")[0].partition("::")
        return float(known.get(file.removeprefix("tests/"), {}).get(function, 0.0))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.now = nodeid
        self.spent = _processor_time()
        self.coverage.switch_context(nodeid)
        self._watch()

    def pytest_runtest_logreport(self, report: Any) -> None:
        test = self.tests.setdefault(report.nodeid, [0.0, True, 0.0])
        at = 2 if report.when == "setup" else 0
        before, self.spent = self.spent, _processor_time()
        test[at] = round(test[at] + self.spent - before, 3)
        test[1] = test[1] and report.passed

    def _watch(self) -> None:
        """Hear of the kernels that programs are made of, once the code generator is there."""
        module: Any = sys.modules.get("edgekit.codegen.kernels.sources")
        if module is None or self.is_watching:
            return
        plain, self.is_watching = module._instantiate, True

        def made(*arguments: Any) -> Any:
            kernel = plain(*arguments)
            *_, variant, _ = arguments
            for path in (variant.path, *(module.contracts.headers()[name] for name in kernel.supports)):
                self.kernels[str(path.resolve())].add(self.now)
            return kernel

        module._instantiate = made

    def write(self, path: Path, state: str) -> None:
        """The record of a test file: lines and kernels by the index of a test."""
        tests = list(self.tests)
        index = {name: i for i, name in enumerate(tests)}
        data = self.coverage.get_data()
        lines: dict[str, dict[int, list[int]]] = {}
        for file in data.measured_files():
            found = {
                line: [index[c] for c in contexts if c in index]
                for line, contexts in data.contexts_by_lineno(file).items()
            }
            lines[self._name(file)] = {line: ids for line, ids in found.items() if ids}
        kernels = {
            self._name(f): sorted(index[t] for t in ts if t in index) for f, ts in self.kernels.items()
        }
        sources = {name: digest(self.tree / name) for name in [*lines, *kernels]}
        for name, text in sources.items():
            if not (copy := _copy_of(path.parent, text)).exists():
                copy.parent.mkdir(exist_ok=True)
                copy.write_bytes((self.tree / name).read_bytes())
        record = {"state": state, "tests": self.tests, "lines": lines, "kernels": kernels, "sources": sources}
        path.write_text(json.dumps(record))

    def _name(self, file: str) -> str:
        return Path(file).resolve().relative_to(self.tree.resolve()).as_posix()


def test_files(tree: Path) -> list[str]:
    files = [file for name in FOLDERS for file in sorted((tree / "tests" / name).glob("test_*.py"))]
    return [NODE_CASES, *(file.relative_to(tree).as_posix() for file in files)]


def record(tree: Path, folder: Path, files: Iterable[str], most: float = inf) -> None:
    """Run each of these test files that has changed since it was recorded, but no function that takes longer
    than `most` seconds by tests/times.toml."""
    import pytest

    folder.mkdir(parents=True, exist_ok=True)
    for test in files:
        target = folder / (test.replace("/", ".") + ".json")
        state = digest(tree / test)
        if target.exists() and json.loads(target.read_text())["state"] == state:
            continue
        begin = time.monotonic()

        def work(test: str = test, target: Path = target, state: str = state) -> int:
            recorder = Recorder(tree, most)
            recorder.coverage.start()
            code = pytest.main([*PYTEST, "-m", "not slow", test], plugins=[recorder])
            recorder.coverage.stop()
            if recorder.tests:
                recorder.write(target, state)
            return int(code)

        code = forked(work, folder / "log.txt", RECORD_LIMIT)
        print(f"{test}: exit code {code}, {time.monotonic() - begin:.0f} s", flush=True)


PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist")


@dataclass(frozen=True)
class Test:
    """A test, the time that it takes, and the longest time that a test of its file waited for fixtures, which
    others may share: whichever is first pays for it."""

    name: str
    seconds: float
    fixtures: float

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]

    @property
    def function(self) -> str:
        return self.name.partition("[")[0]


class Related:
    """Tests by the line that they run, as recorded."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.tree, self.folder = tree, folder
        self._then: dict[tuple[str, str], dict[int, int]] = {}

    @cached_property
    def _records(self) -> list[Any]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]

    def of(self, mutant: Mutant) -> list[Test]:
        """Tests that run the line of a mutant, or compiled its kernel."""
        if mutant.file.startswith("runtime_c/"):
            return self.of_kernel(mutant.file, mutant.edit.line)
        return self.of_lines(mutant.file, *mutant.edit.tested)

    def of_lines(self, file: str, first: int, last: int) -> list[Test]:
        """Tests that run one of these lines, or ran what was there when recorded. Those that go on as few do
        take turns with the others: most of a reader's tests, say, pass by what it refuses."""
        found: list[Test] = []
        ways: dict[bool, set[str]] = {True: set(), False: set()}  # do they run the next line?
        behind = min((line for line in self._run_lines(file) if line > last), default=0)
        for each in self._records:
            lines = each["lines"].get(file, {})
            then = self._recorded(file, each["sources"].get(file, ""))
            wanted, next = {then.get(line) for line in range(first, last + 1)}, then.get(behind, 0)
            hits = [ids for line, ids in lines.items() if not then or int(line) in wanted]
            some = _tests(each, {i for ids in hits for i in ids})
            on = {test.name for test in _tests(each, set(lines.get(str(next), ())))}
            for test in some:
                ways[test.name in on].add(test.name)
            found += some
        rare = min((way for way in ways.values() if way), key=len, default=set())
        return _in_turns(ordered(found, file), rare)

    def _recorded(self, file: str, state: str) -> Mapping[int, int]:
        """For each line of a file the one that it was in the copy that the record keeps; for a changed line
        one that was in its place, for a new one that before it. Nothing without a copy."""
        if (file, state) not in self._then:
            now, copy = self.tree / file, _copy_of(self.folder, state)
            self._then[file, state] = _moved(copy, now) if copy.is_file() or state == digest(now) else {}
        return self._then[file, state]

    def _run_lines(self, file: str) -> set[int]:
        """Lines that some test runs, of the file as it is."""
        found = set[int]()
        for each in self._records:
            run = each["lines"].get(file, {})
            then = self._recorded(file, each["sources"].get(file, ""))
            found |= {line for line, old in then.items() if str(old) in run}
        return found

    def of_file(self, file: str) -> list[Test]:
        """All tests of a test file."""
        found: list[Test] = []
        for each in self._records:
            found += _tests(each, {i for i, name in enumerate(each["tests"]) if name.startswith(f"{file}::")})
        return ordered(found, file)

    def of_kernel(self, file: str, line: int = 0) -> list[Test]:
        """Tests that compiled a file of the runtime, and those that share their programs; those whose kernels
        call the function at the line of a header take turns with the others."""
        near = {test.name for user in users(self.tree, file, line) for test in self._compiled(user)}
        return _in_turns(ordered(self._compiled(file), file), near)

    def _compiled(self, file: str) -> list[Test]:
        found: list[Test] = []
        for each in self._records:
            names = list(each["tests"])
            families = {_family(names[i]) for i in each["kernels"].get(file, ())}
            found += _tests(each, {i for i, name in enumerate(names) if _family(name) in families})
        return found


def _copy_of(folder: Path, state: str) -> Path:
    """A file as it was recorded, by its digest."""
    return folder / "sources" / state


def _moved(old: Path, new: Path) -> dict[int, int]:
    """The lines of a file, and which those were in an older one; an older one that is gone was the same."""
    after = new.read_text(encoding="utf-8").splitlines()
    before = old.read_text(encoding="utf-8").splitlines() if old.is_file() else after
    parts = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return {line + 1: max(1, min(a + line - c + 1, b)) for _, a, b, c, d in parts for line in range(c, d)}


def _tests(record: Any, wanted: set[int]) -> list[Test]:
    """Those of a record that passed."""
    fixtures = max((test[2] for test in record["tests"].values()), default=0.0)
    return [
        Test(name, seconds, fixtures)
        for i, (name, (seconds, passed, _)) in enumerate(record["tests"].items())
        if passed and i in wanted
    ]


def _in_turns(tests: Iterable[Test], first: Collection[str]) -> list[Test]:
    """One of those with these names, one of the others, and so on."""
    parts: dict[bool, list[Test]] = {True: [], False: []}
    for test in tests:
        parts[test.name in first].append(test)
    pairs = zip_longest(parts[True], parts[False])
    return [test for pair in pairs for test in pair if test is not None]


def _family(test: str) -> str:
    """tests/ops/test_ops.py::test_c[pool-Pool2d(...)-speed] -> ...test_c[pool"""
    return test.split("-")[0]


def ordered(tests: Iterable[Test], file: str) -> list[Test]:
    """Those that are named after the code first, then those of its folder; among them one of each function
    first, the cheapest ahead, then a second one of each, and so on."""
    words = set(re.findall(r"[a-z0-9]+", file.removesuffix(".py"))) - {"ops", "from", "c", "kernels"}
    functions: dict[str, list[Test]] = defaultdict(list)
    for test in sorted(tests, key=lambda t: (t.seconds, t.name)):
        functions[test.function].append(test)
    rounds = [(i, test) for each in functions.values() for i, test in enumerate(each)]

    def place(item: tuple[int, Test]) -> tuple[int, int, float, str]:
        turn, test = item
        _, folder, *rest = test.file.removesuffix(".py").split("/")
        named = bool(words & set("_".join(rest).split("_")))
        distance = 0 if named else 1 if folder in words else 2
        return distance, turn.bit_length(), test.fixtures + test.seconds, test.name

    return [test for _, test in sorted(rounds, key=place)]


def within(tests: Iterable[Test], seconds: float, count: int) -> Iterator[Test]:
    """The first tests that together take no longer than this, the first one always; families count as one."""
    left = seconds
    files, families = set[str](), set[str]()
    for test in tests:
        cost = test.seconds + (0.0 if test.file in files else test.fixtures)
        is_new = _family(test.name) not in families
        if families and (cost > left or (is_new and len(families) == count)):
            continue
        left -= cost
        files.add(test.file)
        families.add(_family(test.name))
        yield test
