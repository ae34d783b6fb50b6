"""What tuning found, in words."""

from __future__ import annotations

from pathlib import Path

from edgekit.api import Tuned
from edgekit.core.errors import EdgeKitError
from edgekit.quantize.calibration.calibration_samples import JUDGED_EVERY
from edgekit.reports.results import size, table
from edgekit.tuning.budget import costs, interval, least_samples, quality
from edgekit.tuning.problem import Result
from edgekit.tuning.tune import MissedLimit, TriedPoint


def lines(found: Tuned, folder: Path) -> list[str]:
    """What was chosen, and the Pareto-optimal points."""
    chosen = found.best or found.closest
    rows = [
        ("tried", f"{len(found.tried)} variants of {found.name}, judged by {found.samples} samples"),
        ("target", found.target),
        ("chosen" if found.best else "closest", chosen.words),
        ("flash", _of(size(chosen.result.flash), found.budget.flash)),
        ("ram", _of(size(chosen.result.ram), found.budget.ram)),
        ("run", _run(found, chosen.result)),
        ("quality", _quality(found, chosen.result)),
    ]
    if found.best:
        rows.append(
            ("folder", f"{folder}: {found.name}.ek, edgekit.toml and board.toml to build it, report.html")
        )
    head = ("", "variant", "flash", "ram", "instructions", "accuracy", "SQNR")
    front = sorted(found.front, key=lambda one: (*(-x for x in quality(one.result)), costs(one.result)))
    points = [_row(one, "*" if one is found.best else "" if one.fits else "-") for one in front]
    notes = ["", "Pareto-optimal variants: * chosen, - not within the budget"]
    return [
        *table(rows),
        "",
        *table(points, head, "<<>>>>>"),
        *notes,
        *(f"failed: {why}" for why in found.faults),
    ]


def undecided(found: Tuned) -> EdgeKitError | None:
    """Where chance decides whether the chosen point keeps the limit of accuracy."""
    if found.is_certain or not found.best or not found.budget.max_drop:
        return None
    drop = found.budget.max_drop
    message = (
        f"{found.samples} samples show the change of accuracy to ±{interval(found.best.result):.1%}, "
        f"which leaves open whether it keeps {drop:.1%}"
    )
    enough = least_samples(drop) * JUDGED_EVERY
    return EdgeKitError("E0608", message, hint=f"give {enough:,} samples or more; what was chosen is written")


def why_not(found: Tuned) -> tuple[str, str]:
    """The limits that the closest point misses, and the layers that they are missed by."""
    parts = [f"{one.limit} is {one.share:.0%} beyond its limit" for one in found.missed]
    layers = [f"{one.limit} is bound by layer {one.layer}{_amount(one)}" for one in found.missed if one.layer]
    closest = found.closest.words
    return f"nothing that was tried keeps the limits; closest: {closest}: {', '.join(parts)}", "; ".join(
        layers
    )


def _amount(one: MissedLimit) -> str:
    if one.amount is None:
        return ""
    return f", {one.amount:,} {'instructions' if one.limit == 'instructions' else 'B'}"


def _row(one: TriedPoint, mark: str) -> tuple[str, ...]:
    result = one.result
    return (
        mark,
        one.words,
        f"{result.flash:,}",
        f"{result.ram:,}",
        "" if result.instructions is None else f"{result.instructions:,}",
        _accuracy(result),
        f"{min(result.sqnr_db, 999):.1f} dB",
    )


def _of(text: str, limit: int | None) -> str:
    return text if limit is None else f"{text} of {limit:,} B"


def _run(found: Tuned, result: Result) -> str:
    if result.instructions is None:
        return f"{result.macs:,} MACs; how many instructions is not known"
    how = f"within {result.instructions_error:.1%}" if result.instructions_error else "counted"
    limit = found.budget.instructions
    words = f"{result.instructions:,} instructions, {how}" + (f", of {limit:,}" if limit is not None else "")
    return f"{words}: {found.pace.in_words(result.instructions)}" if found.pace else words


def _quality(found: Tuned, result: Result) -> str:
    ratio = f"{min(result.sqnr_db, 999):.1f} dB"
    if result.accuracy is None:
        return ratio
    before = found.budget.accuracy or 0.0
    return f"accuracy {_accuracy(result)}, before {before:.2%}; outputs {ratio}"


def _accuracy(result: Result) -> str:
    """With the confidence interval of its change."""
    if result.accuracy is None:
        return ""
    return f"{result.accuracy:.2%}" + f" ±{interval(result):.1%}" * bool(result.judged)
