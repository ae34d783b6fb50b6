"""What a library will take, without writing it: planned and compiled in a folder that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import CallSummary, generate, layers_of, settled
from edgekit.codegen.compilation.objects import named_sections
from edgekit.codegen.cost import instructions
from edgekit.codegen.cost.instructions import Instructions
from edgekit.codegen.entries import with_entries
from edgekit.codegen.entry_summaries import EntrySummary, entry_summaries
from edgekit.codegen.gpu.device import LANGUAGES, GpuDevice
from edgekit.codegen.gpu.device import load as load_device
from edgekit.codegen.gpu.summary import GpuSummary, summary
from edgekit.codegen.library_map import LibraryMap, library_map
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.memory.planner import Peak
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.row_plans import RowGain, RowTradeoff, tradeoffs
from edgekit.codegen.verification import selftest
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.stored_weights import narrow_weights
from edgekit.core.target import Optimize, Pace, Target


@dataclass(frozen=True)
class Estimate:
    """Of a library: its sizes exactly; code is None where object files are of a kind that is not read. What a
    run takes is an estimate, unless it was counted; None where nothing is known of the target's kernels."""

    target: str
    memory: Mapping[str, int]  # that the target has
    weight_bytes: int
    code_bytes: int | None
    constant_bytes: int | None
    stack_bytes: int | None
    arena_bytes: int
    working_bytes: int  # arena, inputs and outputs
    macs: int
    state_bytes: int = 0
    peak: Peak | None = None  # what fills the arena
    layers: tuple[CallSummary, ...] = ()
    run: Instructions | None = None
    pace: Pace | None = field(default=None, repr=False)
    narrow_weights: Mapping[str, int] = field(default_factory=dict)  # of float layers: bytes by format
    repeated_weights: Mapping[str, int] = field(default_factory=dict)  # stored in several layouts: bytes more
    branches: int = 0  # conditions that decide which layers run
    loops: int = 0
    row_gain: RowGain | None = None  # of layers that run as loops over rows, where less memory is asked for
    row_tradeoffs: tuple[RowTradeoff, ...] = ()  # what memory to work in costs, where they may
    entries: tuple[EntrySummary, ...] = ()  # beside the main one; weights and arena above are of all
    gpu: GpuSummary | None = None  # of a library or package with a path for GPUs
    map: LibraryMap | None = field(default=None, repr=False, compare=False, metadata={"json": False})

    @property
    def ram_bytes(self) -> int:
        """What the library works in, and its stack as far as that is known."""
        return self.arena_bytes + self.state_bytes + (self.stack_bytes or 0)

    @property
    def flash_bytes(self) -> int:
        """Code and constants; weights alone where nothing else is known."""
        if self.code_bytes is None or self.constant_bytes is None:
            return self.weight_bytes
        return self.code_bytes + self.constant_bytes

    @property
    def instructions(self) -> int | None:
        return self.run.total if self.run else None

    @property
    def milliseconds(self) -> float | None:
        """Where the target says its clock, and how many cycles an instruction takes."""
        return self.pace.milliseconds(self.run.total) if self.run and self.pace else None


def estimate(
    graph: Graph,
    target: Target,
    *,
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    count: bool = False,
    entries: Mapping[str, Graph] | None = None,
    device: str = "",
) -> Estimate:
    """The sizes of the library of a graph, and the instructions of a run, with `count` those that an emulator
    counts; EdgeKitError where there is no compiler for the target. `entries` are beside it in the library.
    With a `device`, a target for GPUs has the time of a run there, too."""
    gpu = _device(target, device)
    compiler = toolchain.find(target)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        first = with_entries(fit(graph, target, ports, optimize=optimize), entries or {})
        test = selftest.prepare(graph, [entry.graph for entry in first.entries])
        files = generate(first, optimize, test=test)
        work = Path(scratch)
        program, _, objects, found = settled(first, files, work, compiler, optimize=optimize, test=test)
        sections = named_sections(work / name for name in objects)
    how = instructions.counted if count else instructions.estimated
    run = how(program, optimize)
    return Estimate(
        target.name,
        target.memory,
        program.library_weight_bytes,
        found.code if found else None,
        found.constants if found else None,
        found.stack if found else None,
        program.arena_bytes,
        max(entry.working_bytes for entry in (program, *program.entries)),
        program.macs,
        program.state_bytes,
        program.largest.peak,
        tuple(layers_of(program)),
        run,
        target.pace,
        narrow_weights(program.graph),
        program.repeated_weights,
        program.branches,
        program.loops,
        program.largest.row_gain,
        tradeoffs(program.graph, target, ports, program.weight_limits) if target.least_ram else (),
        tuple(entry_summaries(program, optimize)),
        summary(*program.gpu_plans, device=gpu) if program.target.gpu else None,
        library_map(program, found, sections, run),
    )


def _device(target: Target, name: str) -> GpuDevice | None:
    """The GPU of this name, as kernels of a target meet it."""
    if name and target.gpu not in LANGUAGES:
        hint = f"--target {' or '.join(LANGUAGES)}"
        raise EdgeKitError(
            "E0103", f"target {target.name} has no kernels for GPUs, such as {name}", hint=hint
        )
    return load_device(name, target.gpu) if name else None
