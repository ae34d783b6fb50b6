"""Runs the nodes of a graph of TensorFlow that results depend on, each by the handler of its operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from edgekit.converters.blame import blame
from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.frontend import Handler, call, check_supported, handlers
from edgekit.converters.semantics.open_rows import settled
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensorflow import complex_numbers, control_flow, graph, ops
from edgekit.converters.tensorflow.attributes import COMPLEX, RESOURCE, TypeCode
from edgekit.converters.tensorflow.checkpoint import Bundle, sliced
from edgekit.converters.tensorflow.complex_numbers import ComplexTensor
from edgekit.converters.tensorflow.control_flow import DEAD
from edgekit.converters.tensorflow.frames import FrameLoop, loops_of
from edgekit.converters.tensorflow.graph import IDLE, Function, Node, Reference, reachable
from edgekit.converters.tensorflow.net import Restore
from edgekit.converters.tensorflow.variables import Saved, Variable, Variables
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_ASSIGNS = {
    "Assign": lambda old, new: new,
    "AssignVariableOp": lambda old, new: new,
    "AssignAdd": lambda old, new: old + new,
    "AssignAddVariableOp": lambda old, new: old + new,
    "AssignSub": lambda old, new: old - new,
    "AssignSubVariableOp": lambda old, new: old - new,
}
# Attributes that say how to compute, or repeat what operands tell.
_HINTS = {
    *("N", "T", "Truncate", "allowed_devices", "bad_indices_policy", "config", "config_proto", "container"),
    *("debug_name", "executor_type", "exponential_avg_factor", "f", "grad_a", "grad_b", "grad_x", "grad_y"),
    *("incompatible_shape_error", "message", "num_args", "output_shapes", "parallel_iterations", "shape"),
    *("shapes", "shared_name", "use_cudnn_on_gpu", "use_inter_op_parallelism", "validate_indices"),
}
_MAX_DEPTH = 64
_MAX_NODES = 1 << 18
_HINT = "docs/frontends.md says what is read; end the network before it: edgekit convert --outputs NODE"
_FORBIDDEN = {
    **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"), "runs Python code, which is in no file"),
    **dict.fromkeys(("ReadFile", "WriteFile", "MatchingFiles", "WholeFileReaderV2"), "opens files"),
    **dict.fromkeys(("HashTableV2", "LookupTableFindV2", "StaticRegexReplace"), "looks up text"),
}


@dataclass
class Frame:
    """One run of a function: what its arguments are, and what its nodes have computed so far."""

    function: Function
    depth: int = 0
    computed: dict[str, tuple[Any, ...] | Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def loops(self) -> Mapping[str, FrameLoop]:
        """Those of TensorFlow 1, by the names of nodes that give their results."""
        return loops_of(self.function)

    def value(self, reference: Reference) -> Any:
        made = self.computed[reference.node]
        if made == (DEAD,):
            return DEAD
        index = reference.index or 0
        if isinstance(made, Mapping):
            if reference.result in made:
                return made[reference.result]
            made = tuple(made.values())
        if index >= len(made):
            raise EdgeKitError("E0205", f"result {index} of {reference.node} is not supported")
        return made[index]


class Importer:
    """One conversion: the graph so far, and the functions of the file."""

    def __init__(
        self,
        functions: Mapping[str, Message],
        builder: Builder,
        variables: Variables,
        max_iterations: int | None = None,
        weights: Mapping[str, Array] | None = None,
    ) -> None:
        self.stored = functions
        self.builder = builder
        self.variables = variables
        self.weights = weights or {}  # of constants without a value
        self.max_iterations = max_iterations  # of loops whose end data decide
        self.checkpoint: Bundle | None = None
        self.names: dict[str, Tensor] = {}
        self.running: list[str] = []  # functions, one in the other
        self.count = 0  # of nodes
        self._functions: dict[str, Function] = {}

    def function(self, name: str) -> Function:
        if name not in self.stored:
            raise EdgeKitError("E0401", f"there is no function {name[:80]!r}")
        if name not in self._functions:
            self._functions[name] = graph.function(self.stored[name])
        return self._functions[name]

    def check(self, function: Function, wanted: Iterable[str]) -> None:
        """Refuse all that is not supported among what these nodes depend on, at once."""
        seen = {function.name}
        queue = [(function, list(wanted))]
        found: dict[tuple[str, str], None] = {}
        while queue:
            place, names = queue.pop()
            for node in reachable(place, names):
                found[node.op, node.name] = None
                called = node.functions if node.op not in self.stored else iter([node.op])
                for name in called if node.op not in IDLE else ():
                    if name not in seen:
                        seen.add(name)
                        inner = self.function(name)
                        starts = [*(r.node for r in inner.results), *inner.effects]
                        queue.append((inner, starts))
        for op, name in found:
            if op in _FORBIDDEN:
                raise EdgeKitError("E0201", f"{op} {_FORBIDDEN[op]}", f"node {name}", _HINT)
        check_supported(found, dict.fromkeys(op for op, _ in found if self.knows(op)), _HINT)

    def knows(self, op: str) -> bool:
        return any(op in known for known in (handlers(ops), IDLE, _CALLS, self.stored, self.special))

    @cached_property
    def special(self) -> Mapping[str, Callable[[Frame, Node], Any]]:
        """Operators that are more than functions of their operands."""
        return {
            "Const": self._constant,
            "Placeholder": _unbound,
            "PlaceholderWithDefault": _operand,  # its default value stands for an input
            **dict.fromkeys(("VarHandleOp", "VariableV2", "Variable"), _variable),
            **dict.fromkeys(_ASSIGNS, self._assign),
            "RestoreV2": self._restored,
            **dict.fromkeys(("Enter", "NextIteration", "LoopCond"), _operand),
            "Exit": partial(control_flow.frame_loop, self),
            "Switch": control_flow.switch,
            "Merge": control_flow.merge,
            **dict.fromkeys(("If", "StatelessIf"), partial(control_flow.conditional, self)),
            **dict.fromkeys(("Case", "StatelessCase"), partial(control_flow.case, self)),
            **dict.fromkeys(("While", "StatelessWhile"), partial(control_flow.while_loop, self)),
        }

    def run(self, frame: Frame, wanted: Iterable[str]) -> None:
        """Compute nodes, after all that they depend on."""
        function = frame.function
        waiting: set[str] = set()
        pending = list(wanted)[::-1]
        while pending:
            name = pending[-1]
            if name in frame.computed:
                pending.pop()
                continue
            node = function.node(name)
            loop = frame.loops.get(name)
            needs = function.depends_on(node) if loop is None else loop.starts
            missing = [n for n in needs if n not in frame.computed]
            if missing and name in waiting:
                raise EdgeKitError("E0205", "the graph runs in circles", f"node {name}")
            if missing:
                waiting.add(name)
                pending += missing[::-1]
                continue
            pending.pop()
            frame.computed[name] = self._computed(frame, node)

    def call(self, name: str, operands: Sequence[Any], depth: int) -> tuple[Any, ...]:
        """What a function computes of these operands."""
        if name in self.running:
            raise EdgeKitError("E0205", f"function {name[:80]} calls itself")
        if depth > _MAX_DEPTH:
            raise EdgeKitError("E0402", "functions are nested without end")
        function = self.function(name)
        if len(operands) != len(function.arguments):
            message = f"function {name[:80]} takes {len(function.arguments)} operands, not {len(operands)}"
            raise EdgeKitError("E0401", message)
        frame = Frame(function, depth)
        frame.computed |= {a: (x,) for a, x in zip(function.arguments, operands, strict=True)}
        self.running.append(name)
        origin = self.builder.origin
        try:
            self.run(frame, [*(r.node for r in function.results), *function.effects])
        finally:  # a caller may catch the error and try another way
            self.running.pop()
            self.builder.origin = origin
        return tuple(frame.value(r) for r in function.results)

    def nested(self, frame: Frame) -> Frame:
        """A run of the same nodes, for one iteration of a loop among them."""
        if frame.depth >= _MAX_DEPTH:
            raise EdgeKitError("E0402", "loops are nested without end")
        return Frame(frame.function, frame.depth + 1)

    def _computed(self, frame: Frame, node: Node) -> tuple[Any, ...] | Mapping[str, Any]:
        self.count += 1
        if self.count > _MAX_NODES:
            raise EdgeKitError("E0402", f"functions are called for more than {_MAX_NODES} nodes")
        self.builder.origin = node.name
        with blame(f"node {node.name}"):
            made = self._made(frame, node)
        made = made if isinstance(made, tuple | list | Mapping) else (made,)
        results = [_settled(x) for x in (made.values() if isinstance(made, Mapping) else made)]
        first = next(iter(results), None)
        if isinstance(first, Tensor) and first.data is None:
            self.names.setdefault(node.name, first)
        return dict(zip(made, results, strict=True)) if isinstance(made, Mapping) else tuple(results)

    def _made(self, frame: Frame, node: Node) -> Any:
        if node.op in IDLE:
            return [frame.value(r) for r in node.operands] if node.op == "CheckNumerics" else ()
        if node.op in self.special:
            return self.special[node.op](frame, node)
        operands = [frame.value(r) for r in node.operands]
        if any(x is DEAD for x in operands):
            return [DEAD]
        if node.op not in {*_CALLS, *self.stored} and node.attributes.get("T") != TypeCode(RESOURCE):
            operands = [self.variables.read(x) if isinstance(x, Variable) else x for x in operands]
        if node.op in _CALLS:
            (name,) = node.functions
            return self.call(name, operands, frame.depth + 1)
        if node.op in self.stored:
            return self.call(node.op, operands, frame.depth + 1)
        handler = handlers(ops)[node.op]

        def computed(operands: Sequence[Any]) -> Any:
            return call(handler, node.op, node.name, operands, dict(_given(handler, node)))

        if node.attributes.get("DstT") == TypeCode(COMPLEX):
            return [ComplexTensor(x, x * 0) for x in operands]
        if any(isinstance(x, ComplexTensor) for x in operands) != complex_numbers.takes(handler):
            return complex_numbers.apply(node.op, operands, computed)
        return computed(operands)

    def _constant(self, frame: Frame, node: Node) -> Any:
        if node.name in self.weights:
            return self.constant(self.weights[node.name], node.name)
        found = node.constant
        if isinstance(found, tuple):
            return [found]
        if np.iscomplexobj(found):
            return ComplexTensor(*(self.constant(part, node.name) for part in (found.real, found.imag)))
        return self.constant(found, node.name)

    def _assign(self, frame: Frame, node: Node) -> Any:
        """A variable of TensorFlow 1 is the result as well."""
        operands = [frame.value(r) for r in node.operands]
        if len(operands) != 2 or not isinstance(operands[0], Variable):
            raise EdgeKitError("E0401", f"{node.op} of no variable")
        variable, new = operands
        if isinstance(new, Variable):
            new = self.variables.read(new)
        if not isinstance(new, Saved):
            new = _ASSIGNS[node.op](self.variables.read(variable), new)
        self.variables.assign(variable, new)
        return [variable]

    def restore(self, frame: Frame, checkpoint: Restore) -> None:
        """Run what assigns variables, as the file states it; nothing is loaded yet."""
        self.checkpoint = checkpoint.bundle
        frame.computed[checkpoint.path] = ("",)
        self.check(frame.function, [checkpoint.node])
        self.run(frame, [checkpoint.node])

    def _restored(self, frame: Frame, node: Node) -> Any:
        _, names, slices = (frame.value(r) for r in node.operands)
        if self.checkpoint is None or not all(isinstance(texts, tuple) for texts in (names, slices)):
            raise EdgeKitError("E0401", "there is no checkpoint to read, or no name of a variable")
        if any(slices):
            raise sliced()
        return [Saved(self.checkpoint, name) for name in names]

    def constant(self, data: Array, name: str) -> Tensor:
        return Tensor(self.builder, self.builder.const(data, hint=name))


def _settled(x: Any) -> Any:
    return settled(x) if isinstance(x, Tensor) else x


def _given(handler: Handler, node: Node) -> Iterator[tuple[str, Any]]:
    """The attributes for a handler. Types, shapes and hints are for those that ask for them."""
    takes = _keywords(handler)
    for key, given in node.attributes.items():
        if key in takes or not (isinstance(given, TypeCode) or key in _HINTS or _is_types(given)):
            yield key, given.dtype if isinstance(given, TypeCode) else given


def _is_types(given: Any) -> bool:
    return isinstance(given, tuple) and any(isinstance(one, TypeCode) for one in given)


@cache
def _keywords(handler: Handler) -> Collection[str]:
    return {p.name for p in inspect.signature(handler).parameters.values() if p.kind is p.KEYWORD_ONLY}


def _operand(frame: Frame, node: Node) -> Any:
    return [frame.value(r) for r in node.operands]


def _variable(frame: Frame, node: Node) -> Any:
    return [Variable(node.name)]


def _unbound(frame: Frame, node: Node) -> Any:
    raise EdgeKitError("E0401", "a placeholder within a function has no value")
