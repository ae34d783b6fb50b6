"""The lowered program: flat, for one target, every name and number decided; all that templates see."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from edgekit.codegen.kernels.pack import is_tiled, pack
from edgekit.codegen.kernels.sources import Field, Kernel, Pointer, instantiate
from edgekit.codegen.lowering.branches import Guard, Loop, costliest
from edgekit.codegen.lowering.lower import lowered
from edgekit.codegen.memory.arena import Plan
from edgekit.codegen.memory.lifetimes import Scheduled
from edgekit.codegen.memory.planner import Memory, Peak, Place, assign
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.printing.literal import elements, number
from edgekit.codegen.printing.names import HEADERS, Names, identifier
from edgekit.core.escape import Code
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.passes.stored_weights import widened_weights
from edgekit.core.target import Target
from edgekit.core.types import Array, DType, Type, Value


@dataclass(frozen=True)
class Port:
    """An input or output of the model."""

    name: str  # as in the model
    c: str  # the parameter in C
    type: Type
    offset: int | None = None  # in the arena, if that is where it is


@dataclass(frozen=True)
class Constant:
    """An array in flash."""

    c: str
    name: str  # the edge it comes from
    dtype: DType
    data: Array  # flat, in the kernel's layout
    aligned: bool = False  # as tensors are: a kernel loads several elements at once


@dataclass(frozen=True)
class Memo:
    """A state of the model, as a field of the struct that the caller owns."""

    name: str  # as in the model
    c: str  # the field in C
    type: Type
    start: str  # what every element is after a reset; empty where they differ
    starts: str  # the constant that holds what they are then, if so


@dataclass(frozen=True)
class Operand:
    """A pointer argument of a call."""

    pointer: Pointer
    place: Place
    address: str  # inside the run function


@dataclass(frozen=True)
class Test:
    """The condition of a branch or loop that a call is within, and where it is found."""

    guard: Guard | Loop
    place: Place
    address: str  # inside the run function: of a byte, 0 or 1
    counter: str = ""  # of the iterations of a loop


@dataclass(frozen=True)
class Line:
    """One kernel call of the program."""

    c: str  # names its parameters, and its function at --optimize speed
    kernel: Kernel
    operands: tuple[Operand, ...]
    params: tuple[tuple[Field, Code], ...]
    comment: str
    origin: str
    macs: int
    call: Call  # what it was made of
    tests: tuple[Test, ...] = ()  # it runs where all of these hold; the outermost comes first

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
    states: tuple[Memo, ...]  # those with the widest elements first, so that nothing lies between them
    constants: tuple[Constant, ...]
    lines: tuple[Line, ...]
    arena: Plan
    peak: Peak | None = None  # what fills the arena
    ports: Ports = "caller"  # whose the memory of inputs and outputs is
    order_runs: int = 0  # of layers that the search for their order tried until its budget ended it
    small: frozenset[str] = frozenset()  # results of the layers whose weights take less memory and more time

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
    graph: Graph, target: Target, ports: Ports = "caller", small: Collection[str] = ()
) -> Program:
    """Lower a graph for a target. Inputs and outputs are the caller's, or part of the arena. Of layers whose
    results are named in `small`, weights take less memory and more time: see fit.py."""
    if target.gpu:  # whose kernels know no integer weights among floats
        graph = widened_weights(graph, only_integers=True)
    found = lowered(graph, target, ports, small)
    whole = replace(graph, values={**graph.values, **found.values})
    memory = assign(whole, found.layers, target.align, ports)
    prefix = identifier(graph.name, set(HEADERS), "model")
    taken = Names((f"{prefix}_run", f"{prefix}_selftest"))
    if graph.states:
        taken |= {"state", f"{prefix}_state", f"{prefix}_reset"}
    if ports == "arena":  # functions are named after them
        taken |= {"run", "selftest", "reset", "state"}
    inputs, outputs = (
        tuple(Port(n, identifier(n, taken, c), graph.type(n), starts.get(n)) for n in names)
        for names, c, starts in ((graph.inputs, "x", memory.inputs), (graph.outputs, "y", memory.outputs))
    )
    if ports == "arena":
        taken |= {f"{prefix}_{port.c}" for port in (*inputs, *outputs)}
    places = {("input", p.name): p for p in inputs} | {("output", p.name): p for p in outputs}
    pool = _Constants(prefix, taken)
    states = tuple(_memos(graph, pool, taken))
    places |= {("state", memo.name): Port(memo.name, f"state->{memo.c}", memo.type) for memo in states}
    lines = tuple(_lines(whole, memory, target, pool, places, taken))
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
        frozenset(small),
    )


class _Constants:
    """The constants that calls use, once per layout; equal data share an array."""

    def __init__(self, prefix: str, taken: set[str]) -> None:
        self.prefix = prefix
        self.taken = taken
        self.found: dict[tuple[str, DType, bool, bytes], Constant] = {}
        self._by_layout: dict[tuple[str, str, int], Constant] = {}

    def get(self, name: str, value: Value, tag: str, groups: int) -> Constant:
        layout = (name, tag, groups)
        if layout not in self._by_layout:
            assert value.data is not None
            data = pack(tag, value.data, groups) if tag else value.data.reshape(-1)
            dtype = DType.of(data.dtype)
            aligned = is_tiled(tag)
            key = (str(data.dtype), dtype, aligned, data.tobytes())
            if key not in self.found:
                c = identifier(f"{self.prefix}_{name}", self.taken, "w")
                self.found[key] = Constant(c, name, dtype, data, aligned)
            self._by_layout[layout] = self.found[key]
        return self._by_layout[layout]


def _memos(graph: Graph, pool: _Constants, taken: set[str]) -> Iterator[Memo]:
    """The fields of the states."""
    for state in sorted(graph.states, key=lambda state: -state.initial.type.dtype.bytes):
        name, type = state.input, state.initial.type
        c = identifier(name, taken, "s")
        words = list(dict.fromkeys(elements(state.start)))
        if len(words) > 1:
            yield Memo(name, c, type, "", pool.get(f"{name}_start", state.initial, "", 1).c)
        else:
            yield Memo(name, c, type, next(iter(words), "0"), "")


def _lines(
    graph: Graph,
    memory: Memory,
    target: Target,
    pool: _Constants,
    ports: Mapping[tuple[str, str], Port],
    taken: set[str],
) -> Iterator[Line]:
    counters: dict[Loop, str] = {}
    for scheduled in memory.calls:
        call = scheduled.call
        kernel = instantiate(call, target)
        arguments: list[tuple[str, Value | None]] = [(arg.name, arg.value) for arg in call.args]
        if scheduled.scratch:
            arguments.append((scheduled.scratch, None))
        assert len(arguments) == len(kernel.pointers), (
            f"{kernel.name} takes {kernel.pointers}, got {arguments}"
        )
        tests = []
        for guard in scheduled.guards:
            place = memory.places[guard.condition]
            base = "ram" if place.kind == "arena" else ports[place.kind, place.name].c
            if isinstance(guard, Loop) and guard not in counters:
                counters[guard] = identifier("i", taken, "i")
            counter = counters[guard] if isinstance(guard, Loop) else ""
            tests.append(Test(guard, place, f"{base}[{place.offset}]", counter))
        operands = []
        for (name, value), pointer in zip(arguments, kernel.pointers, strict=True):
            place = memory.places[name]
            if place.kind == "constant":
                # A view of a constant starts inside the constant it is part of.
                source = value if place.name == name else graph.values[place.name]
                assert source is not None
                constant = pool.get(place.name, source, kernel.pack.get(pointer.name, ""), call.groups)
                base, dtype = constant.c, constant.dtype
                place = replace(place, name=constant.c)
            elif place.kind == "arena":
                base, dtype = "ram", DType.U8
            else:
                port = ports[place.kind, place.name]
                base, dtype = port.c, port.type.dtype
            operands.append(
                Operand(pointer, place, _address(pointer, place.offset, base, dtype, place.kind == "arena"))
            )
        kind = kernel.name.split("_")[0]
        layer = scheduled.node.origin.split("/")[-1]
        taken.update(pointer.name for pointer in kernel.pointers)  # a layer's function has them as arguments
        yield Line(
            identifier(layer if kind in layer else f"{layer}_{kind}", taken, "layer", f"{pool.prefix}_"),
            kernel,
            tuple(operands),
            tuple((field, _parameter(field, call.params)) for field in kernel.fields),
            _comment(scheduled),
            scheduled.node.origin,
            call.macs,
            call,
            tuple(tests),
        )


def _address(pointer: Pointer, offset: int, base: str, dtype: DType, cast: bool) -> str:
    """The C expression of an address; the cast goes through void, because what it points to is aligned."""
    shifted = f"{base} + {offset // dtype.bytes}" if offset or cast else base
    if not cast and dtype.c == pointer.ctype:
        return shifted
    const = "const " * pointer.const
    return f"({const}{pointer.ctype} *)({const}void *)({shifted})"


def _parameter(field: Field, params: Mapping[str, object]) -> Code:
    assert field.name in params, f"parameter {field.name} of the kernel is not given"
    value = params[field.name]
    if field.count:
        assert isinstance(value, tuple | list), f"{field.name} takes {field.count} numbers"
        assert len(value) == field.count, f"{field.name} takes {field.count} numbers"
        return Code("{" + ", ".join(number(v, field.ctype) for v in value) + "}")
    return Code(number(value, field.ctype))


def _comment(scheduled: Scheduled) -> str:
    """What a reader wants to know of a call: layer, operator, types."""
    call, node = scheduled.call, scheduled.node
    ins = ", ".join(str(a.type) for a in call.args[: -call.results] if a.value.data is None)
    outs = ", ".join(str(a.type) for a in call.args[-call.results :])
    macs = f", {call.macs:,} MACs" if call.macs else ""
    return f"{node.origin}: {type(node.op).__name__} {ins} -> {outs}{macs}"
