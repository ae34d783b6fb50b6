"""The graph: nodes, states, origins, and the immutable Graph that every stage reads and returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from edgekit.core.notebook import Number, card
from edgekit.core.ops import Op
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.types import Array, DType, Type, Value


@dataclass(frozen=True)
class Node:
    """One operator applied to named edges. `origin` names the layer of the source model it came from."""

    op: Op
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    origin: str = ""


@dataclass(frozen=True)
class State:
    """What a graph remembers from run to run: the run reads `input`, and the value `output` is what the next
    run reads there. `initial`, a constant, is what the first one reads."""

    input: str
    output: str
    initial: Value

    @property
    def start(self) -> Array:
        """The data of `initial`."""
        assert self.initial.data is not None, f"{self.input} starts from nothing"
        return self.initial.data


@dataclass(frozen=True)
class OpenBatch:
    """A batch dimension that the model file leaves open, bound to 1 by default."""

    input: str
    dimension: str = ""  # its name in the file, if it has one


@dataclass(frozen=True)
class OneSidedBranch:
    """A choice between two subgraphs of which only one has valid shapes, so that it is taken."""

    node: str
    input: str = ""  # a scalar that the choice depends on


@dataclass(frozen=True, eq=False)
class GroupwiseWeights:
    """A constant matrix [outputs, inputs] of integers, signed and of 4 or 8 bits, in groups along its rows:
    real = scale[o, i // group] * (integers[o, i] - zero[o, i // group])."""

    integers: Array
    scale: Array
    zero: Array | None
    group: int


@dataclass(frozen=True)
class CountedRows:
    """An output that has room for a fixed number of rows: how many there are is another output."""

    output: str
    axis: int
    count: str


@dataclass(frozen=True)
class ClassNames:
    """An output that is text in the source model: the number of one of these names, from 0 on."""

    output: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class MeasuredTensor:
    """What quantization saw of a tensor: how well it is kept, and how its values were distributed."""

    value: str
    sqnr_db: float  # on samples that were held out; infinite where nothing was lost
    low: float  # where the first of the counts begins, in cells of equal width
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class RemovedChannels:
    """Dead channels of a layer: none of its results depend on them. Without them the layer has fewer outputs,
    or reads fewer inputs."""

    name: str  # of its result
    origin: str  # the layer of the source model
    channels: int  # of its outputs, that are gone
    channels_before: int
    macs: int  # that are gone
    bytes: int  # of its constants, likewise


@dataclass(frozen=True)
class RemovedWork:
    """The dead channels that were removed from a model when it was read or quantized."""

    layers: tuple[RemovedChannels, ...]
    macs_before: int  # of the whole model

    @property
    def channels(self) -> int:
        return sum(layer.channels for layer in self.layers)

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)

    @property
    def macs_share(self) -> float:
        return self.macs / max(self.macs_before, 1)

    @property
    def bytes(self) -> int:
        return sum(layer.bytes for layer in self.layers)


@dataclass(frozen=True)
class Source:
    """Where a graph came from: kept in .ek files and printed in generated code."""

    file: str = ""
    sha256: str = ""
    format: str = ""
    producer: str = ""
    open_batches: tuple[OpenBatch, ...] = ()
    one_sided: tuple[OneSidedBranch, ...] = ()
    counted_rows: tuple[CountedRows, ...] = ()
    class_names: tuple[ClassNames, ...] = ()
    measured: tuple[MeasuredTensor, ...] = ()
    machine: str = ""  # the class of machines that formats of layers were chosen for
    removed: RemovedWork | None = field(default=None, metadata={"json": False})  # reports have it themselves
    # Multiply-accumulates before channels were removed that are constant as integers; 0: none were.
    float_macs: int = field(default=0, metadata={"json": False})


@dataclass(frozen=True)
class Graph:
    """An immutable dataflow graph. Names are the edges; nodes are in topological order; shapes are static.
    `inputs` and `outputs` are the caller's; those of `states` are there beside them."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    values: Mapping[str, Value]
    source: Source = field(default_factory=Source)
    states: tuple[State, ...] = ()
    stored_dtypes: tuple[DType, ...] = ()  # of weights in the source file that its reader widened
    groupwise: Mapping[bytes, GroupwiseWeights] = field(default_factory=dict)  # by digest of what was widened
    tokenizer: Tokenizer | None = None  # of a language model

    @cached_property
    def entries(self) -> tuple[str, ...]:
        """Everything that is there when a run starts, but for constants: inputs, then states."""
        return (*self.inputs, *(state.input for state in self.states))

    @cached_property
    def exits(self) -> tuple[str, ...]:
        """What a run leaves behind: outputs, then the next content of states."""
        return (*self.outputs, *(state.output for state in self.states))

    @cached_property
    def quantizes(self) -> bool:
        """Does a run round floats to integers by scales that it chooses?"""
        return any(node.op.quantizes for node in self.nodes)

    @cached_property
    def work(self) -> int:
        """Steps of one run in numpy: see Op.run_work."""
        return sum(map(self.work_of, self.nodes))

    def work_of(self, node: Node) -> int:
        """The steps of one node in a run."""
        return node.op.run_work([*map(self.type, node.inputs)], [*map(self.type, node.outputs)])

    @cached_property
    def _exits(self) -> frozenset[str]:
        return frozenset(self.exits)

    @cached_property
    def _producers(self) -> dict[str, Node]:
        return {name: node for node in self.nodes for name in node.outputs}

    @cached_property
    def _users(self) -> dict[str, list[Node]]:
        users: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                users.setdefault(name, []).append(node)
        return users

    def producer(self, name: str) -> Node | None:
        """The node that computes `name`; None for entries and constants."""
        return self._producers.get(name)

    def origin(self, name: str) -> str:
        """The layer of the source model that `name` comes from; empty for entries and constants."""
        node = self.producer(name)
        return node.origin if node else ""

    def users(self, name: str) -> Sequence[Node]:
        """The nodes that read `name`, in order. An exit may have none."""
        return self._users.get(name, ())

    def used_once(self, name: str) -> bool:
        """Is `name` read by exactly one node, and not outside the graph?"""
        return len(self.users(name)) == 1 and name not in self._exits

    def type(self, name: str) -> Type:
        return self.values[name].type

    def data(self, name: str) -> Array | None:
        """The constant that `name` holds, or None."""
        return self.values[name].data

    def constants(self) -> Iterator[tuple[str, Array]]:
        for name, value in self.values.items():
            if value.data is not None:
                yield name, value.data

    def with_name(self, name: str) -> Graph:
        return replace(self, name=name)

    def __repr__(self) -> str:
        ends = (
            ", ".join(f"{name} {self.type(name)}" for name in names) for names in (self.inputs, self.outputs)
        )
        return f"<Graph {self.name}: {len(self.nodes)} operators, {' -> '.join(ends)}>"

    def _repr_html_(self) -> str:
        """In notebooks."""
        figures = [("input", f"{name} {self.type(name)}") for name in self.inputs]
        figures += [("output", f"{name} {self.type(name)}") for name in self.outputs]
        figures += [("state", f"{state.input} {state.initial.type}") for state in self.states]
        figures.append(("constants", f"{sum(data.nbytes for _, data in self.constants()):,} B"))
        macs = [node.op.macs(*map(self.type, node.inputs)) for node in self.nodes]
        most = max(macs, default=0) or 1
        rows = [
            (
                node.outputs[0],
                type(node.op).__name__,
                str(self.type(node.outputs[0])),
                Number(f"{count:,}", count / most),
            )
            for node, count in zip(self.nodes, macs, strict=True)
        ]
        return card(f"Graph {self.name}", figures, ("result", "operator", "type", "MACs"), rows)
