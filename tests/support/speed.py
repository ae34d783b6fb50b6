"""Instructions of the reference networks by layer, and tests/speed.toml, which says what they are.

A count may rise by 1 % and no more, unless the row that rises says why: see `rises`.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support import sizes
from support.tools import ROOT

from edgekit.codegen.cost import counting
from edgekit.codegen.cost.layer_costs import layer_costs
from edgekit.codegen.execution import runner
from edgekit.core import target as targets
from edgekit.core.target import Target

FILE = ROOT / "tests" / "speed.toml"
COMMAND = "python scripts/speed.py"
TARGETS = (*sizes.TARGETS, "armv7-neon", "aarch64-sme", "x86-64-avx512")
NETWORKS = sizes.NETWORKS
TOTAL = "total"  # the row of a whole network; no layer has this name
MOST = 0.01  # a count may rise by so much without a reason
_VERSIONS = 60  # of the file, that are compared

Place = tuple[str, str]  # target, network


@dataclass(frozen=True)
class Row:
    """Of one layer in one run."""

    instructions: int
    kernel: str = ""
    reason: str = ""  # why it takes more than before

    @property
    def text(self) -> str:
        named = (("kernel", self.kernel), ("reason", self.reason))
        parts = [f"{name} = {json.dumps(value)}" for name, value in named if value]  # a string of TOML, too
        return "{ " + ", ".join([f"instructions = {self.instructions}", *parts]) + " }"


Rows = Mapping[str, Row]  # by layer


@dataclass(frozen=True)
class Version:
    """What the file said at one time."""

    compilers: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[Place, Rows] = field(default_factory=dict)


def places() -> Iterator[Place]:
    """Everything that the file says something of."""
    for name in TARGETS:
        for network in NETWORKS:
            yield name, network


def counted_target(name: str) -> Target:
    return counting.as_counted(targets.load(name))


def why_not(name: str) -> str:
    """Why the instructions of a target cannot be counted here; empty where they can."""
    return runner.why_not_here(counted_target(name))


def measured(place: Place) -> Rows:
    """By running the library of a network in an emulator."""
    name, network = place
    layers = layer_costs(sizes.graph(network), counted_target(name))
    counts = {x.name: Row(x.instructions or 0, x.function) for x in layers}
    return {TOTAL: Row(sum(row.instructions for row in counts.values())), **counts}


def changes(place: Place, old: Rows, new: Rows) -> list[str]:
    """What rose, fell, came and went, one line each."""
    found = []
    for layer in dict.fromkeys((*old, *new)):
        before, after = old.get(layer), new.get(layer)
        if before is None or after is None:
            how = "is not in the file" if before is None else "is in the file, and not in the network"
        elif before.instructions != after.instructions:
            how = _changed(before.instructions, after.instructions)
        elif before.kernel != after.kernel:
            how = f"is computed by {after.kernel}, no longer by {before.kernel}"
        else:
            continue
        found.append(f"{_where(place, layer)}: {how}")
    return found


def rises(versions: Iterable[Version]) -> list[str]:
    """Counts that are more than 1 % above the lowest since their last reason, in the last of these versions,
    which are in the order of time. Counts of different compilers are not compared."""
    least: dict[tuple[str, ...], int] = {}
    before, now = Version(), Version()
    for version in versions:
        before, now = now, version
        for (name, network), layer, row in _each(now):
            key = (now.compilers.get(name, ""), name, network, layer)
            has_new_reason = bool(row.reason) and before.rows.get((name, network), {}).get(layer) != row
            if has_new_reason or row.instructions < least.get(key, row.instructions + 1):
                least[key] = row.instructions
    found = []
    for place, layer, row in _each(now):
        lowest = least[now.compilers.get(place[0], ""), *place, layer]
        if row.instructions > lowest * (1 + MOST):
            found.append(f"{_where(place, layer)}: {_changed(lowest, row.instructions)}")
    return found


def advice(lines: Sequence[str]) -> str:
    """What to do about rises."""
    if not lines:
        return ""
    both = "\n".join(lines)
    return f'{both}\nEach of these rows of tests/speed.toml needs `reason = "..."`: what that time buys.'


def carried(old: Rows, new: Rows) -> Rows:
    """The new rows, with the reasons of those that did not change."""
    return {
        layer: old[layer] if layer in old and _same(old[layer], row) else row for layer, row in new.items()
    }


def history(base: str = "") -> list[Version]:
    """The file's versions on the main line of the history, from the base commit on if one is given."""
    span = [f"{base}..HEAD"] if base else [f"--max-count={_VERSIONS}"]
    commits = _git("log", "--first-parent", "--format=%H", *span, "--", _path()).split()
    commits = [*reversed(commits)]
    texts = [_git("show", f"{commit}:{_path()}") for commit in [base, *commits] if commit]
    return [*map(parsed, texts), read()]


def parsed(content: str) -> Version:
    tables = tomllib.loads(content)
    compilers = tables.pop("compilers", {})
    rows = {
        (name, network): {layer: Row(**row) for layer, row in layers.items()}
        for name, networks in tables.items()
        for network, layers in networks.items()
    }
    return Version(compilers, rows)


def text(version: Version) -> str:
    """The file."""
    lines = [
        "# Instructions of one run of the reference networks by layer, counted in emulators; in WebAssembly",
        f"# wasmtime's fuel. `{COMMAND}` writes it. A row that rises by more than 1 % needs a `reason`.",
        "",
        "[compilers]",
        *(f'{name} = "{release}"' for name, release in version.compilers.items()),
    ]
    for (name, network), rows in version.rows.items():
        lines += ["", f"[{name}.{network}]", *(f"{layer} = {row.text}" for layer, row in rows.items())]
    return "\n".join(lines) + "\n"


def read(path: Path = FILE) -> Version:
    return parsed(path.read_text(encoding="utf-8")) if path.exists() else Version()


def _each(version: Version) -> Iterator[tuple[Place, str, Row]]:
    for place, rows in version.rows.items():
        for layer, row in rows.items():
            yield place, layer, row


def _same(old: Row, new: Row) -> bool:
    return (old.instructions, old.kernel) == (new.instructions, new.kernel)


def _where(place: Place, layer: str) -> str:
    name, network = place
    return f"{network} on {name}" if layer == TOTAL else f"{network} on {name}, layer {layer}"


def _changed(before: int, after: int) -> str:
    share = f" ({100 * (after - before) / before:+.1f} %)" if before else ""
    verb = "rose" if after > before else "fell"
    return f"instructions {verb} from {before:,} to {after:,}{share}"


def _path() -> str:
    return FILE.relative_to(ROOT).as_posix()


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout
