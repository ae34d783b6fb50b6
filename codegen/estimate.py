"""What a library will take, without writing it: planned and compiled in a folder that is gone afterwards."""

from __future__ import annotations

import tempfile
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
class Sizes:
    """Of a library, exactly; code is None where object files are of a kind that is not read."""

    weight_bytes: int
    code_bytes: int | None
    constant_bytes: int | None
    stack_bytes: int | None
    working_bytes: int  # arena, inputs and outputs
    macs: int

    @property
    def flash_bytes(self) -> int:
        """Code and constants; weights alone where nothing else is known."""
        if self.code_bytes is None or self.constant_bytes is None:
            return self.weight_bytes
        return self.code_bytes + self.constant_bytes


def sizes(graph: Graph, target: Target, *, optimize: Optimize = "speed", ports: Ports = "caller") -> Sizes:
    """The sizes of the library of a graph; EdgeKitError where there is no compiler for the target."""
    compiler = toolchain.find(target)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        first = fit(graph, target, ports, optimize=optimize)
        program, _, _, found = settled(graph, first, Path(scratch), compiler, optimize=optimize)
    return Sizes(
        program.weight_bytes,
        found.code if found else None,
        found.constants if found else None,
        found.stack if found else None,
        program.working_bytes,
        program.macs,
    )
