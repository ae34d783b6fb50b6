"""The map of a library, as linkers write them of programs: layers and their data, arena, flash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from edgekit.codegen.compilation.toolchain import Sizes
from edgekit.codegen.cost.instructions import Instructions
from edgekit.codegen.kernels.symbols import Instance
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.memory.planner import Place
from edgekit.codegen.printing.describe import window
from edgekit.codegen.printing.pointers import ArenaRow
from edgekit.codegen.program import Operand, Program, ProgramCall
from edgekit.core.ir import Graph, Source
from edgekit.core.operator_names import operator_name
from edgekit.core.ops import Arg, Call
from edgekit.core.types import Type

Category = Literal[
    "convolution",
    "depthwise",
    "dense",
    "product",
    "pooling or reduction",
    "elementwise",
    "copy or conversion",
]
CATEGORIES = get_args(Category)


@dataclass(frozen=True)
class MappedLayer:
    """One kernel call of a run."""

    name: str  # in the generated C
    origin: str  # the layer of the source model
    operator: str  # as the model has it: that of the call's last result
    category: Category
    window: str  # its size, strides and dilations; empty without one
    kernel: str  # the function in C
    inputs: tuple[Type, ...]  # without constants
    outputs: tuple[Type, ...]
    results: tuple[str, ...]  # the tensors that it writes, as in the model
    weights: tuple[Type, ...]
    macs: int
    weight_bytes: int  # of constants that no earlier layer uses
    is_optional: bool = False  # within a branch or a loop

    @property
    def operation(self) -> str:
        """Conv2d 3x3 s2"""
        return f"{self.operator} {self.window}".rstrip()


@dataclass(frozen=True)
class MappedPort:
    """What a run begins or ends with."""

    name: str
    kind: Literal["input", "output", "state"]
    type: Type


@dataclass(frozen=True)
class DataEdge:
    """A tensor on its way. Ends are indices of nodes: entries, then layers, then exits."""

    source: int
    target: int
    type: Type


@dataclass(frozen=True)
class FlashPart:
    """Some bytes of flash: a function, an array of weights, the parameters of a layer."""

    kind: Literal["weights", "code", "parameters"]
    name: str
    bytes: int
    layer: int | None = None  # None: several layers share it


@dataclass(frozen=True)
class LibraryMap:
    """All of a library, layer by layer."""

    name: str
    source: Source
    entries: tuple[MappedPort, ...]
    layers: tuple[MappedLayer, ...]
    exits: tuple[MappedPort, ...]
    edges: tuple[DataEdge, ...]
    arena: tuple[ArenaRow, ...]
    arena_bytes: int
    flash: tuple[FlashPart, ...]
    run: Instructions | None  # of each layer, where the target's kernels are calibrated


def library_map(
    program: Program, sizes: Sizes | None, sections: Mapping[tuple[str, str], int], run: Instructions | None
) -> LibraryMap:
    """The map of a program; `sections` of its object files say how much each function takes."""
    entries = (
        *(MappedPort(port.name, "input", port.type) for port in program.inputs),
        *(MappedPort(state.name, "state", state.type) for state in program.states),
    )
    exits = (
        *(MappedPort(port.name, "output", port.type) for port in program.outputs),
        *(MappedPort(state.name, "state", state.type) for state in program.states),
    )
    flash = tuple(_flash(program, sizes, sections))
    of_layer: dict[int, int] = {}
    for part in flash:
        if part.kind == "weights" and part.layer is not None:
            of_layer[part.layer] = of_layer.get(part.layer, 0) + part.bytes
    return LibraryMap(
        program.name,
        program.graph.source,
        entries,
        tuple(_layer(program.graph, line, of_layer.get(i, 0)) for i, line in enumerate(program.lines)),
        exits,
        tuple(_edges(program)),
        program.arena_rows,
        program.arena.size,
        flash,
        run,
    )


def _layer(graph: Graph, line: ProgramCall, weight_bytes: int) -> MappedLayer:
    call = line.rows.whole if line.rows else line.call
    given, made = call.args[: -call.results], call.args[-call.results :]
    node = graph.producer(made[-1].name)
    operator = operator_name(graph, node) if node else Instance.of(call).operator
    return MappedLayer(
        name=line.c,
        origin=line.origin,
        operator=operator,
        category=_category(call, operator),
        window="" if operator.startswith("Reduce") else window(call),
        kernel=line.kernel.function,
        inputs=tuple(arg.type for arg in given if arg.value.data is None),
        outputs=tuple(arg.type for arg in made),
        results=tuple(arg.name for arg in made),
        weights=tuple(arg.type for arg in given if arg.value.data is not None),
        macs=line.macs,
        weight_bytes=weight_bytes,
        is_optional=bool(line.tests),
    )


def _category(call: Call, operator: str) -> Category:
    """What kind of work a call does, by its operator, or by what it reads and makes."""
    if operator == "Depthwise":
        return "depthwise"
    if operator.startswith("Reduce"):
        return "pooling or reduction"
    given, made = call.args[: -call.results], call.args[-call.results :]
    data = [arg.type for arg in given if arg.value.data is None]
    has_weights = call.macs > 0 and len(data) < len(given)
    if window(call):
        return "convolution" if has_weights else "pooling or reduction"
    if call.macs:
        return "dense" if has_weights and not call.kernel.startswith("matmul") else "product"
    is_conversion = len(data) == 1 == len(made) and data[0].dtype is not made[0].type.dtype
    return "copy or conversion" if call.kernel == "copy" or is_conversion else "elementwise"


def _flash(
    program: Program, sizes: Sizes | None, sections: Mapping[tuple[str, str], int]
) -> Iterator[FlashPart]:
    """Weights as they are planned, functions and parameters as they are compiled; what has no name of its own
    in the object files makes up the rest, so that the sum is the size of the library."""
    users: dict[str, int] = {}
    for i, line in enumerate(program.lines):
        for operand in line.operands:
            if operand.place.kind == "constant":
                users.setdefault(operand.place.name, i)
    constants = [c for entry in (program, *program.entries) for c in entry.constants]
    for c in constants if not program.by_pointer else ():
        yield FlashPart("weights", c.c, c.data.size * c.dtype.bytes, users.get(c.c))
    if sizes is None:
        return
    owners: dict[tuple[str, str], int] = {}
    functions = layer_functions(program)
    for i, line in enumerate(program.lines):
        if functions[line.c].users > 1:
            continue
        own = f"{program.name}_{line.c}"
        owners |= {("text", own): i, ("text", f"{own}_part"): i, ("rodata", f"{line.c}_params"): i}
    arrays = {c.c for c in constants}
    left = {"code": sizes.code, "parameters": sizes.constants - program.linked_weight_bytes}
    for (section, name), size in sections.items():
        kind: Literal["code", "parameters"] = "code" if section == "text" else "parameters"
        if size and name not in arrays:
            left[kind] -= size
            yield FlashPart(kind, name, size, owners.get((section, name)))
    if left["code"] > 0:
        yield FlashPart("code", "other functions" if sections else "all functions", left["code"])
    if left["parameters"] > 0:
        yield FlashPart("parameters", "other constants" if sections else "all others", left["parameters"])


@dataclass(frozen=True)
class _Span:
    """Bytes of a memory, and the node that wrote them as (a part of) a tensor."""

    start: int
    end: int
    tensor: str
    writer: int


@dataclass
class _Memory:
    """The contents of memory during a run: edges follow the data through views, joins and copies alike."""

    spans: dict[str, list[_Span]] = field(default_factory=dict)

    def write(self, memory: str, start: int, size: int, tensor: str, node: int) -> None:
        """Other tensors are gone from here; parts of the same one stay, as calls may write it interleaved."""
        end, left = start + size, []
        for span in self.spans.get(memory, []):
            if span.tensor == tensor or span.end <= start or end <= span.start:
                left.append(span)
                continue
            if span.start < start:
                left.append(replace(span, end=start))
            if end < span.end:
                left.append(replace(span, start=end))
        self.spans[memory] = [*left, _Span(start, end, tensor, node)]

    def read(self, memory: str, start: int, size: int) -> list[int]:
        """The nodes that wrote these bytes, in order."""
        spans = self.spans.get(memory, [])
        return sorted({s.writer for s in spans if s.start < start + size and start < s.end})


def _written(call: Call, arg: Arg) -> tuple[int, int]:
    """From where a call writes its result, and how many bytes: copies fill parts of what is joined."""
    p = call.params
    if call.kernel != "copy" or not isinstance(first := p["y0"], int):
        return 0, arg.type.bytes
    sizes, steps = p["n"], p["y"]
    assert isinstance(sizes, Sequence)
    assert isinstance(steps, Sequence)
    reach = [int((n - 1) * step) for n, step in zip(sizes, steps, strict=True)]
    low, high = first + sum(min(r, 0) for r in reach), first + sum(max(r, 0) for r in reach)
    return low * arg.type.dtype.bytes, (high + 1 - low) * arg.type.dtype.bytes


def _edges(program: Program) -> Iterator[DataEdge]:
    """From the nodes that write tensors to those that read them."""
    memory = _Memory()
    node = 0
    for port in program.inputs:
        (where, start), bytes = _port(port.name, "input", port.offset), port.type.bytes
        if program.row_port:
            where, start, bytes = "arena", program.row_port.ring.offset, program.row_port.source.ring
        memory.write(where, start, bytes, port.name, node)
        node += 1
    for state in program.states:
        memory.write(f"state {state.name}", 0, state.type.bytes, state.name, node)
        node += 1
    for line in program.lines:
        results = line.call.results
        pairs = list(zip(line.call.args, line.operands, strict=False))
        for arg, operand in pairs[:-results]:
            for source in memory.read(*_at(operand), arg.type.bytes):
                yield DataEdge(source, node, arg.type)
        for arg, operand in pairs[-results:]:
            (where, start), (first, size) = _at(operand), _written(line.call, arg)
            memory.write(where, start + first, size, arg.name, node)
        node += 1
    for port in program.outputs:
        for source in memory.read(*_port(port.name, "output", port.offset), port.type.bytes):
            yield DataEdge(source, node, port.type)
        node += 1
    for state in program.states:
        for source in memory.read(f"state {state.name}", 0, state.type.bytes):
            yield DataEdge(source, node, state.type)
        node += 1


def _port(name: str, kind: str, offset: int | None) -> tuple[str, int]:
    return (f"{kind} {name}", 0) if offset is None else ("arena", offset)


def _at(operand: Operand) -> tuple[str, int]:
    place: Place = operand.place
    if place.kind == "arena":
        return "arena", place.offset
    return f"{place.kind} {place.name}", place.offset
