"""What a run costs, and each layer of it, in words."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.api import Bench
from edgekit.codegen.cost.bench import LayerCost
from edgekit.reports.results import shortened, table


def bench(found: Bench) -> list[str]:
    """What one run costs, in words."""
    rows = [
        ("model", f"{found.name}, {found.macs:,} MACs, target {found.target}, --optimize {found.optimize}")
    ]
    if found.microseconds is not None:
        spread = f"{found.fastest:,.1f} to {found.slowest:,.1f} in {found.rounds} runs"
        rows.append(("time", f"{found.microseconds:,.1f} us, {spread}"))
    if found.instructions is not None:
        per_mac = found.instructions_per_mac
        ratio = f", {per_mac:.3f} a MAC" if per_mac is not None else ""
        rows.append(("instructions", f"{found.instructions:,}{ratio}"))
    lines = table([*rows, ("compiler", found.compiler)])
    lines += ["", *_costs(found.layers)] if found.layers else []
    for entry in found.entries:
        lines += ["", f"entry {entry.name}", *bench(entry)]
    return lines


def _costs(layers: Sequence[LayerCost]) -> list[str]:
    """What each layer takes, and its share of all that was measured."""
    is_time = layers[0].microseconds is not None
    costs = [x.microseconds or 0.0 if is_time else x.instructions or 0 for x in layers]
    total = sum(costs) or 1
    rows = [
        (
            shortened(x.origin),
            x.kernel,
            f"{x.macs:,}",
            f"{cost:,.2f}" if is_time else f"{cost:,}",
            f"{cost / total:.1%}",
            f"{cost / x.macs * (1e3 if is_time else 1):.3f}" if x.macs else "",
        )
        for x, cost in zip(layers, costs, strict=True)
    ]
    head = (
        "layer",
        "kernel",
        "MACs",
        *(("us", "share", "ns a MAC") if is_time else ("instructions", "share", "a MAC")),
    )
    return table(rows, head, "<<>>>>")
