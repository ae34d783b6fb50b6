"""MXNet's -symbol.json with the .params beside it -> Graph, by the handlers of ops.

The text says which operators there are; arrays belong to variables by their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.frontend import call, check_supported, handlers, reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.mxnet import FORMAT as FORMAT
from edgekit.converters.mxnet import SUFFIXES as SUFFIXES
from edgekit.converters.mxnet import ops
from edgekit.converters.mxnet.file import Value, dtype_named, value, weights
from edgekit.converters.naming import named_graph
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import Array, DType, Type

_SYMBOL = "-symbol.json"
_EPOCH = re.compile(r"(.+)-\d{4,}")
_NODES = re.compile(rb'\{\s*"nodes"\s*:\s*\[\s*\{\s*"(op|name|inputs|attrs?|param)"')
_VARIABLE = "null"
# Where settings of operators are: in files of today, of MXNet before 1.0, and of its first years.
_SETTINGS = ("attrs", "attr", "param")
# What says how to compute, to train or to store, and not what.
_IGNORED = {
    *("cudnn_off", "cudnn_tune", "workspace", "num_args", "momentum", "num_filter", "sparse_grad"),
    *("grad_scale", "normalization", "use_ignore", "ignore_label", "out_grad", "smooth_alpha", "is_int"),
    *("min_calib_range", "max_calib_range", "ctx", "safe_accumulation", "lazy_update"),
}
# Layers of training, whose second operand is the truth, which is unknown in use.
_LOSSES = {
    *("SoftmaxOutput", "Softmax", "LinearRegressionOutput", "LogisticRegressionOutput"),
    *("MAERegressionOutput", "SVMOutput"),
}
# What only training sets: a variable with one of these is a weight.
_TRAINED = {"__lr_mult__", "__wd_mult__", "__init__"}


def sniff(path: Path, head: bytes) -> bool:
    """A list of nodes in JSON; arrays alone are known by their suffix."""
    return b"\0" not in head and _NODES.match(head.lstrip()) is not None


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a pair of files, given as either; `shapes` are those of the inputs, which no file says."""
    with reading(model.name):
        if model.suffix.lower() == ".params":
            found = _EPOCH.fullmatch(model.stem)
            stem = found[1] if found else model.stem
            arrays, binary = model, files.read(model)
            text = files.read_beside(model, stem + _SYMBOL, "the graph")
        else:
            stem = model.name.removesuffix(".json").removesuffix("-symbol")
            arrays = _arrays_of(model, stem)
            text, binary = files.read(model), files.read_beside(model, arrays.name, "arrays")
        symbol = Record.of(files.parse_json(text, stem + _SYMBOL), stem + _SYMBOL)
        source = files.source(model, "mxnet", text, binary)
        reader = _Reader(symbol, weights(binary, arrays.name), Bindings(shapes or {}, dims or {}))
        return reader.run(name or stem, source)


def operator(name: str) -> str:
    """The name of an operator without the marks of those that are not for people."""
    return name.lstrip("_").removeprefix("contrib_")


class _Reader:
    """One conversion: the graph so far, and the results of each node."""

    def __init__(self, symbol: Record, arrays: Mapping[str, Array], bindings: Bindings) -> None:
        self.symbol = symbol
        self.arrays = arrays
        self.bindings = bindings
        self.nodes = list(symbol.records("nodes"))
        self.builder = Builder(given=sum(array.nbytes for array in arrays.values()))
        self.results: list[Sequence[Tensor]] = []
        self.scope: dict[str, Tensor] = {}
        self.inputs: list[str] = []
        self.types: dict[str, Type] = {}  # of the inputs

    def run(self, name: str, source: Source) -> Graph:
        operators = [(node.text("op"), node.text("name")) for node in self.nodes]
        known = {kind: True for kind, _ in operators if operator(kind) in handlers(ops)}
        check_supported([o for o in operators if o[0] != _VARIABLE], known)
        labels = {n for node in self.nodes if node.text("op") in _LOSSES for n, _ in _edges(node)[1:]}
        for i, node in enumerate(self.nodes):
            if self._is_variable(i) and i not in labels and node.text("name") not in self.arrays:
                self.types[node.text("name")] = self._type(node, node.text("name"))
        self.bindings.check(self.types)
        for i, node in enumerate(self.nodes):
            self.builder.origin = node.text("name")
            made = () if i in labels and self._is_variable(i) else self._node(node)
            self.results.append(made)
            keys = [_key(node, at) for at in range(len(made))]
            if taken := [key for key in keys if key in self.scope]:
                raise EdgeKitError("E0401", f"two nodes are called {taken[0]}", self.symbol.where)
            self.scope |= dict(zip(keys, made, strict=True))
        heads = [_edge(head, self.symbol.where) for head in self.symbol.items("heads")]
        if not heads:
            raise EdgeKitError("E0401", "the graph computes nothing", self.symbol.where)
        results = [self._result(i, at) for i, at in heads]
        outputs = {_key(self.nodes[i], at): made for (i, at), made in zip(heads, results, strict=True)}
        source = self.bindings.noted(source)
        return named_graph(self.builder, name, self.inputs, list(outputs.items()), self.scope, source)

    def _is_variable(self, i: int) -> bool:
        return self.nodes[i].text("op") == _VARIABLE

    def _node(self, node: Record) -> Sequence[Tensor]:
        kind, name = node.text("op"), node.text("name")
        if kind == _VARIABLE:
            return (self._variable(node, name),)
        edges = _edges(node)[:1] if kind in _LOSSES else _edges(node)
        operands = [self._result(i, at) for i, at in edges]
        handler = handlers(ops)[operator(kind)]
        made = call(handler, kind, name, operands, _attributes(node))
        return [self._tensor(x) for x in (made if isinstance(made, tuple | list) else (made,))]

    def _variable(self, node: Record, name: str) -> Tensor:
        if name in self.arrays:
            return Tensor(self.builder, self.builder.const(self.arrays[name], hint=name))
        self.inputs.append(self.builder.input(name, self.types[name]))
        return Tensor(self.builder, self.inputs[-1])

    def _type(self, node: Record, name: str) -> Type:
        settings = _settings(node)
        if _TRAINED & settings.keys():
            raise EdgeKitError("E0401", "the file of arrays does not have it", f"weight {name}")
        dtype = dtype_named(settings["__dtype__"]) if "__dtype__" in settings else DType.F32
        return self.bindings.type(name, dtype, _dims(settings.get("__shape__")))

    def _tensor(self, made: Tensor | Array) -> Tensor:
        return Tensor(self.builder, self.builder.const(made)) if isinstance(made, np.ndarray) else made

    def _result(self, i: int, at: int) -> Tensor:
        """What another node gave."""
        if not 0 <= i < len(self.results):
            raise EdgeKitError("E0401", f"node {i} is computed by nothing before")
        if not 0 <= at < len(self.results[i]):
            message = f"result {at} of {self.nodes[i].text('op')} is not supported"
            raise EdgeKitError("E0205", message)
        return self.results[i][at]


def _arrays_of(model: Path, stem: str) -> Path:
    """The file of arrays that belongs to a graph: of the only epoch that there is."""
    found = sorted(
        p for p in model.parent.glob("*.params") if (m := _EPOCH.fullmatch(p.stem)) and m[1] == stem
    )
    if len(found) > 1:
        names = ", ".join(p.name for p in found[:4])
        raise EdgeKitError(
            "E0103", f"{model.name} has arrays of several epochs", hint=f"convert one of {names}"
        )
    return found[0] if found else model.with_name(f"{stem}-0000.params")


def _settings(node: Record) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key in _SETTINGS:
        if key in node:
            fields = node.record(key).fields
            found |= {name: value(checked(text, str, name)) for name, text in fields.items()}
    return found


def _attributes(node: Record) -> dict[str, Any]:
    """The settings of a node that say what it computes."""
    return {k: v for k, v in _settings(node).items() if k not in _IGNORED and k[:2] != "__" and v is not None}


def _edges(node: Record) -> list[tuple[int, int]]:
    return [_edge(item, f"inputs of {node.text('name')}") for item in node.items("inputs")]


def _edge(item: Any, where: str) -> tuple[int, int]:
    """A node by its number, and which of its results."""
    numbers = [checked(n, int, where) for n in checked(item, list, where)]
    if len(numbers) not in (2, 3) or min(numbers) < 0:
        raise EdgeKitError("E0401", f"{where} should be a node and a number", hint="is the file complete?")
    return numbers[0], numbers[1]


def _key(node: Record, at: int) -> str:
    return f"{node.text('name')}_{at}" if at else node.text("name")


def _dims(shape: Value) -> list[int | None] | None:
    """0 and -1 are sizes that are not known yet."""
    if not isinstance(shape, tuple) or not shape:
        return None
    return [n if isinstance(n, int) and n > 0 else None for n in shape]
