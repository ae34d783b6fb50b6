"""A net of TensorFlow -> Graph, and which nodes of a frozen graph are inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.inputs import Bindings, fixed_input
from edgekit.converters.naming import named_graph
from edgekit.converters.semantics import selected_rows
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensorflow.attributes import TypeCode
from edgekit.converters.tensorflow.complex_numbers import ComplexTensor
from edgekit.converters.tensorflow.graph import IDLE, Reference, graph, reachable
from edgekit.converters.tensorflow.importer import Frame, Importer
from edgekit.converters.tensorflow.net import Net, Port
from edgekit.converters.tensorflow.variables import Variable, Variables
from edgekit.core import suggest
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import Array, Type

_RESULT = re.compile(r"Identity(_\d+)?")  # of a function
_NO_RESULTS = {"Const", "Placeholder", *IDLE}


def frozen(stored: Message) -> Net:
    """Placeholders are the inputs. The outputs are the results of a function that TensorFlow 2 froze, or else
    what no other node takes."""
    top, functions = graph(stored)
    taken = {r.node for node in top.nodes.values() for r in node.operands}
    exits = [n for n, node in top.nodes.items() if n not in taken and node.op not in _NO_RESULTS]
    exits = [n for n in exits if _RESULT.fullmatch(n)] or exits
    inputs = []
    for node in top.nodes.values():
        if node.op == "Placeholder":
            declared = node.attributes.get("dtype")
            if not isinstance(declared, TypeCode):
                raise EdgeKitError("E0401", "the input has no type", f"node {node.name}")
            inputs.append(Port(node.name, Reference(node.name), declared, node.attributes.get("shape")))
    used = {node.name for node in reachable(top, exits)}
    return Net(top, functions, [port for port in inputs if port.name in used], exits)


class Conversion:
    """One conversion, with all that the user binds."""

    def __init__(
        self, net: Net, size: int, bindings: Bindings, constants: Mapping[str, float | Array]
    ) -> None:
        self.net = net
        self.size = size + sum(map(len, net.contents))
        self.bindings = bindings
        self.constants = constants

    def run(self, name: str, changing: Collection[str] = ()) -> Graph:
        """The graph; once more where it turns out that it assigns variables, which are states then."""
        net = self.net
        builder = Builder(given=self.size, nodes=len(net.top.nodes))
        variables = Variables(builder, changing)
        importer = Importer(net.functions, builder, variables, self.bindings.max_iterations, net.weights)
        frame = Frame(net.top)
        wanted = [r.node for r in net.outputs.values()] if isinstance(net.outputs, Mapping) else net.outputs
        importer.check(net.top, wanted)
        inputs = self._bound(importer, frame)
        if net.restore is not None:
            importer.restore(frame, net.restore)
        for key in changing:  # before branches and loops, whose graphs are apart
            variables.read(Variable(key))
        importer.run(frame, wanted)
        if set(variables.written) - set(changing):
            return self.run(name, variables.written)
        outputs = list(_outputs(frame, net.outputs))
        if not outputs:
            raise EdgeKitError("E0401", "the graph computes nothing")
        memories = list(variables.memories())
        selected_rows.check_fixed(builder, [memory.next for memory in memories], "a variable holds")
        outputs, counted = selected_rows.with_counts(builder, outputs, selected_rows.trace(builder))
        source = Source(counted_rows=tuple(counted))
        return named_graph(builder, name, inputs, outputs, importer.names, source, memories)

    def _bound(self, importer: Importer, frame: Frame) -> list[str]:
        """The inputs, those left out that a constant stands for."""
        inputs: list[str] = []
        for port in self.net.inputs:
            value = self.constants.get(port.name)
            if isinstance(value, np.ndarray):
                type = Type(port.type.dtype, value.shape)
            else:
                type = self.bindings.type(port.name, port.type.dtype, port.dims)
            if value is not None:
                made = importer.constant(fixed_input(port.name, value, type), port.name)
            else:
                made = Tensor(importer.builder, importer.builder.input(port.name, type))
                inputs.append(made.name)
            frame.computed[port.tensor.node] = (made,)
        names = [port.name for port in self.net.inputs]
        self.bindings.check(names)
        if unknown := [key for key in self.constants if key not in names]:
            hint = suggest.hint(unknown[0], names, "inputs")
            message = f"the model has no input named {unknown[0]}, which --const names"
            raise EdgeKitError("E0103", message, hint=hint)
        return inputs


def _outputs(frame: Frame, wanted: Mapping[str, Reference] | Sequence[str]) -> Iterator[tuple[str, Tensor]]:
    """The results by name: those that a signature names, or all of the last nodes."""
    if isinstance(wanted, Mapping):
        for name, reference in wanted.items():
            result = frame.value(reference)
            _check_real(result, name)
            if not isinstance(result, Tensor):
                raise EdgeKitError("E0205", f"output {name[:80]} is no tensor of numbers")
            yield name, result
        return
    for node in wanted:
        made = frame.computed[node]
        for i, result in enumerate(made.values() if isinstance(made, Mapping) else made):
            _check_real(result, node)
            if isinstance(result, Tensor):
                yield f"{node}:{i}" if i else node, result


def _check_real(result: object, name: str) -> None:
    if isinstance(result, ComplexTensor):
        hint = "let the model end with their real and imaginary parts, or with absolute values"
        raise EdgeKitError("E0204", f"output {name[:80]} has complex numbers", hint=hint)
