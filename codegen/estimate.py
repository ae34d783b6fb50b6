"""What a library will take, without writing it: planned and compiled in a folder that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgekit.codegen import toolchain
from edgekit.codegen.build import settled
from edgekit.codegen.fit import fit
from edgekit.codegen.render import Optimize
from edgekit.codegen.sharing import Ports
from edgekit.ir import Graph
from edgekit.target import Target


@dataclass(frozen=True)
class Estimate:
    """Of a library, exactly; code is None where object files are of a kind that is not read."""

    target: str
    memory: Mapping[str, int]  # that the target has
    weight_bytes: int
    code_bytes: int | None
    constant_bytes: int | None
    stack_bytes: int | None
    arena_bytes: int
    working_bytes: int  # arena, inputs and outputs
    macs: int

    @property
    def ram_bytes(self) -> int:
        """What the library works in, and its stack as far as that is known."""
        return self.arena_bytes + (self.stack_bytes or 0)

    @property
    def flash_bytes(self) -> int:
        """Code and constants; weights alone where nothing else is known."""
        if self.code_bytes is None or self.constant_bytes is None:
            return self.weight_bytes
        return self.code_bytes + self.constant_bytes


def estimate(
    graph: Graph, target: Target, *, optimize: Optimize = "speed", ports: Ports = "caller"
) -> Estimate:
    """The sizes of the library of a graph; EdgeKitError where there is no compiler for the target."""
    compiler = toolchain.find(target)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        first = fit(graph, target, ports, optimize=optimize)
        program, _, _, found = settled(graph, first, Path(scratch), compiler, optimize=optimize)
    return Estimate(
        target.name,
        target.memory,
        program.weight_bytes,
        found.code if found else None,
        found.constants if found else None,
        found.stack if found else None,
        program.arena.size,
        program.working_bytes,
        program.macs,
    )
