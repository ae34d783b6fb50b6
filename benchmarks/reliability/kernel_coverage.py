"""Branch coverage of the kernels in every instruction set, by their own tests.

The repository is copied, the kernels of the copy record which way each condition goes, and the tests of
kernels run there, each file of them in a process of its own. What was recorded is kept in --folder, so that
a second call goes on where the first one stopped; a change of the kernels starts anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.reliability.c_branches import RECORDER, Site, instrument
from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.kernels.kernel_files import all_variants

ROOT = Path(__file__).parents[2]
UNREACHABLE = Path(__file__).with_name("unreachable_branches.toml")
_FIRST_COMMENT = re.compile(r"\A/\*.*?\*/\n", re.DOTALL)
# Operators in C for every processor; of the integers one build, as all builds have the same cases.
_OPERATORS = ("tests/ops", "-k", "speed or place")
_INTEGERS = ("tests/quantize/test_integers.py::test_c_gives_the_integers_of_the_simulator", "-k", "gcc")
# Networks are no cases of kernels, Windows runs the same ones, and `speed` compiles them once for each layer:
# for tiles of vectors whose outcomes are recorded, that takes compilers an hour. Those of scalars have none.
_KERNELS = (
    "-k",
    "not network and not windows and not sanitized and (not speed or test_vfp) and not give_what",
)
_OTHERS = ("test_every_file.py", "test_branches.py")  # run no kernels

_TEXT = """\
A branch is one outcome of a condition in the source of a kernel, or of a header that it uses: true or false
for an operand of `if`, `for`, `while`, `?:`, `&&` or `||`; taken or not taken for a conditional jump in
assembly. Source counts once, however many types and layers it is compiled for: a branch is covered if any
layer of any test takes it while kernels of that instruction set run, on their processor or in its emulator.
An instruction set has the branches of its own files, and those in the header functions that they call.
Where a kernel shares the source of another file, branches count in the file that holds the code.
Preprocessor conditions and predicated instructions do not count. Where a condition is a compile-time
constant in all programs of an instruction set, such as the number of lanes of a vector, the other outcome
belongs to another set.

The tests are those in `tests/kernels`, and for `ref` also those in `tests/ops` and
`tests/quantize/test_integers.py`. None of them runs a whole network.

{table}

{total}"""


@dataclass(frozen=True)
class Found:
    """What a run of the tests recorded for one target."""

    target: str
    isa: tuple[str, ...]
    taken: frozenset[int]  # branches
    variable: frozenset[int]  # sites that were evaluated when a program ran, not by its compiler
    sites: Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class Coverage:
    """The branches of a set: 2 n where site n is false, or a jump not taken, then where it is true."""

    isa: str
    files: int
    branches: tuple[int, ...]
    missing: tuple[int, ...]
    fixed: frozenset[int]  # of those that are missing: where the compiler knows the condition in this set
    impossible: Mapping[int, str]  # of those that are missing, and why

    @property
    def open(self) -> list[int]:
        return [b for b in self.missing if b not in self.impossible and b not in self.fixed]

    def row(self) -> list[str]:
        taken = len(self.branches) - len(self.missing)
        counts = (
            self.files,
            len(self.branches),
            taken,
            len(self.fixed),
            len(self.impossible),
            len(self.open),
        )
        return [self.isa, *map(str, counts)]


def copied(to: Path) -> None:
    """The files of the repository, as they lie here."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name, follow_symlinks=False)


def instrumented(root: Path) -> list[Site]:
    """Make the kernels of a copy record their branches; all sites, in the order of their numbers."""
    sites: list[Site] = []
    runtime = root / "runtime_c"
    headers = sorted((runtime / "include" / "edgekit").rglob("*.h"))
    for path in (*sorted((runtime / "kernels").glob("*/*.c")), *headers):
        text, found = instrument(str(path.relative_to(runtime)), path.read_text(encoding="utf-8"), len(sites))
        if found and path.suffix == ".h" and path.name != "types.h":
            comment = _FIRST_COMMENT.match(text)
            at = comment.end() if comment else 0
            text = text[:at] + '#include "edgekit/types.h"\n' + text[at:]
        path.write_text(text, encoding="utf-8")
        sites += found
    types = runtime / "include" / "edgekit" / "types.h"
    text = types.read_text(encoding="utf-8") + RECORDER.format(size=3 * len(sites))
    types.write_text(text, encoding="utf-8")
    return sites


def parts() -> dict[str, Sequence[str]]:
    """What pytest is called with, by the name of the record."""
    files = sorted((ROOT / "tests" / "kernels").glob("test_*.py"))
    found = {p.stem: (str(p.relative_to(ROOT)), *_KERNELS) for p in files if p.name not in _OTHERS}
    return {**found, "operators": _OPERATORS, "integers": _INTEGERS}


def tested(root: Path, sites: Sequence[Site], arguments: Sequence[str], to: Path) -> None:
    """Run tests in such a copy. What fails there says so; what the others took counts all the same."""
    variables = {"PYTHONPATH": str(root), "COVER_TO": str(to), "COVER_SIZE": str(3 * len(sites))}
    options = ["-q", "-p", "benchmarks.reliability.branch_recorder", "-p", "no:cacheprovider"]
    options += [f"--basetemp={root.parent / 'tests'}", "--tb=short"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    subprocess.run(command, cwd=root, env={**os.environ, **variables}, check=False, stdout=sys.stderr)


def read(path: Path) -> Iterator[Found]:
    for entry in json.loads(path.read_text(encoding="utf-8")):
        by_set = {isa: frozenset(numbers) for isa, numbers in entry["sites"].items()}
        taken = frozenset(2 * (hit // 3) + hit % 3 for hit in entry["hits"] if hit % 3 < 2)
        variable = frozenset(hit // 3 for hit in entry["hits"] if hit % 3 == 2)
        yield Found(entry["target"], tuple(entry["isa"]), taken, variable, by_set)


def sets() -> list[str]:
    return sorted({variant.isa for variant in all_variants()})


def covered(isa: str, sites: Sequence[Site], found: Sequence[Found]) -> Coverage:
    """What the tests take of a set on targets that have it; of portable C, on those that have no other."""
    mine = [f for f in found if isa in f.isa and (isa != "ref" or f.isa[0] == isa)]
    taken = frozenset[int]().union(*(f.taken for f in mine))
    named = frozenset[int]().union(*(f.sites.get(isa, frozenset()) for f in mine))
    called = {(sites[branch // 2].file, sites[branch // 2].scope) for branch in taken}
    numbers = [
        number
        for number, site in enumerate(sites)
        if site.file.startswith(f"kernels/{isa}/")
        or (number in named and site.file.startswith("include/") and (site.file, site.scope) in called)
    ]
    files = sum(variant.isa == isa for variant in all_variants())
    return coverage(isa, files, numbers, mine, sites)


def coverage(
    isa: str, files: int, numbers: Sequence[int], found: Sequence[Found], sites: Sequence[Site]
) -> Coverage:
    taken = frozenset[int]().union(*(f.taken for f in found))
    variable = frozenset[int]().union(*(f.variable for f in found))
    branches = tuple(2 * number + outcome for number in numbers for outcome in (0, 1))
    missing = tuple(branch for branch in branches if branch not in taken)
    # The compiler knows a condition: the other branch was taken, and never looked at when a program ran.
    fixed = frozenset(b for b in missing if b ^ 1 in taken and b // 2 not in variable)
    impossible = {b: why for b in missing if b not in fixed and (why := why_never(b, isa, sites))}
    return Coverage(isa, files, branches, missing, fixed, impossible)


def why_never(branch: int, isa: str, sites: Sequence[Site]) -> str:
    """Why a branch cannot be taken, as unreachable_branches.toml says; empty where it says nothing."""
    site = sites[branch // 2]
    wanted = [site.file, site.scope, site.text, bool(branch % 2)]
    for reason in reasons():
        if wanted in reason["branches"] and isa in reason.get("sets", [isa]):
            return str(reason["why"])
    return ""


@cache
def reasons() -> Sequence[Mapping[str, Any]]:
    """What unreachable_branches.toml says."""
    found: Sequence[Mapping[str, Any]] = tomllib.loads(UNREACHABLE.read_text(encoding="utf-8"))["reason"]
    return found


def described(branch: int, sites: Sequence[Site]) -> str:
    site = sites[branch // 2]
    verb = "taken" if site.is_jump else "true"
    outcome = f"never {verb}" if branch % 2 else f"always {verb}"
    return f"`{site.text}` is {outcome} in `{site.scope}` of {site.file}, line {site.line}"


def report(found: Sequence[Coverage], everything: Coverage, sites: Sequence[Site]) -> str:
    header = ["set", "kernel files", "branches", "covered", "fixed when compiled", "cannot be taken", "open"]
    text = _TEXT.format(table=table(header, [c.row() for c in found]), total=total(everything))
    never: dict[str, dict[str, set[str]]] = {}
    for mine in found:
        for branch, why in mine.impossible.items():
            never.setdefault(why, {}).setdefault(described(branch, sites), set()).add(mine.isa)
    if never:
        text += "\n\nBranches that cannot be taken:\n"
    for why, branches in never.items():
        text += f"\n- {why[0].upper()}{why[1:]}.\n"
        text += "\n".join(f"    - {', '.join(sorted(isas))}: {words}" for words, isas in branches.items())
    left = [f"- {mine.isa}: {described(branch, sites)}" for mine in found for branch in mine.open]
    if left:
        text += "\n\nBranches that no test takes yet:\n\n" + "\n".join(left)
    return text


def total(everything: Coverage) -> str:
    """All branches once, wherever they are taken."""
    count, missing = len(everything.branches), len(everything.missing)
    return f"Of all {count:,} branches in kernels and headers, {count - missing:,} are taken in some set."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="for the copy and what was recorded; kept, if given")
    parser.add_argument("--only", nargs="*", help="these files of tests alone, without writing a section")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = options.folder or Path(scratch)
        root = folder / "repository"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        copied(root)
        sites = instrumented(root)
        digest = hashlib.sha256(repr(sites).encode()).hexdigest()[:12]
        records = folder / f"records-{digest}"
        records.mkdir(exist_ok=True)
        for name, arguments in parts().items():
            to = records / f"{name}.json"
            if (options.only is None or name in options.only) and not to.exists():
                print(name, file=sys.stderr, flush=True)
                tested(root, sites, arguments, to)
        found = [f for path in sorted(records.glob("*.json")) for f in read(path)]
    each = [covered(isa, sites, found) for isa in sets()]
    everything = coverage("", sum(c.files for c in each), range(len(sites)), found, sites)
    text = report(each, everything, sites)
    print(text)
    for branch in everything.missing:
        print("nowhere:", described(branch, sites), file=sys.stderr)
    if options.only is None:
        write_section("reliability.kernel_coverage", "Branch coverage of the kernels", text, on=RELIABILITY)


if __name__ == "__main__":
    main()
