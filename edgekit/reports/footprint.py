"""What a model takes, and what pruning made of it, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from edgekit.api import Estimate, Pruned
from edgekit.codegen.gpu.times import RunTime
from edgekit.reports.results import (
    by_rows,
    compressed,
    further_entries,
    multiplications,
    on_gpu,
    repeated,
    shortened,
    size,
    table,
)

_NAMED = 3  # kernels


@dataclass(frozen=True)
class PrunedModel:
    """What prune wrote."""

    file: str
    pruning: Pruned


def pruning(file: str, found: Pruned) -> list[str]:
    """A few lines, then a table of what went together."""
    rows = [
        ("file", file),
        ("MACs", _change(found.macs_before, found.macs)),
        ("numbers", _change(found.weights_before, found.weights) + " in weights and biases"),
        ("criterion", found.criterion),
    ]
    if found.sqnr_db is not None:
        rows.append(("quality", f"{found.sqnr_db:.1f} dB, on {found.samples} samples that were held out"))
    if found.accuracy is not None and found.accuracy_before is not None:
        rows.append(("accuracy", f"{found.accuracy:.2%}, before {found.accuracy_before:.2%}"))
    groups = [
        (shortened(g.origin or g.name), g.before, g.after, f"{g.after / g.before:.0%}") for g in found.groups
    ]
    lines = table(rows)
    if groups:
        lines += ["", *table(groups, ("channels of", "before", "after", "left"), "<>>>")]
    if found.blocks:
        zeros = [(shortened(layer.origin or layer.name), f"{layer.share:.0%}") for layer in found.blocks]
        lines += ["", *table(zeros, ("blocks of", "zero"), "<>")]
    return lines


def _change(before: int, after: int) -> str:
    return f"{after:,}, {after / max(before, 1):.1%} of {before:,}"


def estimate(found: Estimate) -> list[str]:
    """Each bank of memory on a line, with what the target has of it."""
    code = (
        ""
        if found.code_bytes is None
        else f" = code {found.code_bytes:,} + constants {found.constant_bytes:,}"
    )
    need = {"flash": found.flash_bytes, "ram": found.ram_bytes}
    rows = [
        ("target", found.target),
        ("flash", f"{size(found.flash_bytes)}{code}"),
        *compressed(found.narrow_weights),
        *repeated(found.repeated_weights),
        ("arena", size(found.arena_bytes)),
        *by_rows(found.row_gain),
        *_tradeoffs(found),
        ("stack", f"at most {size(found.stack_bytes)}"),
        ("MACs", multiplications(found)),
        *further_entries(found.entries),
        *on_gpu(found.gpu),
        *_time(found),
    ]
    rows += [
        (f"of {bank}", f"{need[bank] / have:.1%} of {have:,} B")
        for bank, have in found.memory.items()
        if bank in need
    ]
    return [*table(rows), *(_kernel_times(found.gpu.time) if found.gpu and found.gpu.time else [])]


def _kernel_times(found: RunTime) -> list[str]:
    """What each kernel takes on a GPU, in the order of execution, and what bounds it."""
    rows = [(shortened(d.origin), d.kernel, f"{d.microseconds:.1f}", d.bound) for d in found.dispatches]
    return ["", *table(rows, ("layer", "kernel", "us", "bound"), "<<><")]


def _tradeoffs(found: Estimate) -> list[tuple[str, str]]:
    """What less memory to work in costs."""
    if len(found.row_tradeoffs) < 2:
        return []
    whole, *rows = found.row_tradeoffs
    costs = ", ".join(f"{size(each.working_bytes)} for {each.more:.1%}" for each in rows)
    return [("ram", f"{size(whole.working_bytes)} on whole tensors; by rows {costs} more instructions")]


def _time(found: Estimate) -> Iterator[tuple[str, str]]:
    """What a run takes, how sure that is, and what is not in it."""
    run = found.run
    if run is None:
        why = f"the kernels of this code are not calibrated on {found.target}"
        yield "run", f"unknown: {why} (--count asks an emulator)"
        return
    how = f"within {run.error:.1%}" if run.error else "counted"
    yield "instructions", f"{run.total:,}, {how}"
    if found.pace:
        yield "time", found.pace.in_words(run.total)
    for reason in run.reasons:
        yield "of that", reason
    if run.unknown:
        names = ", ".join(run.unknown[:_NAMED]) + ", ..." * (len(run.unknown) > _NAMED)
        yield "guessed", f"kernels that are not calibrated: {names}"
