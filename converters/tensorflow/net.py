"""What is to be computed of a graph: its inputs and outputs, and where its variables come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.inputs import Dims
from edgekit.converters.named_outputs import check_outputs
from edgekit.converters.tensorflow.attributes import TypeCode
from edgekit.converters.tensorflow.checkpoint import Bundle
from edgekit.converters.tensorflow.graph import Function, Reference, reachable
from edgekit.core.types import Array


@dataclass(frozen=True)
class Port:
    """An input: its name for users, the tensor of the graph, and its type."""

    name: str
    tensor: Reference
    type: TypeCode
    dims: Dims | None


@dataclass(frozen=True)
class Restore:
    """Where a checkpoint goes: the node that takes its name, and the one that assigns all variables."""

    bundle: Bundle
    path: str
    node: str


@dataclass(frozen=True)
class Net:
    """A graph and its functions. Outputs are tensors by name, or nodes, of which all results are outputs."""

    top: Function
    functions: Mapping[str, Message]
    inputs: Sequence[Port]
    outputs: Mapping[str, Reference] | Sequence[str]
    restore: Restore | None = None
    contents: Sequence[bytes] = ()  # of the files beside that of the graph
    weights: Mapping[str, Array] = field(default_factory=dict)  # of constants without a value
    producer: str = ""

    def ended_at(self, outputs: Sequence[str]) -> Net:
        """With other outputs, NODE or NODE:1, and the inputs that these depend on."""
        if not outputs:
            return self
        ends = {name.removesuffix(":0"): Reference.of(name) for name in outputs}
        check_outputs([end.node for end in ends.values()], self.top.nodes)
        used = {node.name for node in reachable(self.top, [end.node for end in ends.values()])}
        inputs = [port for port in self.inputs if port.tensor.node in used]
        return replace(self, outputs=ends, inputs=inputs)
