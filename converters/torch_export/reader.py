"""PyTorch's .pt2 (torch.export) -> Graph, by the handlers of ops: functions named as ATen's operators.

The first argument of an operator goes to its handler by position, all others by the names that ATen gives
them. Results are compared with the types that the file states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgekit.converters.blame import blame
from edgekit.converters.file_formats.archive import SIGNATURE, member_names
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.frontend import call, check_supported, handlers, reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import ModelState, named_graph
from edgekit.converters.tensor import Tensor
from edgekit.converters.torch_export import FORMAT as FORMAT
from edgekit.converters.torch_export import SUFFIXES as SUFFIXES
from edgekit.converters.torch_export import ops
from edgekit.converters.torch_export.aliases import VIEWS, Aliases, Scope, View, changes_operand, write_back
from edgekit.converters.torch_export.arguments import (
    IRRELEVANT,
    Subgraph,
    argument,
    only,
    read_names,
    result_names,
)
from edgekit.converters.torch_export.file import ExportedProgram, dtype_of, is_program, load, sizes, symbol
from edgekit.converters.torch_export.symbols import SYMBOLIC
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array, Type, Value, type_of

# Storage, devices and random numbers: a graph says nothing of them.
_IGNORED = {
    *("device", "layout", "pin_memory", "non_blocking", "memory_format", "copy", "generator", "implicit"),
    *("cudnn_enabled", "cudnn_enable", "benchmark", "deterministic", "allow_tf32", "requires_grad"),
}
_NO_HANDLER = "ep.run_decompositions() may write it as operators that docs/frontends.md lists"
# Operators around a part of the graph, which runs as if it stood there; and how many settings come first.
_WRAPPERS = {"higher_order.wrap_with_set_grad_enabled": 1, "higher_order.wrap_with_autocast": 4}
# What only checks sizes and types: they are fixed here.
_CHECKS = re.compile(r"(torch\.ops\.)?aten\.(_assert\w*|sym_constrain_range\w*)(\.\w+)?")


def sniff(path: Path, head: bytes) -> bool:
    """A zip archive with a model among its members."""
    return head.startswith(SIGNATURE) and is_program(member_names(path))


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a model; `shapes` binds dynamic dimensions, of which only the batch is bound by itself."""
    with reading(model.name):
        return TorchImporter(load(model), Bindings(shapes or {}, dims or {})).run(name or model.stem)


def operator(target: str) -> str:
    """The name of an operator without namespace, overload, and the marks of variants that compute the same:
    `_softmax` and `relu_` are softmax and relu, `__or__` is or."""
    name = target.removeprefix("torch.ops.")
    parts = name.split(".")
    if parts[0] == "higher_order":
        return ".".join(parts[:2])
    if parts[0] not in ("aten", "quantized_decomposed", "torchao", "transformers") or len(parts) < 2:
        return name
    return parts[1].strip("_")


class TorchImporter:
    """One conversion: the graph so far, and what each name of the file stands for."""

    def __init__(self, program: ExportedProgram, bindings: Bindings) -> None:
        self.program = program
        self.bindings = bindings
        self.builder = Builder(given=sum(array.nbytes for array in program.tensors.values()))
        self.scope = Scope()
        self.symbols: dict[str, int] = {}  # sizes that the inputs decide
        self.states: dict[str, tuple[str, str]] = {}  # full name of a buffer -> its name, its edge

    def run(self, name: str) -> Graph:
        graph = self.program.graph
        check_supported(self._unsupported(graph), {}, _NO_HANDLER)
        inputs = self._bind_inputs(graph)
        self._import(graph, self.scope, outputs={n for kind in self._results() for n in kind[1:]})
        outputs, ends = self._outputs()
        memories = list(self._memories(ends))
        named = ((key, self.scope[key]) for key in self.scope)
        tensors = {key: x for key, x in named if isinstance(x, Tensor)}
        source = self.bindings.noted(self.program.source)
        return named_graph(self.builder, name, inputs, outputs, tensors, source, memories)

    def _unsupported(self, graph: Record) -> Iterator[tuple[str, str]]:
        """Operators without a handler and their nodes, those of parts of the graph, too."""
        for node in graph.records("nodes"):
            target = node.text("target")
            kind = operator(target)
            for _, part in _parts(node):
                yield from self._unsupported(part)
            known = kind in handlers(ops) or target in SYMBOLIC or kind in _WRAPPERS
            if not known and not _CHECKS.match(target):
                yield target.removeprefix("torch.ops."), _name(node)

    # Inputs

    def _bind_inputs(self, graph: Record) -> list[str]:
        changed = self._changed(graph)
        inputs: list[str] = []
        specs = [(spec, *only(spec)) for spec in self.program.signature.records("input_specs")]
        # A buffer may have the name of an input, which the input then keeps.
        for spec, kind, content in sorted(specs, key=lambda found: found[1] != "user_input"):
            body = Record.of(content, f"{kind} of {spec.where}")
            if kind in ("parameter", "buffer", "tensor_constant"):
                name, key = body.record("arg").text("name"), body.text(f"{kind}_name")
                self.scope[name] = self._stored(name, key, key in changed or name in changed)
            elif kind == "user_input":
                inputs += self._user_input(body.record("arg"))
            elif kind == "constant_input":
                self.scope[body.text("name")] = only(body.record("value"))[1]
            elif kind != "token":
                raise EdgeKitError("E0205", f"inputs of kind {kind} are not supported", spec.where)
        self.bindings.check(inputs)
        return inputs

    def _changed(self, graph: Record) -> set[str]:
        """Buffers that a run leaves changed, by full name or by their name in the graph."""
        found = {name for kind, _, name in self._results() if kind == "buffer_mutation"}
        seen_through: dict[str, str] = {}
        for node in graph.records("nodes"):
            target, operand = node.text("target"), next(read_names(node), "")
            base = seen_through.get(operand, operand)
            if changes_operand(target):
                found.add(base)
            if changes_operand(target) or operator(target) in VIEWS:
                results = (name for given in node.records("outputs") for name in result_names(given))
                seen_through |= dict.fromkeys(results, base)
        return found

    def _results(self) -> Iterator[tuple[str, str, str]]:
        """What the graph gives: the kind of each result, its name in the graph, and that of a buffer."""
        for spec in self.program.signature.records("output_specs"):
            kind, content = only(spec)
            body = Record.of(content, spec.where)
            if kind == "user_output":
                for name in result_names(body.record("arg")):
                    yield kind, name, ""
            elif kind == "buffer_mutation":
                yield kind, body.record("arg").text("name"), body.text("buffer_name")
            elif kind not in ("token", "user_input_mutation"):  # inputs stay as they are
                raise EdgeKitError("E0205", f"outputs of kind {kind} are not supported", spec.where)

    def _stored(self, name: str, key: str, is_state: bool) -> Tensor:
        if key not in self.program.tensors:
            raise EdgeKitError("E0401", f"the archive has no weight {key}", hint="is it complete?")
        data = self.program.tensors[key]
        self._check(name, type_of(data))
        if not is_state:
            return Tensor(self.builder, self.builder.const(data, hint=key))
        edge = self.builder.input(key, type_of(data))
        self.states[key] = name, edge
        return Tensor(self.builder, edge)

    def _user_input(self, given: Record) -> list[str]:
        kind, content = only(given)
        if kind in ("as_none", "as_int", "as_float", "as_bool", "as_string"):
            return []
        if kind != "as_tensor":
            hint = "export the model with tensors as its inputs"
            raise EdgeKitError("E0205", f"inputs of kind {kind} are not supported", given.where, hint)
        name = Record.of(content, given.where).text("name")
        meta = self._meta(name)
        if meta is None or name in self.scope:
            what = "states no type for it" if meta is None else "has two of this name"
            raise EdgeKitError("E0401", f"the file {what}", f"input {name}")
        dtype = dtype_of(meta.integer("dtype"), f"input {name}")
        named = zip(meta.items("sizes"), sizes(meta), strict=True)
        dims = [symbol(size) or None if n is None else n for size, n in named]
        type = self.bindings.type(name, dtype, dims)
        if self.bindings.is_complete:
            for size, value in zip(meta.items("sizes"), type.shape, strict=True):
                self._bind_symbol(symbol(size), value, name)
        self.scope[name] = Tensor(self.builder, self.builder.input(name, type))
        return [name]

    def _bind_symbol(self, symbol: str, value: int, name: str) -> None:
        if not symbol:
            return
        if self.symbols.setdefault(symbol, value) != value:
            message = f"{symbol} is {self.symbols[symbol]} in another input, and {value} in {name}"
            raise EdgeKitError("E0103", message, hint="the model takes both sizes as equal: bind both")
        least, most = self.program.ranges.get(symbol, (0, float("inf")))
        if value > most or value < least > 2:  # torch says 2 where it means any size
            message = f"size {value} of input {name} is outside of {least} to {most}, as it was exported"
            raise EdgeKitError("E0103", message, hint="export it for more: dynamic_shapes of torch.export")

    # Nodes

    def _import(self, graph: Record, scope: Scope, outputs: set[str]) -> None:
        """Convert the nodes of a graph in order."""
        nodes = list(graph.records("nodes"))
        last_use = {name: i for i, node in enumerate(nodes) for name in read_names(node)}
        aliases = Aliases(scope, last_use | dict.fromkeys(outputs - {""}, len(nodes)))
        for i, node in enumerate(nodes):
            self.builder.origin = _name(node)
            target = node.text("target")
            if _CHECKS.match(target):
                continue
            with blame(f"node {_name(node)}"):
                made = self._results_of(node, operator(target), scope)
                names = [name for given in node.records("outputs") for name in result_names(given)]
                for name in names[len(made) :]:  # statistics that only training reads
                    if name in aliases.last_use:
                        message = f"result {names.index(name)} of {operator(target)} is not supported"
                        raise EdgeKitError("E0205", message)
                scope.update(zip(names, made, strict=False))
                for name in names[: len(made)]:
                    if isinstance(scope[name], Tensor):
                        self._check(name, scope[name].type, graph)
                self._follow(aliases, i, node, names[: len(made)])

    def _results_of(self, node: Record, kind: str, scope: Mapping[str, Any]) -> Sequence[Any]:
        target = node.text("target")
        if target in SYMBOLIC:
            values = [argument(given.record("arg"), scope) for given in node.records("inputs")]
            return _flat(SYMBOLIC[target](*values))
        if kind in _WRAPPERS:
            values = [argument(given.record("arg"), scope) for given in node.records("inputs")]
            at = _WRAPPERS[kind]
            if len(values) <= at:
                raise EdgeKitError("E0401", "the graph to run is missing")
            return self._part(values[at], values[at + 1 :])
        first, settings = self._arguments(node, scope)
        made = _flat(call(handlers(ops)[kind], kind, _name(node), first, settings))
        return [self._constant(x) if isinstance(x, np.ndarray) else x for x in made]

    def _arguments(self, node: Record, scope: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The first argument of a node, and the others by name."""
        first, settings = [], {}
        for i, given in enumerate(node.records("inputs")):
            value, name = argument(given.record("arg"), scope), given.text("name", "")
            if i == 0:
                first.append(value)
            elif name not in _IGNORED and value is not IRRELEVANT:
                settings[name] = value
        if operator(node.text("target")) == "as_strided" and (operand := next(read_names(node), "")):
            settings["own_strides"], settings["own_offset"] = self._strides(operand)
        return first, settings

    def _strides(self, name: str) -> tuple[list[int], int]:
        """How a tensor lies in memory, by what the file says."""
        meta = self._meta(name)
        if meta is None:
            raise EdgeKitError("E0401", f"the file does not say how {name} lies in memory")
        strides = [size.integer("as_int") for size in meta.records("strides")]
        return strides, meta.record("storage_offset").integer("as_int", 0)

    def _constant(self, data: Array) -> Tensor:
        return Tensor(self.builder, self.builder.const(data))

    def _part(self, part: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """Import a graph that an operator runs, with these operands."""
        if not isinstance(part, Subgraph):
            raise EdgeKitError("E0401", "the graph to run is missing")
        names = [name for given in part.graph.records("inputs") for name in result_names(given)]
        if len(names) != len(operands):
            raise EdgeKitError("E0401", f"the graph to run takes {len(names)} operands, gets {len(operands)}")
        for node in part.graph.records("nodes"):
            if changes_operand(node.text("target")) and next(read_names(node), None) in names:
                raise EdgeKitError("E0205", f"{_name(node)} changes what is outside of its part of the graph")
        scope = Scope(dict(zip(names, operands, strict=True)))
        results = [name for given in part.graph.records("outputs") for name in result_names(given)]
        origin = self.builder.origin
        self._import(part.graph, scope, set(results))
        self.builder.origin = origin
        return [scope[name] for name in results]

    def _follow(self, aliases: Aliases, i: int, node: Record, names: Sequence[str]) -> None:
        """Keep the books on which tensors share memory."""
        target = node.text("target")
        kind = operator(target)
        operand = next(read_names(node), None)
        if operand is None or not names:
            return
        if changes_operand(target):
            aliases.change(i, operand, names[0])
        elif kind in VIEWS:
            _, settings = self._arguments(node, aliases.scope)
            handler = handlers(ops)[kind]
            write = write_back(kind, settings, handlers(ops))
            aliases.view(names, lambda at: View(operand, lambda x: _flat(handler(x, **settings))[at], write))

    # Results

    def _outputs(self) -> tuple[list[tuple[str, Tensor]], dict[str, Tensor]]:
        """The outputs, and what is in each buffer at the end."""
        outputs: list[tuple[str, Tensor]] = []
        ends = {key: self._result(name) for key, (name, _) in self.states.items()}
        for kind, name, buffer in self._results():
            if kind == "user_output":
                outputs.append((name, self._result(name)))
            else:
                ends[buffer] = self._result(name)
        if not outputs:
            raise EdgeKitError("E0401", "the model has no output that is a tensor")
        return outputs, ends

    def _result(self, name: str) -> Tensor:
        if name not in self.scope:
            raise EdgeKitError("E0401", f"output {name} is computed by nothing")
        found = self.scope[name]
        if not isinstance(found, Tensor):
            raise EdgeKitError("E0205", f"output {name} is the number {found}, not a tensor")
        return found

    def _memories(self, ends: Mapping[str, Tensor]) -> Iterator[ModelState]:
        """The buffers that a run changes; those that nothing changes in the end are constants."""
        for key, (_, edge) in self.states.items():
            data = self.program.tensors[key]
            if ends[key].name == edge:
                self.builder.values[edge] = Value(type_of(data), data)
            else:
                yield ModelState(edge, ends[key], Value(type_of(data), data))

    def _meta(self, name: str, graph: Record | None = None) -> Record | None:
        values = (graph or self.program.graph).record("tensor_values")
        return Record.of(values.fields[name], f"tensor {name}") if name in values else None

    def _check(self, name: str, type: Type, graph: Record | None = None) -> None:
        """Compare a type with what the file says of it."""
        meta = self._meta(name, graph)
        if meta is None:
            return
        known = sizes(meta)
        dtype = dtype_of(meta.integer("dtype"), f"tensor {name}")
        fits = len(known) == len(type.shape) and all(
            k in (None, n) for k, n in zip(known, type.shape, strict=True)
        )
        if not fits or dtype is not type.dtype:
            text = f"{dtype.value}[{','.join('?' if k is None else str(k) for k in known)}]"
            raise EdgeKitError("E0401", f"{name} is {type}, the file says {text}")


def _name(node: Record) -> str:
    """What people call a node: the path of its module, and its (first) result."""
    names = [name for given in node.records("outputs") for name in result_names(given)]
    name = node.text("name", "") or (names[0] if names else operator(node.text("target")))
    path = _module_path(node)
    return f"{path}/{name}" if path else name


def _module_path(node: Record) -> str:
    """The innermost module that a node belongs to, as in `features.0`; empty in the outermost one."""
    if "metadata" not in node:
        return ""
    stack = node.record("metadata").text("nn_module_stack", "").split(";")  # key,path,class of each module
    _, _, path = stack[-1].partition(",")
    return path.rpartition(",")[0].removeprefix("L['self'].")


def _parts(node: Record) -> Iterator[tuple[str, Record]]:
    """The graphs among the arguments of a node."""
    for given in node.records("inputs"):
        if "as_graph" in given.record("arg"):
            body = given.record("arg").record("as_graph")
            yield body.text("name"), body.record("graph")


def _flat(made: Any) -> list[Any]:
    """Results in a row: lists of tensors count as so many."""
    if not isinstance(made, tuple | list):
        return [made]
    return [x for item in made for x in (_flat(item) if isinstance(item, tuple | list) else [item])]
