"""Mutation testing: which small changes of the code do its tests notice?

A seed draws mutants over areas of the code. Each is made in a copy of the checkout, where the tests that run
its line, as recorded once, are run in a process of their own until one fails. Results are lines of JSON, so
that a run that was interrupted goes on where it ended:

    python -m benchmarks.reliability.mutation record            # which test runs which line; half an hour
    python -m benchmarks.reliability.mutation run --count 100 --seed 150  # a seed that the page does not have
    python -m benchmarks.reliability.mutation write --seed 150      # the tables in docs/reliability.md
    python -m benchmarks.reliability.mutation survivors --seed 150  # their diffs, and how many tests saw them
    python -m benchmarks.reliability.mutation run --again --seed 150  # survivors, after tests were added

A sample is fresh until its survivors are read: it is written before, and the next one has another seed.
Mutants that compute the same as the original are listed, each with its reason, in equivalent_mutants.toml.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reliability.mutants import AREAS, Mutant, drawn, sites
from benchmarks.reliability.related_tests import Test, record, test_files, within
from benchmarks.reliability.workplace import NOT_RUN, Result, Workplace
from benchmarks.results import RELIABILITY, cumulated, table, write_section

EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
SECONDS = 100.0  # of recorded time that the tests of a mutant may take together: machines are busy then
TESTS = 150  # that judge a mutant at most
DEFAULTS = "tests/frontends/test_attribute_defaults.py"  # reads signatures, and runs nothing of handlers


def judge(place: Workplace, mutant: Mutant) -> Result:
    """Run the tests of a mutant until one fails."""
    tests = list(within(related(place, mutant), SECONDS, TESTS))
    begin, verdict, by, ran = time.monotonic(), "untested", "", len(tests)
    if tests:
        with place.planted(mutant):
            verdict, by, ran = place.run(tests)
        if by == NOT_RUN and not place.exist(tests):
            verdict, by = "untested", "tests are gone: record again"
    return place.result(mutant, verdict, ran, by, begin)


def related(place: Workplace, mutant: Mutant) -> list[Test]:
    """The tests that run the line of a mutant, those that tell most first."""
    found = place.related.of(mutant)
    reads = mutant.edit.kind == "default" and mutant.file.startswith("converters/")
    return [*place.related.of_file(DEFAULTS), *found] if reads else found


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
        result = known[key] = judge(place, mutant)
        place.keep(result)
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
    def counts(self) -> list[str]:
        return [*map(str, (self.mutants, self.killed, self.equivalent, self.survived))]

    @property
    def share(self) -> str:
        judged = self.mutants - self.equivalent
        return f"{100 * self.killed / judged:.0f} %" if judged else "-"


def written(results: Sequence[Result], seed: int) -> str:
    """The section of docs/reliability.md."""
    rows = []
    for name in [*(area.name for area in AREAS), ""]:
        score = Score.of([r for r in results if name in ("", r.area)])
        rows.append([name or "all", *score.counts, score.share])
    commits = ", ".join(dict.fromkeys(r.commit for r in results if r.commit))
    samples = [[commits, str(seed), *score.counts]]
    counts = ("mutants", "killed", "equivalent", "survived")
    return (
        f"Commit {commits}, seed {seed}: each mutant changes one place of the code, such as an operator,\n"
        f"constant, default or branch, and is judged by at most {TESTS} tests that run the changed line,\n"
        "cheapest first, or families of tests that share a program. These took at most\n"
        f"{SECONDS:.0f} seconds when they were recorded; tests marked slow are left out. A mutant that\n"
        "does not terminate counts as killed. No test had been written for a mutant of the sample, so\n"
        "that the share holds for other changes. Equivalent mutants compute the same results;\n"
        "`benchmarks/reliability/equivalent_mutants.toml` gives the reasons, and some that survived may\n"
        "be equivalent, too. The share is a lower bound: tests that were not recorded judge nothing.\n\n"
        f"{table(('area', *counts, 'killed, of those not equivalent'), rows)}\n\nAll samples:\n\n"
        f"{cumulated('reliability.mutation', ('commit', 'seed', *counts), samples, RELIABILITY)}"
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
    parser.add_argument("--only", default="", help="record test files whose name has a match of this pattern")
    parser.add_argument("--most", type=float, default=math.inf, help="record functions of so many seconds")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "edgekit_mutation")
    options = parser.parse_args(arguments)
    tree = "tree" if options.verb == "record" else "mutants"
    place = Workplace(options.folder.resolve(), tree, options.seed)
    if options.verb in ("record", "run"):
        place.enter()
    match options.verb:
        case "record":
            files = [file for file in test_files(place.tree) if re.search(options.only, file)]
            record(place.tree, place.records, files, options.most)
        case "run":
            run(place, options.count, options.seed, options.area, options.again)
        case "survivors":
            print(survivors(place.results().values()))
        case "write":
            text = written(list(place.results().values()), options.seed)
            write_section("reliability.mutation", "Mutation testing", text, on=RELIABILITY)


if __name__ == "__main__":
    main()
