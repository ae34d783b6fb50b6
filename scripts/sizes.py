"""Writes tests/sizes.toml, bytes of the reference networks, and says what changed; --check says it only."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import sizes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a number is another")
    check = parser.parse_args().check
    compilers, old = sizes.read()
    here = {name: sizes.compiler(name) or compilers.get(name, "") for name in sizes.TARGETS}
    absent = [network for network, path in sizes.NETWORKS.items() if not path.exists()]
    if absent:
        print(f"not here, and left as they are: {', '.join(absent)}", file=sys.stderr)
    rows: dict[sizes.Place, sizes.Row] = {}
    lines: list[str] = []
    for place in sizes.places():
        name, _, network = place
        row = old.get(place, {})
        if network in absent:
            if here[name] != compilers.get(name):
                was = compilers.get(name)
                print(f"{network} on {name} is of {was}, not of {here[name]}", file=sys.stderr)
                return 1
            rows[place] = row
            continue
        found = dict(sizes.planned(place))
        if sizes.compiler(name):
            found |= sizes.compiled(place)
        else:
            found |= {what: size for what, size in row.items() if what in sizes.COMPILED}
        rows[place] = found
        lines += sizes.changes(place, row, found)
    gone = [" ".join(place) for place in old if place not in rows]
    lines += [f"{place} is in the file, and not measured" for place in gone]
    print("\n".join(lines) or "no change", file=sys.stderr)
    if check:
        return int(sizes.text(here, rows) != sizes.text(compilers, old))
    sizes.FILE.write_text(sizes.text(here, rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
