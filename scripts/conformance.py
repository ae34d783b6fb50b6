"""Runs the test suites of onnx through compiled C, and prints what is not right, and why."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import operator_matrix
from support.node_suite import Outcome, Verdict, run
from support.onnx_cases import cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression that finds the cases")
    parser.add_argument("--sanitize", action="store_true", help="compile with sanitizers")
    parser.add_argument("--write-docs", action="store_true", help="write docs/ops.md; takes all cases")
    parser.add_argument("-v", "--verbose", action="store_true", help="print errors in full")
    options = parser.parse_args()
    names = [case.name for case in cases() if re.search(options.pattern, case.name)]
    if options.write_docs and len(names) < len(cases()):
        parser.error("--write-docs takes all cases")
    outcomes = run(names, options.sanitize)
    if options.write_docs:
        operator_matrix.PAGE.write_text(operator_matrix.page(outcomes), encoding="utf-8")
    for outcome in outcomes:
        if outcome.verdict is not Verdict.RIGHT:
            print(f"{outcome.verdict.value:8} {outcome.name}   {_text(outcome, options.verbose)}")
    kinds = {case.name: case.kind for case in cases()}
    counts = Counter((kinds[outcome.name], outcome.verdict) for outcome in outcomes)
    for kind in dict.fromkeys(kind for kind, _ in counts):
        print(f"{kind}: " + ", ".join(f"{counts[kind, verdict]} {verdict.value}" for verdict in Verdict))
    return 1 if any(verdict in (Verdict.WRONG, Verdict.CRASH) for _, verdict in counts) else 0


def _text(outcome: Outcome, verbose: bool) -> str:
    if verbose:
        return outcome.detail
    lines = outcome.detail.strip().splitlines() or [""]
    return (lines[-1] if lines[0].startswith("Traceback") else " ".join(lines))[:200]


if __name__ == "__main__":
    sys.exit(main())
