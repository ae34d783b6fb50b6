"""TFLite -> Graph: float and int8 models; quantized ones keep their integers bit for bit."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf, prod
from pathlib import Path

import numpy as np

from edgekit.builder import Builder, absurd
from edgekit.converters import tflite_ops
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite_codes import OPERATORS, TYPES
from edgekit.converters.tflite_file import Table, root
from edgekit.errors import EdgeKitError, raise_all
from edgekit.ir import Array, Graph, Quant, Source, Type, Value
from edgekit.ops import Op
from edgekit.ops.arithmetic import Clip

FORMAT = "TFLite"
SUFFIXES = (".tflite", ".lite")

# The fused activations of the schema: NONE, RELU, RELU_N1_TO_1, RELU6.
ACTIVATIONS = {0: (-inf, inf), 1: (0.0, inf), 2: (-1.0, 1.0), 3: (0.0, 6.0)}


def sniff(path: Path, head: bytes) -> bool:
    """TFLite files are flatbuffers with this identifier."""
    return head[4:8] == b"TFL3"


def convert(model: Path, *, shapes: Mapping[str, Sequence[int]] | None = None, name: str = "") -> Graph:
    """Convert a model; `shapes` binds dynamic dimensions, of which only the batch is bound by itself."""
    data = model.read_bytes()
    source = Source(model.name, hashlib.sha256(data).hexdigest(), "tflite")
    return Importer(root(data), shapes or {}).run(name or model.stem, source)


Handler = Callable[..., Tensor | Sequence[Tensor]]


@cache
def handlers() -> Mapping[str, Handler]:
    """Operator -> handler: every function of the modules of tflite_ops whose name is in capitals."""
    found: dict[str, Handler] = {}
    for info in pkgutil.iter_modules(tflite_ops.__path__):
        module = importlib.import_module(f"{tflite_ops.__name__}.{info.name}")
        for key, value in vars(module).items():
            if inspect.isfunction(value) and key.isupper():
                assert key not in found, f"two handlers for {key}"
                found[key] = value
    return found


@dataclass(frozen=True)
class Layer:
    """What a handler sees of one operator: its options, and the types that the file gives the results."""

    name: str
    options: Table
    outs: tuple[Type, ...]

    @property
    def quant(self) -> Quant | None:
        return self.outs[0].quant

    def apply(self, op: Op, x: Tensor, *others: Tensor) -> Tensor:
        """op(x, ...) with the quantization that the file gives the first result."""
        (name,) = x.builder.add(op, x.name, *(t.name for t in others), quant=self.quant)
        return Tensor(x.builder, name)

    def clamp(self, activation: int) -> tuple[float, float]:
        """The bounds of a fused activation."""
        if activation not in ACTIVATIONS:
            raise EdgeKitError("E0203", f"fused activation {activation} is not supported")
        return ACTIVATIONS[activation]

    def activated(self, y: Tensor, activation: int) -> Tensor:
        """y, clamped; quantized bounds are integers of y's own scale."""
        low, high = self.clamp(activation)
        if (low, high) == (-inf, inf):
            return y
        quant = y.type.quant
        if quant is None:
            return y.clip(low, high)
        from edgekit import fixed

        bounds = fixed.bounds(low, high, y.dtype, quant)
        return y.apply(Clip(), *(y.like(b) for b in bounds))


class Importer:
    """One conversion: the graph so far, and what each tensor of the file stands for."""

    def __init__(self, model: Table, shapes: Mapping[str, Sequence[int]]) -> None:
        self.model = model
        self.shapes = shapes
        self.builder = Builder()
        self.buffers = list(model.tables(4))
        self.codes = [_operator_name(code) for code in model.tables(1)]
        graphs = list(model.tables(2))
        if not graphs:
            raise EdgeKitError("E0401", "the TFLite file holds no graph")
        self.subgraph = graphs[0]
        self.tensors = list(self.subgraph.tables(0))

    def run(self, name: str, source: Source) -> Graph:
        operators = list(self.subgraph.tables(3))
        names = [self._code(op) for op in operators]
        raise_all(
            [
                EdgeKitError(
                    "E0201", f"unsupported op {n}", f"operator {i}", "docs/ops.md lists what is supported"
                )
                for i, n in enumerate(names)
                if n not in handlers()
            ]
        )
        scope: dict[int, Tensor] = {}
        inputs = []
        for i in self._indices(self.subgraph, 1):
            type = self._type(i, input=True)
            scope[i] = Tensor(self.builder, self.builder.input(self._name(i), type))
            inputs.append(scope[i].name)
        for number, (op, kind) in enumerate(zip(operators, names, strict=True)):
            self._import(op, kind, f"{kind.lower()}_{number}", scope)
        outputs = [self._output(i, scope) for i in self._indices(self.subgraph, 2)]
        return self.builder.graph(name, inputs, outputs, source)

    def _code(self, op: Table) -> str:
        index = op.integer(0, "I")
        if index >= len(self.codes):
            raise EdgeKitError("E0401", f"operator code {index} does not exist")
        return self.codes[index]

    def _indices(self, table: Table, field: int) -> list[int]:
        found = [int(i) for i in table.array(field, "<i4")]
        for i in found:
            if not -1 <= i < len(self.tensors):
                raise EdgeKitError("E0401", f"tensor {i} does not exist")
        return found

    def _name(self, i: int) -> str:
        return self.tensors[i].text(3) or f"t{i}"

    def _type(self, i: int, *, input: bool = False) -> Type:
        tensor = self.tensors[i]
        where = f"tensor {self._name(i)}"
        code = tensor.integer(1, "b")
        if code not in TYPES:
            raise EdgeKitError("E0204", f"element type {code} is not supported", where)
        shape = tuple(int(d) for d in tensor.array(0, "<i4"))
        signature = [int(d) for d in tensor.array(7, "<i4")]
        if input and self._name(i) in self.shapes:
            shape = tuple(int(d) for d in self.shapes[self._name(i)])
        elif input and any(d < 0 for d in signature[1:]):
            text = ",".join("?" if d < 0 else str(d) for d in signature)
            raise EdgeKitError("E0302", f"input {self._name(i)} has a dynamic shape [{text}]", where)
        if any(d < 0 for d in shape) or absurd(shape):
            raise EdgeKitError("E0402", f"shape {list(shape)[:8]} is absurd", where)
        return Type(TYPES[code], shape, self._quant(tensor.table(4), shape, where))

    def _quant(self, table: Table | None, shape: tuple[int, ...], where: str) -> Quant | None:
        if table is None:
            return None
        scales, zeros = table.array(2, "<f4"), table.array(3, "<i8")
        if not scales.size:
            return None
        if zeros.size not in (scales.size, 0):
            raise EdgeKitError("E0401", f"{scales.size} scales but {zeros.size} zero points", where)
        if not (np.isfinite(scales) & (scales > 0)).all():
            raise EdgeKitError("E0401", f"scale {scales.min()} is not positive and finite", where)
        axis = table.integer(6) if scales.size > 1 else None
        if axis is not None and not (0 <= axis < len(shape) and shape[axis] == scales.size):
            raise EdgeKitError(
                "E0401", f"{scales.size} scales do not fit axis {axis} of {list(shape)}", where
            )
        zero = tuple(int(z) for z in zeros) or (0,) * scales.size
        return Quant(tuple(float(s) for s in scales), zero, axis, "tfl")

    def _tensor(self, i: int, scope: dict[int, Tensor]) -> Tensor | None:
        """What a tensor of the file stands for; None for an operand that is left out."""
        if i < 0:
            return None
        if i not in scope:
            type = self._type(i)
            name = self.builder.fresh(self._name(i))
            self.builder.values[name] = Value(type, self._data(i, type))
            scope[i] = Tensor(self.builder, name)
        return scope[i]

    def _data(self, i: int, type: Type) -> Array:
        index = self.tensors[i].integer(2, "I")
        if index >= len(self.buffers):
            raise EdgeKitError("E0401", f"buffer {index} does not exist")
        raw = self.buffers[index].array(0, "u1")
        where = f"tensor {self._name(i)}"
        if not raw.size and type.size:
            raise EdgeKitError("E0401", "nothing computes this tensor", where)
        if raw.size != type.bytes:
            raise EdgeKitError("E0401", f"{raw.size} bytes of data for {type}", where)
        return np.frombuffer(raw.tobytes(), type.dtype.numpy).reshape(type.shape)

    def _import(self, op: Table, kind: str, name: str, scope: dict[int, Tensor]) -> None:
        self.builder.origin = name
        inputs = [self._tensor(i, scope) for i in self._indices(op, 1)]
        results = self._indices(op, 2)
        while inputs and inputs[-1] is None:
            inputs.pop()
        layer = Layer(name, op.table(4) or Table(_EMPTY, 4), tuple(self._type(i) for i in results))
        try:
            made = handlers()[kind](layer, *inputs)
        except EdgeKitError as error:
            error.where = error.where or f"node {name}"
            raise
        except Exception as error:  # a handler meets what an exporter (or a fuzzer) made; never a traceback
            raise EdgeKitError(
                "E0403", f"{kind}: {error}", f"node {name}", "is the model well formed?"
            ) from error
        scope.update(zip(results, [made] if isinstance(made, Tensor) else made, strict=False))

    def _output(self, i: int, scope: dict[int, Tensor]) -> str:
        tensor = self._tensor(i, scope)
        assert tensor is not None
        return tensor.name


def dequantized(x: Tensor) -> Tensor:
    """Constant weights as floats: float models may store theirs as int8."""
    quant, data = x.type.quant, x.data
    if quant is None or data is None:
        return x
    shape = [1] * x.rank
    if quant.axis is not None:
        shape[quant.axis] = -1
    scale = np.asarray(quant.scale, np.float32).reshape(shape)
    zero = np.asarray(quant.zero, np.float32).reshape(shape)
    return x.new((data.astype(np.float32) - zero) * scale)


def moved_axis(x: Tensor, *perm: int) -> Tensor:
    """Constant weights with their dimensions in another order, channel scales included."""
    data, quant = x.data, x.type.quant
    if data is None:
        return x.transpose(*perm)
    if quant is not None and quant.axis is not None:
        quant = replace(quant, axis=perm.index(quant.axis))
    name = x.builder.fresh(x.name)
    array = np.ascontiguousarray(data.transpose(perm))
    x.builder.values[name] = Value(Type(x.dtype, array.shape, quant), array)
    return Tensor(x.builder, name)


def bias_or_zeros(x: Tensor, bias: Tensor | None, outputs: int) -> Tensor:
    """The bias; zeros in the type that sums have where the layer has none."""
    if bias is not None:
        return bias
    return x.new(np.zeros(outputs, np.int32 if x.dtype.is_integer else x.dtype.numpy))


def elements(shape: Sequence[int]) -> int:
    return prod(shape)


def _operator_name(code: Table) -> str:
    """The newer field holds codes above 127; old files have only the byte."""
    number = max(code.integer(0, "b"), code.integer(3))
    if number == 32:
        return f"custom {code.text(1)!r}"
    return OPERATORS[number] if number < len(OPERATORS) else f"number {number}"


_EMPTY = b"\x04\x00\x00\x00\x04\x00\x00\x00\x04\x00\x04\x00"
