"""What reports say of the entries of a library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from edgekit.codegen.constants import Constant
from edgekit.codegen.cost.instructions import estimated
from edgekit.codegen.program import Program
from edgekit.core.target import Optimize


@dataclass(frozen=True)
class EntrySummary:
    """What a report says of an entry."""

    name: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    macs: int
    arena_bytes: int
    added_weights: int  # bytes of constants that the others do not have
    repeated_weights: Mapping[str, int]  # of these, tensors that others have in another layout
    instructions: int | None  # of a run, where the target's kernels are calibrated


def entry_summaries(program: Program, optimize: Optimize) -> Iterator[EntrySummary]:
    """Each entry beside the main one."""
    for i, entry in enumerate(program.entries):
        run = estimated(entry, optimize)
        yield EntrySummary(
            entry.name.removeprefix(f"{program.name}_"),
            {port.name: str(port.type) for port in entry.inputs},
            {port.name: str(port.type) for port in entry.outputs},
            entry.macs,
            entry.arena.size,
            entry.weight_bytes,
            _repeated(entry, [program, *program.entries[:i]]),
            run.total if run else None,
        )


def _repeated(entry: Program, others: Iterable[Program]) -> Mapping[str, int]:
    """Bytes of tensors that these have in another layout, too, under any name."""
    known = {_content(c) for other in others for c in other.constants if c.type.rank > 1}
    found: dict[str, int] = {}
    for c in entry.constants:
        if c.type.rank > 1 and _content(c) in known:
            found[c.name] = found.get(c.name, 0) + c.data.size * c.dtype.bytes
    return found


def _content(constant: Constant) -> tuple[str, bytes]:
    """A tensor by its type and its numbers, as the model has them."""
    data = constant.unpacked if constant.unpacked.size else constant.data
    return str(constant.type), sha256(data.tobytes()).digest()
