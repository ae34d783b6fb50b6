"""How fast a file of the zoo is: EdgeKit's code and the runtime of its format take turns in one process."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.x86 import compare
from benchmarks.zoo_peers import Peer, Sample
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.compilation.toolchain import find
from edgekit.codegen.execution.driver import FLAGS
from edgekit.codegen.printing.render import sources
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.types import Array

_OURS = "EdgeKit"


def ratio(graph: Graph, peer: Peer, sample: Sample, target_name: str, rounds: int) -> float | None:
    """The peer's time in ours, both in turns, one thread each; None where its time says nothing."""
    with tempfile.TemporaryDirectory() as folder:
        other = peer.runner(sample)
        if other is None:
            return None
        runs = {_OURS: _library(graph, target_name, Path(folder), sample), peer.name: other}
        return compare(runs, rounds).ratio(peer.name, _OURS)


def _library(graph: Graph, target_name: str, folder: Path, sample: Sample) -> Callable[[], Any]:
    """EdgeKit's code as a shared library, and what runs it once."""
    program = compile_graph(graph.with_name("net"), target.load(target_name))
    files = generate(program, "speed")
    write(files, folder)
    names = [name for name in sources(files, "speed") if not name.endswith("_selftest.c")]
    flags = [*FLAGS, "-O3", *program.target.cflags, "-shared", "-fPIC"]
    find(program.target).run([*flags, *names, "-o", "net.so"], folder)
    function = ctypes.CDLL(str(folder / "net.so")).net_run
    memory = [_aligned(port.type.bytes) for port in (*program.inputs, *program.outputs)]
    for port, buffer in zip(program.inputs, memory, strict=False):
        buffer[:] = np.ascontiguousarray(sample[port.name]).reshape(-1).view(np.uint8)
    if program.states:
        memory.append(_aligned(program.state_bytes))
    memory.append(_aligned(program.arena.size))
    arguments = [ctypes.c_void_p(m.ctypes.data) for m in memory]

    def once(kept: Sequence[Array] = memory) -> None:
        function(*arguments)

    return once


def _aligned(size: int) -> Array:
    whole = np.zeros(size + 64, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + size]
