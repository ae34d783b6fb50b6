"""A copy of the checkout that mutants are made in, and the tests that run there."""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from onnx.backend.test.loader import load_model_tests

from benchmarks.reliability.mutants import Mutant
from benchmarks.reliability.related_tests import HEAVY, PYTEST, Related, Test, digest, forked
from benchmarks.results import commit

ROOT = Path(__file__).parent.parent.parent
FIRST = 12  # tests, which are run before the others
NOT_RUN = "exit code 4"  # of pytest: a mutant cannot be imported, or there is no such test


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
    commit: str = ""  # that was judged

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.before, self.after


class Workplace:
    """A folder with copies of the checkout, one to record tests and one to make mutants in, and with what was
    found there."""

    def __init__(self, folder: Path, tree: str, seed: int) -> None:
        self.folder, self.tree, self.records = folder, folder / tree, folder / "record"
        self.results_file = folder / f"results_{seed}.jsonl"
        self.related = Related(self.tree, self.records)

    def enter(self) -> None:
        """Let this process and its children import the copy, which is that of the checkout now. No other
        process enters until it ends: mutants of two would meet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = (self.folder / f"{self.tree.name}.lock").open("w", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another process works in {self.tree}") from None
        self._refresh()
        _import_heavy(self.tree)

    def _refresh(self) -> None:
        """Bring the copy up to the checkout: files that git knows or would take."""
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

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """The copy has this mutant, for as long as the block takes."""
        path = self.tree / mutant.file
        source = path.read_text(encoding="utf-8")
        path.write_text(mutant.changed(source), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(source, encoding="utf-8")

    def result(self, mutant: Mutant, verdict: str, tests: int, by: str, begin: float) -> Result:
        """What became of a mutant that was judged from that time on."""
        before, after = mutant.lines((self.tree / mutant.file).read_text(encoding="utf-8"))
        edit, seconds = mutant.edit, round(time.monotonic() - begin, 1)
        return Result(
            mutant.area, mutant.file, edit.kind, edit.line, before, after, verdict, tests, by, seconds
        )

    def keep(self, result: Result) -> None:
        what = f"{result.file}:{result.line} {result.kind}"
        print(f"{result.verdict:9} {result.seconds:6.1f} s  {what}  {result.by}", flush=True)
        with self.results_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(replace(result, commit=commit()))) + "\n")

    def exist(self, tests: Sequence[Test]) -> bool:
        """Does pytest find tests of these names, without the mutant?"""

        def work() -> int:
            import pytest

            return int(pytest.main([*PYTEST, "--collect-only", *(test.name for test in tests)]))

        return forked(work, self.folder / "log.txt", 120) == 0

    def run(self, tests: Sequence[Test]) -> tuple[str, str, int]:
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


def _import_heavy(tree: Path) -> None:
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
