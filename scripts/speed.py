"""Writes tests/speed.toml, the instructions of the reference networks by layer, and prints what changed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import object_cache, sizes, speed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"count these only: {', '.join(speed.TARGETS)}"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a count differs")
    given = parser.parse_args()
    if unknown := [name for name in given.targets if name not in speed.TARGETS]:
        parser.error(f"not among the counted targets: {', '.join(unknown)}")
    object_cache.install()
    old = speed.read()
    compilers, rows, lines = dict[str, str](), dict[speed.Place, speed.Rows](), list[str]()
    for place in speed.places():
        name, network = place
        before = old.rows.get(place, {})
        reason = speed.why_not(name) or ("" if sizes.compiler(name) else "no compiler is here")
        if not sizes.NETWORKS[network].exists():
            reason = f"{sizes.NETWORKS[network].name} is not here"
        if reason or (given.targets and name not in given.targets):
            if not given.targets or name in given.targets:
                print(f"{network} on {name} is left as it is: {reason}", file=sys.stderr)
            compilers[name], rows[place] = old.compilers.get(name, ""), before
            continue
        found = speed.measured(place)
        compilers[name], rows[place] = sizes.compiler(name), speed.carried(before, found)
        lines += speed.changes(place, before, found)
    print("\n".join(lines) or "no change", file=sys.stderr)
    if given.check:
        return int(bool(lines))
    new = speed.Version(compilers, rows)
    speed.FILE.write_text(speed.text(new), encoding="utf-8")
    if rises := speed.rises([*speed.history(), new]):
        print(speed.advice(rises), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
