"""What a plan of memory does to numbers, without kernels: calls write what the simulator computed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgekit.codegen.memory.planner import Place
from edgekit.codegen.program import Program, ProgramCall
from edgekit.core.ops import Arg, Call
from edgekit.core.simulate import random_inputs, run_all
from edgekit.core.types import Array


def check_memory(program: Program, seed: int = 0) -> None:
    """Each call finds its operands where it reads them, and writes over none, but where that may be; outputs
    are there in the end. A call writes what the graph says, and fills its scratch with noise."""
    inputs = random_inputs(program.graph, seed)
    memory = _Memory(program, run_all(program.graph, inputs), np.random.default_rng(seed))
    for name, x in inputs.items():
        memory.at(Place("input", name, 0), x.nbytes)[:] = memory.known[name]
    for line in program.lines:
        memory.run(line)
    for port in program.outputs:
        found = memory.at(Place("output", port.name, 0), port.type.bytes)
        assert np.array_equal(found, memory.known[port.name]), f"{port.name} is not there in the end"


@dataclass(frozen=True)
class _Part:
    """The bytes of an operand that a call reads or writes."""

    arg: Arg | None  # none for scratch
    place: Place
    bytes: Array

    def meets(self, other: "_Part") -> bool:
        a, b = self.place, other.place
        same = a.kind == b.kind and (a.kind == "arena" or a.name == b.name)
        return same and bool(np.intersect1d(a.offset + self.bytes, b.offset + other.bytes).size)


def _parts(line: ProgramCall) -> tuple[list[_Part], list[_Part]]:
    """What is read, and what is written: results, and scratch behind them."""
    call, places = line.call, [operand.place for operand in line.operands]
    parts = []
    for i, arg in enumerate(call.args):
        whole = np.arange(arg.type.bytes)
        bytes = _copied(call, "xy"[i], arg) if call.kernel == "copy" else whole
        parts.append(_Part(arg, places[i], bytes))
    if call.scratch:
        parts.append(_Part(None, places[len(call.args)], np.arange(call.scratch)))
    reads = len(call.args) - call.results
    return parts[:reads], parts[reads:]


def _copied(call: Call, side: str, arg: Arg) -> Array:
    """Copies read and write in steps, the one and the other from some element on."""
    params: Any = call.params
    element = np.full((1,) * len(params["n"]), params[f"{side}0"])
    for axis, (n, step) in enumerate(zip(params["n"], params[side], strict=True)):
        element = element + step * np.arange(n).reshape(-1, *(1,) * (len(params["n"]) - axis - 1))
    width = arg.type.dtype.bytes
    return np.asarray(np.unique(element)[:, None] * width + np.arange(width)).reshape(-1)


def _may_lie_over(call: Call, i: int, result: Place, read: Place) -> bool:
    if i in call.inplace and result.offset == read.offset:
        return True
    return i == 0 and call.overlap is not None and result.offset + call.overlap <= read.offset


class _Memory:
    def __init__(self, program: Program, values: dict[str, Array], random: np.random.Generator) -> None:
        self.random = random
        self.known = {name: np.frombuffer(x.tobytes(), np.uint8) for name, x in values.items()}
        self.spaces = {("input", p.name): self.noise(p.type.bytes) for p in program.inputs}
        self.spaces |= {("output", p.name): self.noise(p.type.bytes) for p in program.outputs}
        self.spaces["arena", ""] = self.noise(program.arena.size)

    def noise(self, size: int) -> Array:
        return self.random.integers(0, 256, size).astype(np.uint8)

    def at(self, place: Place, size: int) -> Array:
        space = self.spaces[place.kind, "" if place.kind == "arena" else place.name]
        assert 0 <= place.offset <= len(space) - size, f"{size} bytes at {place} of {len(space)}"
        return space[place.offset : place.offset + size]

    def run(self, line: ProgramCall) -> None:
        assert not line.tests, "branches are not followed"
        reads, writes = _parts(line)
        for part in reads:
            if part.arg and part.place.kind != "constant" and part.arg.name in self.known:
                found = self.at(part.place, part.arg.type.bytes)[part.bytes]
                assert np.array_equal(found, self.known[part.arg.name][part.bytes]), (
                    f"{part.arg.name} is lost"
                )
        for k, part in enumerate(writes):
            met = [i for i, read in enumerate(reads) if part.meets(read)]
            allowed = [i for i in met if k == 0 and _may_lie_over(line.call, i, part.place, reads[i].place)]
            assert met == allowed, f"{line.c} writes over what it reads"
            size = part.arg.type.bytes if part.arg else len(part.bytes)
            data = self.bytes_of(part.arg) if part.arg else self.noise(size)
            self.at(part.place, size)[part.bytes] = data[part.bytes]

    def bytes_of(self, arg: Arg) -> Array:
        """Of a graph's value, or of a copy of it; what else lowering adds gets numbers of its own."""
        if arg.name not in self.known:
            copied = self.known.get(arg.name.partition("#")[0], self.noise(0))
            is_copy = len(copied) == arg.type.bytes
            self.known[arg.name] = copied if is_copy else self.noise(arg.type.bytes)
        return self.known[arg.name]
