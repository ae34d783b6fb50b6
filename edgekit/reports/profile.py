"""The log of a device beside the estimate, as text."""

from __future__ import annotations

from edgekit.profiling.profile import Profile, ProfiledLayer
from edgekit.reports.results import shortened, table

_SLOW = 1.5  # times the share that was estimated
_MIN_SHARE = 0.02  # of a run: smaller layers are not worth a mark


def lines(found: Profile) -> list[str]:
    """A few facts, then the layers, those that are slower than the estimate says marked."""
    rows = [("log", f"{found.log}: {_count(found.runs, 'run')}{_dropped(found.dropped)}")]
    if found.name:
        rows.append(("library", f"{found.name}, target {found.target}"))
    spread = f", {_number(found.least)} to {_number(found.most)}" if found.runs > 1 else ""
    rows.append((found.unit, f"{_number(found.median)}{spread}"))
    if found.milliseconds is not None:
        rows.append(("time", f"{found.milliseconds:.3g} ms"))
    if found.estimated:
        ratio = found.per_instruction or 0.0
        rows.append(("estimate", f"{found.estimated:,} instructions: {ratio:.2f} {found.unit} each"))
    slow = [layer for layer in found.layers if is_slow(layer)]
    cells = [_row(layer, found, "*" if layer in slow else "") for layer in found.layers]
    head = ["", "layer", *["kernel", "MACs"] * bool(found.name), found.unit, "share"]
    head += ["estimated", "share", "by"] * bool(found.estimated)
    sides = "<<" + "<>" * bool(found.name) + ">>" + ">>>" * bool(found.estimated)
    notes = ["", f"* at least {_SLOW:g} times the share that was estimated"] if slow else []
    return [*table(rows), "", *table(cells, head, sides), *notes]


def is_slow(layer: ProfiledLayer) -> bool:
    """Does it take clearly more of a run than was estimated?"""
    return (layer.ratio or 0.0) >= _SLOW and layer.share >= _MIN_SHARE


def _row(layer: ProfiledLayer, found: Profile, mark: str) -> list[str]:
    row = [mark, shortened(layer.origin or layer.name)]
    if found.name:
        row += [layer.kernel, f"{layer.macs or 0:,}"]
    row += [_number(layer.measured), f"{layer.share:.1%}"]
    if found.estimated:
        is_known = layer.estimated is not None
        row += [
            f"{layer.estimated:,}" if is_known else "unknown",
            f"{layer.estimated_share:.1%}" if is_known else "",
            f"{layer.ratio:.2f}x" if layer.ratio is not None else "",
        ]
    return row


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _dropped(count: int) -> str:
    return f", {_count(count, 'incomplete one')} left out" if count else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2f}"
