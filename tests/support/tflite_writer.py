"""Writes TFLite models of one operator, or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from support.tools import require_module

from edgekit.core.types import Array

_TYPES = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "int32": "INT32",
    "uint8": "UINT8",
    "int64": "INT64",
    "bool": "BOOL",
    "int16": "INT16",
    "int8": "INT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "complex64": "COMPLEX64",
}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a model: an input unless it has data; quantized where it has scales."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    data: Array | None = None
    scale: Sequence[float] = ()
    zero: Sequence[int] = ()
    axis: int = 0
    variable: bool = False
    sparsity: Sparsity | None = None  # of data that is a list of what is stored


@dataclass(frozen=True)
class Sparsity:
    """Which elements of a tensor are stored, level by level: a size, or segments and indices."""

    order: Sequence[int]
    blocked: Sequence[int]  # the dimensions that blocks divide
    levels: Sequence[int | tuple[Array, Array]]


def constant(data: Any, dtype: str = "int32", **quant: Any) -> Tensor:
    """A tensor with data."""
    array = np.asarray(data, dtype)
    return Tensor(array.shape, dtype, array, **quant)


@dataclass(frozen=True)
class Operator:
    """One operator: its name, the class and the values of its options, its operands (None: left out). With
    custom options, be they empty, it is a custom operator."""

    kind: str
    inputs: Sequence[Tensor | None]
    outputs: Sequence[Tensor]
    options: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    intermediates: Sequence[Tensor] = ()  # whose types say what is between the steps of an operator
    custom: bytes | None = None


def model(
    op: Operator,
    number: int | None = None,
    inputs: Sequence[int] | None = None,
    every_field: bool = False,
) -> bytes:
    """The file of a model; `number` instead of the one of the operator's name, `inputs` instead of all
    operands without data. Fields that have the default of the schema are left out, or written as well."""
    file = _File()
    node = file.node(op, number)
    for name, tensor in zip(node.inputs, op.inputs, strict=True):
        if tensor is not None and tensor.data is None and not tensor.variable:
            file.inputs.append(int(name))
    return file.packed(file.inputs if inputs is None else inputs, node.outputs, every_field)


def network(ops: Sequence[Operator], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> bytes:
    """The file of a model of several operators; a tensor that one makes and others take is one object."""
    file = _File(shared=True)
    first = [file.place(t, f"in{i}") for i, t in enumerate(inputs)]
    for op in ops:
        file.node(op)
    return file.packed(first, [file.places[id(t)] for t in outputs])


class _File:
    """A model in the making. `shared` tensors are one where they are the same object."""

    def __init__(self, shared: bool = False) -> None:
        self.schema = s = require_module("ai_edge_litert.schema_py_generated")
        self.shared = shared
        self.places: dict[int, int] = {}
        self.inputs: list[int] = []
        self.made = s.ModelT()
        self.made.version = 3
        self.made.description = b"test"
        self.made.buffers = [s.BufferT()]
        self.made.operatorCodes = []
        self.graph = s.SubGraphT()
        self.graph.name = b"main"
        self.graph.tensors, self.graph.operators = [], []

    def place(self, tensor: Tensor | None, name: str) -> int:
        if tensor is None:
            return -1
        if self.shared and id(tensor) in self.places:
            return self.places[id(tensor)]
        s = self.schema
        t = s.TensorT()
        t.name = (f"{name}_{len(self.graph.tensors)}" if self.shared else name).encode()
        t.shape = np.array(tensor.shape, np.int32)
        t.type = getattr(s.TensorType, _TYPES[tensor.dtype])
        t.isVariable = tensor.variable
        t.buffer = 0
        if tensor.data is not None:
            b = s.BufferT()
            b.data = np.frombuffer(np.ascontiguousarray(tensor.data).tobytes(), np.uint8)
            self.made.buffers.append(b)
            t.buffer = len(self.made.buffers) - 1
        if len(tensor.scale):
            q = s.QuantizationParametersT()
            q.scale = np.asarray(tensor.scale, np.float32)
            q.zeroPoint = np.asarray(tensor.zero, np.int64)
            q.quantizedDimension = tensor.axis
            t.quantization = q
        if tensor.sparsity is not None:
            t.sparsity = self._sparsity(tensor.sparsity)
        self.graph.tensors.append(t)
        self.places[id(tensor)] = len(self.graph.tensors) - 1
        return len(self.graph.tensors) - 1

    def _sparsity(self, sparsity: Sparsity) -> Any:
        s = self.schema
        made = s.SparsityParametersT()
        made.traversalOrder = np.array(sparsity.order, np.int32)
        made.blockMap = np.array(sparsity.blocked, np.int32)
        made.dimMetadata = []
        for level in sparsity.levels:
            one = s.DimensionMetadataT()
            if isinstance(level, int):
                one.denseSize = level
            else:
                one.format = s.DimensionType.SPARSE_CSR
                one.arraySegmentsType, one.arraySegments = self._vector(level[0])
                one.arrayIndicesType, one.arrayIndices = self._vector(level[1])
            made.dimMetadata.append(one)
        return made

    def _vector(self, numbers: Array) -> tuple[int, Any]:
        """A vector of indices, by the type of its numbers."""
        name = {"int32": "Int32Vector", "uint16": "Uint16Vector", "uint8": "Uint8Vector"}[str(numbers.dtype)]
        vector = getattr(self.schema, f"{name}T")()
        vector.values = numbers
        return getattr(self.schema.SparseIndexVector, name), vector

    def node(self, op: Operator, number: int | None = None) -> Any:
        s = self.schema
        code = s.OperatorCodeT()
        kind = op.kind if op.custom is None else "CUSTOM"
        code.builtinCode = number if number is not None else getattr(s.BuiltinOperator, kind)
        code.customCode = None if op.custom is None else op.kind.encode()
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = 2 if op.kind == "BROADCAST_TO" else 1
        self.made.operatorCodes.append(code)
        node = s.OperatorT()
        node.opcodeIndex = len(self.made.operatorCodes) - 1
        node.inputs = np.array([self.place(t, f"x{i}") for i, t in enumerate(op.inputs)], np.int32)
        node.outputs = np.array([self.place(t, f"y{i}") for i, t in enumerate(op.outputs)], np.int32)
        if op.custom is not None:
            node.customOptions = np.frombuffer(op.custom, np.uint8)
        if op.intermediates:
            found = [self.place(t, f"z{i}") for i, t in enumerate(op.intermediates)]
            node.intermediates = np.array(found, np.int32)
        if op.options:
            node.builtinOptionsType = getattr(s.BuiltinOptions, op.options)
            node.builtinOptions = getattr(s, f"{op.options}T")()
            for name, value in op.values.items():
                assert hasattr(node.builtinOptions, name), name
                setattr(node.builtinOptions, name, value)
        self.graph.operators.append(node)
        return node

    def packed(self, inputs: Sequence[int], outputs: Sequence[int], every_field: bool = False) -> bytes:
        self.graph.inputs = np.array(inputs, np.int32)
        self.graph.outputs = np.array(outputs, np.int32)
        self.made.subgraphs = [self.graph]
        builder = flatbuffers.Builder(1024)
        builder.ForceDefaults(every_field)
        builder.Finish(self.made.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def with_data_behind(content: bytes) -> bytes:
    """The same model with the data of its buffers behind the tables, where files beyond 2 GB have them."""
    s = require_module("ai_edge_litert.schema_py_generated")
    made = s.ModelT.InitFromPackedBuf(content, 0)
    full = [buffer for buffer in made.buffers if buffer.data is not None]
    data = [bytes(buffer.data) for buffer in full]
    start = 2  # some number: all of them take as many bytes
    for _ in range(2):
        at = start
        for buffer, stored in zip(full, data, strict=True):
            buffer.data, buffer.offset, buffer.size = None, at, len(stored)
            at += -(-len(stored) // 16) * 16
        builder = flatbuffers.Builder(1024)
        builder.Finish(made.Pack(builder), b"TFL3")
        tables = bytes(builder.Output())
        start = -(-len(tables) // 16) * 16
    padded = [part + bytes(-len(part) % 16) for part in (tables, *data)]
    return b"".join(padded)
