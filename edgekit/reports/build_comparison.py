"""Two builds side by side: what a page keeps of its own build, and how another one differs from it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgekit.core import files
from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import Code

_VERSION = 1
_START, _END = '<script type="application/json" id="edgekit-build">', "</script>"
_MAX_PAGE = 64 << 20  # bytes
_MAX_NUMBER = 1 << 62


@dataclass(frozen=True)
class LayerSize:
    """A layer, as far as builds are compared."""

    name: str
    origin: str
    macs: int
    weight_bytes: int
    cost: float | None


@dataclass(frozen=True)
class BuildSummary:
    """A build, as far as it is compared; a page holds that of its library as JSON."""

    name: str
    target: str
    optimize: str
    bytes: Mapping[str, int | None]
    numbers: Mapping[str, int | None]
    cost: str  # what the costs of layers are
    layers: tuple[LayerSize, ...]

    def as_code(self) -> Code:
        """For a script element: no name in it can end that."""
        text = json.dumps({"version": _VERSION, **asdict(self)}, separators=(",", ":"))
        return Code(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def read(path: Path) -> BuildSummary:
    """The build in a page that EdgeKit wrote."""
    text = files.read(path, _MAX_PAGE).decode("utf-8", errors="replace")
    found = re.search(f"{re.escape(_START)}(.*?){re.escape(_END)}", text, re.DOTALL)
    if not found:
        hint = "edgekit build --report and edgekit report write one; a model is taken, too"
        raise EdgeKitError("E0401", f"{path} is no report of a build", hint=hint)
    try:
        return _parsed(json.loads(found[1]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise EdgeKitError(
            "E0401", f"{path} is damaged, or from another version of EdgeKit", hint="write it again"
        ) from None


def _parsed(content: Any) -> BuildSummary:
    """Types are checked: the page may come from anywhere."""
    if content["version"] != _VERSION:
        raise ValueError
    name, target, optimize, cost = (_text(content[key]) for key in ("name", "target", "optimize", "cost"))
    layers = tuple(
        LayerSize(
            _text(each["name"]),
            _text(each["origin"]),
            int(_bounded(each["macs"])),
            int(_bounded(each["weight_bytes"])),
            None if each["cost"] is None else float(_bounded(each["cost"])),
        )
        for each in content["layers"]
    )
    sizes, numbers = (
        {_text(key): None if value is None else int(_bounded(value)) for key, value in content[table].items()}
        for table in ("bytes", "numbers")
    )
    return BuildSummary(name, target, optimize, sizes, numbers, cost, layers)


def _bounded(value: Any) -> float:
    """A number of a page, where JSON may hold infinity and integers of any length."""
    if not abs(value) < _MAX_NUMBER:
        raise ValueError
    return value  # type: ignore[no-any-return]  # of a type that `abs` takes


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


@dataclass(frozen=True)
class Change:
    """A figure before and after; `kind` is better, worse or same, where less is better."""

    name: str
    before: str
    after: str
    change: str
    kind: str
    note: str = ""
    layer: int | None = None  # in the new build


@dataclass(frozen=True)
class BuildComparison:
    """What is different in the new build, the largest differences of layers first."""

    before: str
    after: str
    figures: tuple[Change, ...]
    layers: tuple[Change, ...]
    same: int  # layers that are as they were
    cost: str


def compared(before: BuildSummary, after: BuildSummary) -> BuildComparison:
    """The differences between two builds."""
    figures = [
        _change(name, old.get(name), new[name], unit)
        for old, new, unit in ((before.bytes, after.bytes, " B"), (before.numbers, after.numbers, ""))
        for name in new
        if old.get(name) or new[name]
    ]
    is_same_cost = before.cost == after.cost and before.target == after.target
    layers, same = _layers(before.layers, after.layers, is_same_cost)
    return BuildComparison(
        _words(before),
        _words(after),
        tuple(figures),
        tuple(layers),
        same,
        after.cost if is_same_cost else "MACs",
    )


def _words(build: BuildSummary) -> str:
    return f"{build.name} on {build.target}, for {build.optimize}"


def _layers(
    before: Sequence[LayerSize], after: Sequence[LayerSize], is_same_cost: bool
) -> tuple[list[Change], int]:
    """Layers are the same by their name in C, or else by the layer of the source model."""

    def cost(layer: LayerSize) -> float:
        return (layer.cost or 0.0) if is_same_cost else layer.macs

    partners = dict(_partners(before, after))
    changed = []
    for i, layer in enumerate(after):
        old = before[partners[i]] if i in partners else None
        weights = layer.weight_bytes - (old.weight_bytes if old else 0)
        difference = cost(layer) - (cost(old) if old else 0.0)
        if old is None or difference or weights:
            note = "" if not weights else f"weights {weights:+,} B"
            row = _change(layer.name, cost(old) if old else None, cost(layer), "", note, i)
            changed.append((abs(difference), row))
    for k, old in enumerate(before):
        if k not in partners.values():
            changed.append(
                (cost(old), _change(old.name, cost(old), None, "", f"weights -{old.weight_bytes:,} B"))
            )
    changed.sort(key=lambda each: -each[0])
    return [row for _, row in changed], len(partners) - sum(
        row.layer in partners for _, row in changed if row.layer is not None
    )


def _partners(before: Sequence[LayerSize], after: Sequence[LayerSize]) -> Iterator[tuple[int, int]]:
    names = {layer.name: k for k, layer in enumerate(before)}
    taken = {names[layer.name] for layer in after if layer.name in names}
    origins = {layer.origin: k for k, layer in enumerate(before) if k not in taken and layer.origin}
    # Of calls that one layer became, that with most of its work is what the layer was.
    for i, layer in sorted(enumerate(after), key=lambda each: -each[1].macs):
        if layer.name in names:
            yield i, names[layer.name]
        elif layer.origin in origins:
            yield i, origins.pop(layer.origin)


def _change(
    name: str, before: float | None, after: float | None, unit: str, note: str = "", layer: int | None = None
) -> Change:
    def words(value: float | None) -> str:
        return "-" if value is None else f"{value:,.0f}{unit}"

    if before is None or after is None:
        return Change(
            name, words(before), words(after), "new" if before is None else "gone", "same", note, layer
        )
    if before == after:
        return Change(name, words(before), words(after), "same", "same", note, layer)
    share = f", {(after - before) / before:+.1%}" if before else ""
    kind = "better" if after < before else "worse"
    return Change(
        name, words(before), words(after), f"{after - before:+,.0f}{unit}{share}", kind, note, layer
    )
