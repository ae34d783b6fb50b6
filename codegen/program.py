"""The lowered program: flat, for one target, every name and number decided; all that templates see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from edgekit.codegen.constants import Constant, ConstantPool
from edgekit.codegen.gpu.plan import CpuSegment, GpuPlan, plans
from edgekit.codegen.kernels.sources import Field, Kernel, Pointer, instantiate
from edgekit.codegen.lowering.branches import Guard, Loop, costliest
from edgekit.codegen.lowering.lower import NO_LIMITS, WeightLimits, lowered
from edgekit.codegen.lowering.row_loops import LoopedLayer, RowSource
from edgekit.codegen.memory.arena import ArenaPlan
from edgekit.codegen.memory.lifetimes import Scheduled
from edgekit.codegen.memory.planner import ROWS_SO_FAR, MemoryPlan, Peak, Place, assign
from edgekit.codegen.memory.sharing import Ports, on_whole_tensors
from edgekit.codegen.planned_once import PLAN, planned
from edgekit.codegen.printing import row_loops
from edgekit.codegen.printing.describe import layer_comment
from edgekit.codegen.printing.integer_ports import IntegerPort, integer_port
from edgekit.codegen.printing.literal import elements, number
from edgekit.codegen.printing.names import HEADERS, Names, identifier, readable
from edgekit.codegen.printing.pointers import ArenaRow, Named, Pointers
from edgekit.codegen.row_plans import RowGain, RowPlanner
from edgekit.core.escape import Code
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.passes.int16_outputs import with_int8_outputs
from edgekit.core.passes.stored_weights import widened_weights
from edgekit.core.target import Target
from edgekit.core.types import DType, Type

# What generated functions that run parts of a call declare.
PART_WORDS = ("job", "part", "parts", "run", "params", "pool", "index", "own", "result", "row", "i")


@dataclass(frozen=True)
class Port:
    """An input or output of the model."""

    name: str  # as in the model
    c: str  # the parameter in C
    type: Type
    offset: int | None = None  # in the arena, if that is where it is

    @cached_property
    def integers(self) -> IntegerPort | None:
        """What its integers stand for, if constants and functions say it."""
        return integer_port(self.type)


@dataclass(frozen=True)
class RowPort:
    """An input of which a run gets one row at a time."""

    port: Port
    source: RowSource
    ring: Named  # where rows wait
    so_far: Named  # how many have come

    @property
    def rows(self) -> int:
        return self.source.blocks.layer.height

    @property
    def row_size(self) -> int:
        """Elements of a row."""
        return self.port.type.size // self.rows


@dataclass(frozen=True)
class StateField:
    """A state of the model, as a field of the struct that the caller owns."""

    name: str  # as in the model
    c: str  # the field in C
    type: Type
    start: str  # what every element is after a reset; empty where they differ
    starts: str  # where it is found what they are then, if so


@dataclass(frozen=True)
class Operand:
    """A pointer argument of a call."""

    pointer: Pointer
    place: Place
    address: str  # inside the run function: a name, or a constant
    named: Named | None = None  # the pointer that this is
    is_carried: bool = False  # from one block of rows to the next


@dataclass(frozen=True)
class BranchTest:
    """The condition of a branch or loop that a call is within, and where it is found."""

    guard: Guard | Loop
    place: Place
    address: str  # inside the run function: of a byte, 0 or 1
    counter: str = ""  # of the iterations of a loop
    named: Named | None = None  # the pointer that leads there, if there is one


@dataclass(frozen=True)
class ProgramCall:
    """One kernel call of the program."""

    c: str  # the name of its layer, in that of its parameters and its function
    kernel: Kernel
    operands: tuple[Operand, ...]
    params: tuple[tuple[Field, Code], ...]
    comment: str
    origin: str
    macs: int
    call: Call  # what it was made of
    tests: tuple[BranchTest, ...] = ()  # it runs where all of these hold; the outermost comes first
    rows: LoopedLayer | None = None  # where it computes block by block of rows, in a loop with others

    @property
    def guards(self) -> tuple[Guard | Loop, ...]:
        return tuple(test.guard for test in self.tests)


@dataclass(frozen=True)
class Program:
    """All of a generated library."""

    graph: Graph
    target: Target
    name: str  # prefix of every symbol
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    states: tuple[StateField, ...]  # those with the widest elements first, so that nothing lies between them
    constants: tuple[Constant, ...]
    lines: tuple[ProgramCall, ...]
    arena: ArenaPlan
    peak: Peak | None = None  # what fills the arena
    ports: Ports = "caller"  # whose the memory of inputs and outputs is
    order_runs: int = 0  # of layers that the search for their order tried until its budget ended it
    arena_rows: tuple[ArenaRow, ...] = ()  # what lies in the arena, and when
    weight_limits: WeightLimits = field(default_factory=dict)  # of layers whose weights take less memory
    within: str = ""  # the program of which it is a CPU segment or an entry, with its constants and states
    borrowed: Mapping[str, tuple[Constant, ...]] = field(default_factory=dict)  # by the program they are of
    entry_graphs: tuple[Graph, ...] = ()  # of the library beside this one, named <name>_<entry>: entries.py
    row_gain: RowGain | None = None  # of layers that run as loops over rows, where less memory is asked for
    by_pointer: bool = False  # runs are given the constants, as a blob: printing/weights_blob.py
    row_port: RowPort | None = None  # the input, if it arrives row by row

    @property
    def function(self) -> str:
        """What computes the outputs."""
        return f"{self.name}_{'push' if self.row_port else 'run'}"

    @cached_property
    def gpu_plans(self) -> tuple[GpuPlan, ...]:
        """The paths for GPUs of this entry and of the others, over one set of weights."""
        graphs = [entry.graph for entry in (self, *self.entries)]
        if not self.target.gpu:
            return ()
        return plans(graphs, keeps_states=self.target.opencl, growth=self.target.weight_growth)

    @property
    def gpu(self) -> GpuPlan | None:
        """Its path for GPUs, if it has one."""
        return self.gpu_plans[0] if self.target.gpu else None

    @cached_property
    def segments(self) -> tuple[Program, ...]:
        """What the CPU computes between dispatches by OpenCL, for each entry in turn, as programs that share
        constants and states with this one."""
        target = replace(self.target, gpu="")
        found = [self, *self.entries]
        for segment in self.gpu_segments if self.target.opencl else ():
            found.append(compile_graph(segment.graph, target, beside=found))
        return tuple(found[1 + len(self.entries) :])

    @property
    def gpu_segments(self) -> tuple[CpuSegment, ...]:
        """Those of all entries."""
        return tuple(segment for found in self.gpu_plans for segment in found.segments)

    @cached_property
    def segment_library(self) -> Program | None:
        """The same for pages, where they are a library of their own: the first segment, with the others as
        its entries."""
        graphs = [segment.graph for segment in self.gpu_segments]
        if not graphs:
            return None
        return replace(compile_graph(graphs[0], replace(self.target, gpu="")), entry_graphs=tuple(graphs[1:]))

    @cached_property
    def entries(self) -> tuple[Program, ...]:
        """The other entries of the library, as programs that share constants and states with this one."""
        found = [self]
        for graph in self.entry_graphs:
            found.append(
                compile_graph(
                    graph,
                    self.target,
                    self.ports,
                    self.weight_limits,
                    beside=found,
                    by_pointer=self.by_pointer,
                )
            )
        return tuple(found[1:])

    @property
    def owner(self) -> str:
        """The program whose names the states have."""
        return self.within or self.name

    @property
    def arena_bytes(self) -> int:
        """What each entry of the library finds enough."""
        return self.largest.arena.size

    @property
    def largest(self) -> Program:
        """The entry of the library that needs the largest arena."""
        return max((self, *self.entries), key=lambda entry: entry.arena.size)

    @property
    def resets_by_weights(self) -> bool:
        """Are there states that start from different numbers, which a run is given?"""
        return self.by_pointer and any(memo.starts for memo in self.states)

    @property
    def executed(self) -> Iterator[ProgramCall]:
        """The calls in the order in which they run: those in loops over rows once for each block."""
        for loop, lines in groupby(self.lines, lambda line: line.rows.loop if line.rows else None):
            together = [*lines]
            for iteration in range(loop.iterations if loop else 1):
                yield from (line for line in together if not line.rows or line.rows.blocks.is_due(iteration))

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernel instances in use, by name."""
        return tuple(
            sorted({line.kernel.name: line.kernel for line in self.lines}.values(), key=lambda k: k.name)
        )

    @property
    def state_bytes(self) -> int:
        """What the struct of the states takes: a multiple of its widest element."""
        total = sum(memo.type.dtype.bytes * max(memo.type.size, 1) for memo in self.states)
        return total + -total % max((memo.type.dtype.bytes for memo in self.states), default=1)

    @property
    def weight_bytes(self) -> int:
        return sum(c.data.size * c.dtype.bytes for c in self.constants)

    @property
    def read_constants(self) -> tuple[Constant, ...]:
        """Those that its layers read, its own and others."""
        return (*self.constants, *(c for constants in self.borrowed.values() for c in constants))

    @property
    def library_weight_bytes(self) -> int:
        """With those that other entries add."""
        return self.weight_bytes + sum(entry.weight_bytes for entry in self.entries)

    @property
    def linked_weight_bytes(self) -> int:
        """Of these, what is part of the library."""
        return 0 if self.by_pointer else self.library_weight_bytes

    @property
    def repeated_weights(self) -> Mapping[str, int]:
        """Bytes of copies of weights that several layers read in different layouts, by tensor."""
        sizes: dict[str, list[int]] = {}
        for c in self.constants:
            if c.type.rank > 1:
                sizes.setdefault(c.name, []).append(c.data.size * c.dtype.bytes)
        return {name: sum(found) - max(found) for name, found in sizes.items() if len(found) > 1}

    @property
    def working_bytes(self) -> int:
        """What a run takes beside constants and states: arena, inputs and outputs."""
        outside = (*self.inputs, *self.outputs) if self.ports == "caller" else ()
        return self.arena.size + sum(port.type.bytes for port in outside)

    @property
    def macs(self) -> int:
        """Of the most expensive path through all branches."""
        return int(costliest([line.macs for line in self.lines], [line.guards for line in self.lines]))

    @property
    def branches(self) -> int:
        """How many conditions decide which layers run."""
        guards = {guard for line in self.lines for guard in line.guards}
        return len({guard.condition for guard in guards if isinstance(guard, Guard)})

    @property
    def loops(self) -> int:
        """How many loops there are, of which data may decide the end."""
        return len({g for line in self.lines for g in line.guards if isinstance(g, Loop)})


def compile_graph(
    graph: Graph,
    target: Target,
    ports: Ports = "caller",
    weight_limits: WeightLimits = NO_LIMITS,
    *,
    beside: Sequence[Program] = (),
    by_pointer: bool = False,
    is_trial: bool = False,
) -> Program:
    """Lower a graph for a target. Inputs and outputs are the caller's, or part of the arena; with rows the
    input arrives row by row, and the arena has a ring of them. The weights of some layers have limits: see
    compact_weights.py. What is `beside` it in a library has constants that it shares, and the first of these
    has its states. Constants are linked, or given to each run `by_pointer`. Of a trial it is not asked what
    loops over rows gain."""
    planned().spend(PLAN * len(graph.nodes))
    if target.gpu:  # whose kernels know no integer weights among floats, and no 16 bits
        graph = with_int8_outputs(widened_weights(graph, only_integers=True))
    calls = [line.call for program in beside for line in program.lines]
    found = lowered(graph, target, ports, weight_limits, calls)
    whole = replace(graph, values={**graph.values, **found.values})
    row_gain: RowGain | None = None
    if target.least_ram or ports == "rows":
        planner = RowPlanner(whole, found.layers, target, ports)
        memory, row_gain = (planner.tried(), None) if is_trial else planner.planned()
    else:
        memory = assign(whole, found.layers, target.align, on_whole_tensors(ports))
    prefix = identifier(graph.name, set(HEADERS), "model")
    within = [program.name for program in beside[:1]]
    taken = Names((f"{prefix}_run", f"{prefix}_selftest"))
    if graph.states:
        taken |= {"state", *(f"{owner}_{word}" for owner in (prefix, *within) for word in ("state", "reset"))}
    if target.cores > 1:
        taken |= {f"{prefix}_run_parallel", f"{prefix}_job", f"{prefix}_parts", *PART_WORDS}
    if any(scheduled.rows for scheduled in memory.calls):
        taken |= {row_loops.ITERATION, row_loops.ROW}
    if by_pointer:
        taken |= {"weights", f"{prefix}_weights_check"}
    if ports != "caller":  # functions are named after them
        taken |= {"run", "selftest", "reset", "state"}
    if ports == "rows":
        taken |= {"start", "push", f"{prefix}_start", f"{prefix}_push", *row_loops.ARRIVAL_WORDS}
    inputs, outputs = (
        tuple(
            Port(
                n,
                identifier(n, taken, c, _port_names(prefix, graph.type(n), ports)),
                graph.type(n),
                starts.get(n),
            )
            for n in names
        )
        for names, c, starts in ((graph.inputs, "x", memory.inputs), (graph.outputs, "y", memory.outputs))
    )
    places = {("input", p.name): p for p in inputs} | {("output", p.name): p for p in outputs}
    pool = ConstantPool(prefix, taken, beside, target.align)
    states = beside[0].states if beside and graph.states else tuple(_memos(graph, pool, taken, by_pointer))
    taken |= {memo.c for memo in states}
    places |= {("state", memo.name): Port(memo.name, f"state->{memo.c}", memo.type) for memo in states}
    pointers = Pointers(Names(taken if ports == "rows" else ()), memory.live)
    row_port = _row_port(memory, inputs[0], pointers) if ports == "rows" else None
    lines = tuple(_lines(whole, memory, target, pool, places, taken, pointers, by_pointer))
    constants = tuple(pool.found.values())
    return Program(
        graph,
        target,
        prefix,
        inputs,
        outputs,
        states,
        constants,
        lines,
        memory.arena,
        memory.peak,
        ports,
        found.order_runs,
        pointers.table(),
        dict(weight_limits),
        "".join(within),
        {owner: tuple(used.values()) for owner, used in pool.borrowed.items()},
        row_gain=row_gain,
        by_pointer=by_pointer,
        row_port=row_port,
    )


def _row_port(memory: MemoryPlan, port: Port, pointers: Pointers) -> RowPort:
    """The input that arrives row by row, with its ring."""
    source = next(s.rows.loop.source for s in memory.calls if s.rows)
    assert source, "the first loop reads the input"
    ring = next(arg.type for s in memory.calls for arg in s.call.args if arg.name == port.name)
    pointer, counter = Pointer("x", port.type.dtype.c, False), Pointer("rows", DType.S32.c, False)
    place, at = memory.places[port.name], memory.places[ROWS_SO_FAR]
    so_far = pointers.tensor(ROWS_SO_FAR, Type(DType.S32, (1,)), counter, at, "arena")
    return RowPort(port, source, pointers.tensor(port.name, ring, pointer, place, "arena"), so_far)


def _port_names(prefix: str, type: Type, ports: Ports) -> list[str]:
    """The forms that the name of an input or output has in C: the parameter, and functions of the header."""
    functions = ["quantize", "dequantize"] if integer_port(type) else []
    return ["{}", *[f"{prefix}_{{}}"] * (ports != "caller"), *(f"{prefix}_{{}}_{word}" for word in functions)]


def _memos(graph: Graph, pool: ConstantPool, taken: set[str], by_pointer: bool) -> Iterator[StateField]:
    """The fields of the states."""
    for state in sorted(graph.states, key=lambda state: -state.initial.type.dtype.bytes):
        name, type = state.input, state.initial.type
        c = identifier(name, taken, "s")
        start = np.ascontiguousarray(state.start).reshape(-1)
        if start.tobytes() == start[:1].tobytes() * start.size:
            yield StateField(name, c, type, next(elements(start[:1]), "0"), "")
        else:
            constant = pool.get(f"{name}_start", state.initial, "", 1)
            view = Code(f"EK_VIEW({constant.dtype.c}, weights, {constant.offset})")
            yield StateField(name, c, type, "", view if by_pointer else constant.c)


def _lines(
    graph: Graph,
    memory: MemoryPlan,
    target: Target,
    pool: ConstantPool,
    ports: Mapping[tuple[str, str], Port],
    taken: set[str],
    pointers: Pointers,
    by_pointer: bool,
) -> Iterator[ProgramCall]:
    kernels = [instantiate(scheduled.call, target) for scheduled in memory.calls]
    arguments = {pointer.name for kernel in kernels for pointer in kernel.pointers} - taken
    taken |= arguments  # a layer's function has them as arguments
    counters = {
        loop: identifier("i", taken, "i")
        for loop in dict.fromkeys(g for s in memory.calls for g in s.guards if isinstance(g, Loop))
    }
    calls = Counter(scheduled.node.origin for scheduled in memory.calls)
    names = []
    for scheduled, kernel in zip(memory.calls, kernels, strict=True):
        layer, kind = scheduled.node.origin.split("/")[-1], kernel.name.split("_")[0]
        is_only = calls[scheduled.node.origin] == 1 or kind in layer.replace("_", "")
        layer = layer if layer and is_only else f"{layer}_{kind}"
        forms = (f"{pool.prefix}_{{}}", f"{pool.prefix}_{{}}_part", "{}_params")
        names.append(identifier(readable(layer), taken, "layer", forms))
    pointers.taken |= taken - arguments
    for scheduled, kernel, name in zip(memory.calls, kernels, names, strict=True):
        call = scheduled.call
        yield ProgramCall(
            name,
            kernel,
            tests=tuple(_tests(scheduled, graph, memory, ports, pointers, counters)),
            operands=_carried(
                [*_operands(scheduled, kernel, name, graph, memory, pool, ports, pointers, by_pointer)],
                scheduled,
            ),
            params=tuple((field, _parameter(field, call.params)) for field in kernel.fields),
            comment=layer_comment(scheduled),
            origin=scheduled.node.origin,
            macs=scheduled.whole.macs,
            call=call,
            rows=scheduled.rows,
        )


def _tests(
    scheduled: Scheduled,
    graph: Graph,
    memory: MemoryPlan,
    ports: Mapping[tuple[str, str], Port],
    pointers: Pointers,
    counters: Mapping[Loop, str],
) -> Iterator[BranchTest]:
    condition = Pointer("condition", DType.BOOL.c, True)
    for guard in scheduled.guards:
        place = memory.places[guard.condition]
        counter = counters[guard] if isinstance(guard, Loop) else ""
        named = _pointer(guard.condition, graph.type(guard.condition), condition, place, ports, pointers)
        base = named.c if named else ports[place.kind, place.name].c
        yield BranchTest(guard, place, f"{base}[0]", counter, named)


def _operands(
    scheduled: Scheduled,
    kernel: Kernel,
    layer: str,
    graph: Graph,
    memory: MemoryPlan,
    pool: ConstantPool,
    ports: Mapping[tuple[str, str], Port],
    pointers: Pointers,
    by_pointer: bool,
) -> Iterator[Operand]:
    """The arguments of a call: constants, inputs and outputs of the model, and pointers to tensors."""
    call = scheduled.call
    has_columns = any(part.columns for part in call.parts)  # whose own rows the kernel does not know of
    takes_scratch = len(kernel.pointers) > len(call.args)
    assert len(kernel.pointers) == len(call.args) + takes_scratch, f"{kernel.name} takes {kernel.pointers}"
    assert bool(scheduled.scratch) == (takes_scratch or has_columns), f"working memory of {kernel.name}"
    for k, (arg, pointer) in enumerate(zip(call.args, kernel.pointers, strict=False)):
        place = memory.places[arg.name]
        if place.kind == "constant":
            # A view of a constant starts inside the constant it is part of.
            source = arg.value if place.name == arg.name else graph.values[place.name]
            constant = pool.get(place.name, source, kernel.pack.get(pointer.name, ""), call.groups, arg.note)
            where = replace(place, name=constant.c)
            if by_pointer:
                at = constant.offset + place.offset
                found = pointers.constant(constant.name, pointer, at)
                yield Operand(pointer, where, found.c, found)
            else:
                yield Operand(pointer, where, _constant(constant, place, pointer))
            continue
        if k >= len(call.args) - call.results:
            pointers.writes(arg.name, place, arg.type.bytes)
        named = _pointer(arg.name, arg.type, pointer, place, ports, pointers)
        base = named.c if named else ports[place.kind, place.name].c
        if rows := scheduled.rows:
            base = row_loops.address(base, rows.operands[k], rows, arg.type.dtype, pointer)
        yield Operand(pointer, place, base, named)
    if scheduled.scratch:
        place = memory.places[scheduled.scratch]
        pointer = kernel.pointers[-1] if takes_scratch else Pointer("scratch", "uint8_t", False)
        named = pointers.scratch(scheduled.scratch, layer, call.scratch, pointer, place)
        yield Operand(pointer, place, named.c, named)


def _carried(operands: list[Operand], scheduled: Scheduled) -> tuple[Operand, ...]:
    """The arguments; later blocks of rows read some of them where the block before left its result."""
    for at, result in scheduled.rows.carried if scheduled.rows else ():
        address = row_loops.carried(operands[at].address, operands[result].address)
        operands[at] = replace(operands[at], address=address, is_carried=True)
    return tuple(operands)


def _pointer(
    name: str,
    type: Type,
    pointer: Pointer,
    place: Place,
    ports: Mapping[tuple[str, str], Port],
    pointers: Pointers,
) -> Named | None:
    """The pointer to a tensor, or None: it is a parameter of the run function."""
    if place.kind == "arena":
        return pointers.tensor(name, type, pointer, place, "arena")
    port = ports[place.kind, place.name]
    if place.offset == 0 and port.type.dtype.c == pointer.ctype:
        return None
    return pointers.tensor(name, type, pointer, place, port.c)


def _constant(constant: Constant, place: Place, pointer: Pointer) -> str:
    """The C expression of a constant: in the layout of a kernel its type may be another one."""
    if constant.dtype.c != pointer.ctype:
        return f"EK_VIEW({pointer.ctype}, {constant.c}, {place.offset})"
    return f"{constant.c} + {place.offset // constant.dtype.bytes}" if place.offset else constant.c


def _parameter(field: Field, params: Mapping[str, object]) -> Code:
    assert field.name in params, f"parameter {field.name} of the kernel is not given"
    value = params[field.name]
    if field.count:
        assert isinstance(value, tuple | list), f"{field.name} takes {field.count} numbers"
        assert len(value) == field.count, f"{field.name} takes {field.count} numbers"
        return Code("{" + ", ".join(number(v, field.ctype) for v in value) + "}")
    return Code(number(value, field.ctype))
