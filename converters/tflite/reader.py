"""TFLite -> Graph: float and int8 models; quantized ones keep their integers bit for bit."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import count
from math import inf
from pathlib import Path

import numpy as np

from edgekit.converters import files
from edgekit.converters.blame import HINT
from edgekit.converters.inputs import Bindings
from edgekit.converters.named_outputs import StoredNode, check_outputs, proposal
from edgekit.converters.naming import ModelState, named_graph
from edgekit.converters.semantics.control_flow import branch, loop
from edgekit.converters.semantics.keras_paths import NamedOperator, layer_paths
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite import FORMAT as FORMAT
from edgekit.converters.tflite import SUFFIXES as SUFFIXES
from edgekit.converters.tflite import ops
from edgekit.converters.tflite.codes import COMPLEX64, OPERATORS, TYPES
from edgekit.converters.tflite.file import Table, root, stored
from edgekit.converters.tflite.layer import TfliteLayer, labelled
from edgekit.converters.tflite.ops.complex_numbers import by_parts
from edgekit.converters.tflite.signature import EntryPoint, chosen
from edgekit.converters.tflite.sparse import dense, is_sparse
from edgekit.converters.tflite.variables import KINDS as VARIABLES
from edgekit.converters.tflite.variables import Variables
from edgekit.core import fixed
from edgekit.core.builder import Builder, absurd
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.ir import Graph, Source
from edgekit.core.reasons import DamageError, reason_of
from edgekit.core.types import Array, DType, Quant, Type, Value

KEEPS_LOOPS = True
TAKES_OUTPUTS = True
HAS_SIGNATURES = True
# Whose integers a quantized model keeps where the engines differ, and the name of their rules of rounding.
PROFILES = {"litert": "tfl", "tflm": "tflm"}


CONTROL_FLOW = ("IF", "WHILE")
MAX_RUNS = 4000  # of subgraphs, in loops that are unrolled


def sniff(path: Path, head: bytes) -> bool:
    """TFLite files are flatbuffers with this identifier."""
    return head[4:8] == b"TFL3"


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
    profile: str = "litert",
    signature: str = "",
    max_iterations: int | None = None,
    outputs: Sequence[str] = (),
) -> Graph:
    """Convert a model; `shapes` binds dynamic dimensions, of which only the batch is bound by itself. A
    `signature` is an entry of the file, by its name. The network ends at `outputs`, if there are any."""
    return convert_bytes(
        files.read(model),
        model,
        shapes=shapes,
        dims=dims,
        name=name,
        profile=profile,
        signature=signature,
        max_iterations=max_iterations,
        outputs=outputs,
    )


def convert_bytes(
    data: bytes,
    file: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
    profile: str = "litert",
    signature: str = "",
    max_iterations: int | None = None,
    outputs: Sequence[str] = (),
) -> Graph:
    """The same of the content of a file."""
    source = Source(file.name, hashlib.sha256(data).hexdigest(), "tflite")
    model = root(data)
    entry = chosen(model, signature)
    importer = TfliteImporter(
        model, Bindings(shapes or {}, dims or {}, max_iterations), PROFILES[profile], entry
    )
    if outputs:
        importer.end_at(outputs)
    return importer.run(name or file.stem, source)


Handler = Callable[..., Tensor | Sequence[Tensor]]


@cache
def handlers() -> Mapping[str, Handler]:
    """Operator -> handler: every function of the modules of ops whose name is in capitals. In modules
    that say CUSTOM, those that begin with a capital are custom operators."""
    found: dict[str, Handler] = {}
    for info in pkgutil.iter_modules(ops.__path__):
        module = importlib.import_module(f"{ops.__name__}.{info.name}")
        for name, value in vars(module).items():
            if not inspect.isfunction(value):
                continue
            if hasattr(module, "CUSTOM"):
                if value.__module__ != module.__name__ or not name[0].isupper():
                    continue
                key = _custom(name)
            elif name.isupper():
                key = name
            else:
                continue
            assert key not in found, f"two handlers for {key}"
            found[key] = value
    return found


def _is_known(kind: str) -> bool:
    """Can an operator be read?"""
    return kind in handlers() or kind in VARIABLES or kind in CONTROL_FLOW


def _graphs_of(op: Table, kind: str) -> list[int]:
    """The numbers of the graphs that an operator runs."""
    count = {"IF": 2, "WHILE": 2, "CALL_ONCE": 1}.get(kind, 0)
    options = op.table(4)
    return [options.integer(field) if options else 0 for field in range(count)]


def _custom(name: str) -> str:
    """How a custom operator is called."""
    return f"custom {name!r}"


class TfliteImporter:
    """One conversion: the graph so far, and what each tensor of the file stands for."""

    def __init__(self, model: Table, bindings: Bindings, rounding: str, entry: EntryPoint) -> None:
        self.model = model
        self.bindings = bindings
        self.rounding = rounding
        self.buffers = list(model.tables(4))
        self.codes = [_operator_name(code) for code in model.tables(1)]
        graphs = list(model.tables(2))
        number = entry.number
        if not 0 <= number < len(graphs):
            raise EdgeKitError("E0401", f"the TFLite file holds no graph {number}")
        self.number = number
        self.entry = entry
        self.runs = count()  # of subgraphs
        self.first = number  # of the subgraphs, which runs the others
        self.running = {number}  # the subgraphs that are being imported, one in the other
        self.subgraph = graphs[number]
        self.tensors = list(self.subgraph.tables(0))
        self.operators = dict(enumerate(self.subgraph.tables(3)))  # by number, those that are needed
        self.inputs, self.exits = self._indices(self.subgraph, 1), self._indices(self.subgraph, 2)
        self.builder = Builder(nodes=len(self.operators))
        # What each variable tensor is read from, and starts as.
        self.states: dict[int, tuple[str, Value]] = {}
        self.variables = Variables(self.builder)
        self.memories: list[ModelState] = []  # what operators keep from run to run without a tensor for it

    def run(self, name: str, source: Source) -> Graph:
        scope: dict[int, Tensor] = {}
        inputs = []
        for i in self.inputs:
            type = self._type(i, input=True)
            scope[i] = Tensor(self.builder, self.builder.input(self._name(i), type))
            inputs.append(scope[i].name)
        self.bindings.check(inputs)
        self._import_all(scope)
        self._check_once(self.exits, "outputs of the graph")
        outputs = [self._output(i, scope) for i in self.exits]
        memories = [*self._memories(scope), *self.variables.memories(), *self.memories]
        layers = {self._name(i): tensor for i, tensor in scope.items() if i not in self.states}
        return named_graph(self.builder, name, inputs, outputs, layers, self.bindings.noted(source), memories)

    def end_at(self, outputs: Sequence[str]) -> None:
        """Leave these outputs, and what they, or variables, depend on."""
        made = {self._name(i): i for op in self.operators.values() for i in self._indices(op, 2) if i >= 0}
        check_outputs(outputs, made)
        self.exits = [made[name] for name in outputs]
        needed = {*self.exits}
        for number, op in reversed([*self.operators.items()]):
            if self._code(op) in VARIABLES or not needed.isdisjoint(self._indices(op, 2)):
                needed.update(self._indices(op, 1))
            else:
                del self.operators[number]
        self.inputs = [i for i in self.inputs if i in needed]

    def _import_all(self, scope: dict[int, Tensor]) -> None:
        operators = self.operators.values()
        names = [self._code(op) for op in operators]
        if not all(map(_is_known, names)):
            raise_all(list(self._unsupported()))
        paths = layer_paths([self._named(op, kind) for op, kind in zip(operators, names, strict=True)])
        for (number, op), kind, path in zip(self.operators.items(), names, paths, strict=True):
            name = path or f"{_plain(kind)}_{number}"
            self.builder.origin = name
            if kind not in VARIABLES and kind not in CONTROL_FLOW:
                self._import(op, kind, name, scope)
                continue
            try:
                if kind in CONTROL_FLOW:
                    self._import_control_flow(op, kind, scope)
                else:
                    self._import_variable(op, kind, scope)
            except EdgeKitError as error:
                error.where = error.where or f"node {name}"
                raise

    def _named(self, op: Table, kind: str) -> NamedOperator:
        """What its tensors' names say of an operator; those of variables have no model in front."""
        if kind in VARIABLES:
            return NamedOperator(kind, ())
        names = [self.tensors[i].text(3) for i in self._indices(op, 2) if i >= 0]
        weights = [self.tensors[i].text(3) for i in self._indices(op, 1)[1:2] if i >= 0]
        return NamedOperator(kind, names, "".join(weights))

    def _unsupported(self) -> Iterator[EdgeKitError]:
        """An error for each operator without a handler, in the first graph and in those that it runs."""
        graphs = list(self.model.tables(2))
        left, seen = [self.first], {self.first}
        hint = "docs/ops.md lists what is supported"
        if more := proposal(map(self._stored, self.operators.values()), map(self._name, self.inputs)):
            hint += f"; {more}"
        while left:
            number = left.pop(0)
            place = f" of graph {number}" if number != self.first else ""
            operators = self.operators if number == self.number else dict(enumerate(graphs[number].tables(3)))
            for i, op in operators.items():
                kind = self._code(op)
                if not _is_known(kind):
                    yield EdgeKitError("E0201", f"unsupported op {kind}", f"operator {i}{place}", hint)
                inner = {graph for graph in _graphs_of(op, kind) if 0 <= graph < len(graphs)} - seen
                left += sorted(inner)
                seen |= inner

    def _stored(self, op: Table) -> StoredNode:
        reads, makes = ([self._name(i) for i in self._indices(op, field) if i >= 0] for field in (1, 2))
        return StoredNode(reads, makes, _is_known(self._code(op)))

    def _import_variable(self, op: Table, kind: str, scope: dict[int, Tensor]) -> None:
        """An operator that handles variables rather than tensors."""
        options, operands, results = op.table(4), self._indices(op, 1), self._indices(op, 2)
        match kind, operands, results:
            case "VAR_HANDLE", [], [handle]:
                self.variables.declare(handle, options or Table(_EMPTY, 4))
            case "READ_VARIABLE", [handle], [result]:
                scope[result] = self.variables.read(handle, self._type(result))
            case "ASSIGN_VARIABLE", [handle, operand], [] if x := self._tensor(operand, scope):
                self.variables.assign(handle, x)
            case "CALL_ONCE", [], [] if not self.number:
                number = options.integer(0) if options else 0
                once = TfliteImporter(self.model, self.bindings, self.rounding, EntryPoint(number=number))
                once.first = self.first
                if not number:
                    raise EdgeKitError("E0401", "the graph calls itself")
                once._import_all({})
                for key, content in once.variables.contents.items():
                    self.variables.starts[key] = content.constant(f"the start of variable {key}")
            case _:
                raise EdgeKitError("E0401", f"{kind} of {len(operands)} operands and {len(results)} results")

    def _import_control_flow(self, op: Table, kind: str, scope: dict[int, Tensor]) -> None:
        """An operator that runs other subgraphs."""
        operands = [x for i in self._indices(op, 1) if (x := self._tensor(i, scope))]
        results = self._indices(op, 2)
        options, limit = op.table(4) or Table(_EMPTY, 4), self.bindings.max_iterations
        if not operands:
            raise EdgeKitError("E0401", f"{kind} has no operand")
        first, second = (partial(self._run, options.integer(i)) for i in (0, 1))
        if kind == "IF":
            made = branch(operands[0], first, second, operands[1:])
        else:
            made = loop(first, second, operands, self._unchanged(options.integer(1)), limit)
        if len(made) != len(results):
            raise EdgeKitError("E0401", f"{kind} computes {len(made)} results, the file says {len(results)}")
        for i, x in zip(results, made, strict=True):
            declared = self._type(i)
            if (x.dtype, x.type.quant) != (declared.dtype, declared.quant):
                raise EdgeKitError("E0204", f"{kind} computes {x.type}, the file says {declared}")
            scope[i] = x

    def _unchanged(self, number: int) -> set[int]:
        """The operands that a subgraph returns as they are."""
        graphs = list(self.model.tables(2))
        if not 0 <= number < len(graphs):
            return set()
        entries, exits = (graphs[number].array(field, "<i4").tolist() for field in (1, 2))
        return {i for i, (a, b) in enumerate(zip(entries, exits, strict=False)) if a == b}

    def _run(self, number: int, operands: Sequence[Tensor]) -> list[Tensor]:
        """What a subgraph computes, in the graph in the making."""
        if number in self.running:
            raise EdgeKitError("E0401", "the graph calls itself")
        if next(self.runs) >= MAX_RUNS:
            message = f"the loops of this model run graphs more than {MAX_RUNS} times"
            raise EdgeKitError("E0205", message, hint="loops are unrolled: convert it for shorter sequences")
        inner = TfliteImporter(self.model, self.bindings, self.rounding, EntryPoint(number=number))
        inner.builder, inner.runs = self.builder, self.runs
        inner.running, inner.first = {*self.running, number}, self.first
        entries, exits = inner._indices(inner.subgraph, 1), inner._indices(inner.subgraph, 2)
        if len(entries) != len(operands):
            message = f"graph {number} takes {len(entries)} operands, the file gives {len(operands)}"
            raise EdgeKitError("E0401", message)
        scope = dict(zip(entries, operands, strict=True))
        origin = self.builder.origin
        inner._import_all(scope)
        self.builder.origin = origin
        if inner.states or inner.variables.contents or inner.memories:
            raise EdgeKitError("E0205", "variables in branches and loops are not supported")
        return [inner._output(i, scope)[1] for i in exits]

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

    def _check_once(self, indices: Sequence[int], what: str, where: str = "") -> None:
        """Refuse a tensor that is named twice where each must be another one."""
        if repeated := [i for i in indices if i >= 0 and indices.count(i) > 1]:
            raise EdgeKitError("E0401", f"tensor {self._name(repeated[0])} is twice among the {what}", where)

    def _name(self, i: int) -> str:
        return self.entry.tensors.get(i) or self.tensors[i].text(3) or f"t{i}"

    def _type(self, i: int, *, input: bool = False, is_quantized: bool = False) -> Type:
        tensor = self.tensors[i]
        where = f"tensor {self._name(i)}"
        code = tensor.integer(1, "b")
        shape = tuple(int(d) for d in tensor.array(0, "<i4"))
        if code == COMPLEX64 and not input:
            code, shape = 0, (*shape, 2)
        if code not in TYPES:
            raise EdgeKitError("E0204", f"element type {code} is not supported", where)
        signature = [int(d) for d in tensor.array(7, "<i4")]
        if input:
            # Where no signature says what may vary, the shape is only what the model was converted with.
            varies = [None if d < 0 else d for d in signature] or [None] * len(shape)
            fixed_too = self._name(i) not in self.bindings.shapes and -1 not in signature[1:]
            usual = (None, *shape[1:]) if signature[:1] == [-1] and shape[:1] == (1,) else shape
            shape = self.bindings.type(self._name(i), DType.F32, usual if fixed_too else varies).shape
        if any(d < 0 for d in shape) or absurd(shape):
            raise EdgeKitError("E0402", f"shape {list(shape)[:8]} is absurd", where)
        dtype = TYPES[code]
        # The scale of a bias is s_x s_w by definition: what a file says of it is not read. Older converters
        # wrote the axis of the weights beside it.
        has_quant = dtype.is_integer and (dtype.bytes < 4 or is_quantized)
        return Type(dtype, shape, self._quant(tensor.table(4), dtype, shape, where) if has_quant else None)

    def _quant(self, table: Table | None, dtype: DType, shape: tuple[int, ...], where: str) -> Quant | None:
        if table is None:
            return None
        scales, zeros = table.array(2, "<f4"), table.array(3, "<i8")
        if not scales.size:
            return None
        if zeros.size not in (scales.size, 0):
            raise EdgeKitError("E0401", f"{scales.size} scales but {zeros.size} zero points", where)
        if not (np.isfinite(scales) & (scales > 0)).all():
            raise EdgeKitError("E0401", f"scale {scales.min()} is not positive and finite", where)
        least, most = fixed.int_range(dtype)
        if any(not least <= z <= most for z in zeros.tolist()):
            raise EdgeKitError("E0401", f"a zero point is outside of {least} to {most}", where)
        axis = table.integer(6) if scales.size > 1 else None
        if axis is not None and not (0 <= axis < len(shape) and shape[axis] == scales.size):
            raise EdgeKitError(
                "E0401", f"{scales.size} scales do not fit axis {axis} of {list(shape)}", where
            )
        zero = tuple(int(z) for z in zeros) or (0,) * scales.size
        return Quant(tuple(float(s) for s in scales), zero, axis, self.rounding)

    def _tensor(self, i: int, scope: dict[int, Tensor]) -> Tensor | None:
        """What a tensor of the file stands for; None for an operand that is left out."""
        if i < 0:
            return None
        if i not in scope:
            type = self._type(i)
            name = self.builder.fresh(self._name(i))
            initial = Value(type, self._data(i, type))
            if self._is_variable(i):
                self.states[i] = name, initial
                initial = Value(type)
            self.builder.values[name] = initial
            scope[i] = Tensor(self.builder, name)
        return scope[i]

    def _is_complex(self, i: int) -> bool:
        return self.tensors[i].integer(1, "b") == COMPLEX64

    def _is_variable(self, i: int) -> bool:
        """Does the tensor keep its content from run to run?"""
        return bool(self.tensors[i].integer(5, "b"))

    def _memories(self, scope: Mapping[int, Tensor]) -> Iterator[ModelState]:
        """The states in the end; those that never change are constants."""
        for i, (name, initial) in self.states.items():
            if scope[i].name == name:
                self.builder.values[name] = initial
            else:
                yield ModelState(name, scope[i], initial)

    def _data(self, i: int, type: Type) -> Array:
        index = self.tensors[i].integer(2, "I")
        if index >= len(self.buffers):
            raise EdgeKitError("E0401", f"buffer {index} does not exist")
        raw = stored(self.buffers[index])
        where = f"tensor {self._name(i)}"
        if not raw.size and self._is_variable(i):  # LiteRT starts from 0 of bytes, whatever other types say
            zero = type.quant.zero[0] if type.quant and type.dtype is DType.S8 else 0
            return np.full(type.shape, zero, type.dtype.numpy)
        if not raw.size and type.size:
            raise EdgeKitError("E0401", "nothing computes this tensor", where)
        if is_sparse(self.tensors[i]):
            self.builder.afford(type.shape)
            try:
                return dense(self.tensors[i], type, raw)
            except DamageError as error:
                raise EdgeKitError("E0401", reason_of(error), where) from None
        if raw.size != type.bytes:
            raise EdgeKitError("E0401", f"{raw.size} bytes of data for {type}", where)
        return np.frombuffer(raw.tobytes(), type.dtype.numpy).reshape(type.shape)

    def _import(self, op: Table, kind: str, name: str, scope: dict[int, Tensor]) -> None:
        operands = self._indices(op, 1)
        inputs = [self._tensor(i, scope) for i in operands]
        results = self._indices(op, 2)
        self._check_once(results, f"results of {kind}", f"node {name}")
        while inputs and inputs[-1] is None:
            inputs.pop()
        options = op.table(4) or Table(_EMPTY, 4)
        inner = tuple(self._type(i) for i in self._indices(op, 8) if i >= 0)
        # int32 of a quantization stands for something; other int32 are counts or sums.
        if kind == "QUANTIZE" and inputs and (x := inputs[0]) and x.dtype is DType.S32:
            inputs[0] = labelled(x, self._type(operands[0], is_quantized=True).quant)
        outs = tuple(self._type(i, is_quantized=kind == "QUANTIZE") for i in results)
        layer = TfliteLayer(name, options, outs, inner, op.array(5, "u1").tobytes())
        handler = handlers()[kind]
        _check_operands(handler, kind, name, inputs, results)
        try:
            with np.errstate(all="ignore"):  # what overflows is refused where it matters
                if any(are_complex := [i >= 0 and self._is_complex(i) for i in operands][: len(inputs)]):
                    made = by_parts(kind, handler, layer, inputs, are_complex)
                else:
                    made = handler(layer, *inputs)
        except EdgeKitError as error:
            error.where = error.where or f"node {name}"
            raise
        except Exception as error:  # a handler meets what an exporter (or a fuzzer) made; never a traceback
            raise EdgeKitError(
                "E0403", f"{kind} makes no sense: {reason_of(error)}", f"node {name}", HINT
            ) from error
        for i, x in zip(operands, inputs, strict=False):
            if x is not None and i in self.states and x.name in layer.written:
                scope[i] = layer.written[x.name]
        self.memories += [ModelState(k, layer.written[k], initial) for k, initial in layer.kept.items()]
        tensors = [made] if isinstance(made, Tensor) else made
        for i, type, tensor in zip(results, layer.outs, tensors, strict=False):
            if tensor.dtype is not type.dtype:
                message = f"{kind} computes {tensor.type}, the file says {type}"
                raise EdgeKitError(
                    "E0204", message, f"node {name}", "its operands have types that do not fit"
                )
            scope[i] = labelled(tensor, type.quant)

    def _output(self, i: int, scope: dict[int, Tensor]) -> tuple[str, Tensor]:
        tensor = self._tensor(i, scope)
        if tensor is None:
            raise EdgeKitError("E0401", "an output of the graph is left out")
        if self._is_complex(i):
            hint = "REAL, IMAG or COMPLEX_ABS in the model make real numbers of them"
            raise EdgeKitError("E0204", f"output {self._name(i)} has complex numbers", hint=hint)
        return self._name(i), tensor


def _check_operands(
    handler: Handler, kind: str, name: str, inputs: Sequence[Tensor | None], results: Sequence[int]
) -> None:
    """Does the file give what the handler's parameters ask for?"""
    _, *parameters = inspect.signature(handler).parameters.values()
    rest = [p for p in parameters if p.kind is p.VAR_POSITIONAL]
    most = inf if rest else len(parameters)
    needed = sum(p.default is p.empty for p in parameters if p not in rest)
    if not needed <= len(inputs) <= most:
        count = str(needed) if most == needed else f"{needed} or more"
        raise EdgeKitError(
            "E0401", f"{kind} takes {count} operands, the file gives {len(inputs)}", f"node {name}"
        )
    optional = {i for i, p in enumerate(parameters) if "None" in str(p.annotation)}
    if rest and "None" in str(rest[0].annotation):
        optional |= set(range(needed, len(inputs)))
    if missing := [i for i, x in enumerate(inputs) if x is None and i not in optional]:
        raise EdgeKitError("E0401", f"operand {missing[0]} of {kind} is left out", f"node {name}")
    if not results:
        raise EdgeKitError("E0401", f"{kind} has no result", f"node {name}")


def _plain(kind: str) -> str:
    """An operator's name as it begins those of its nodes."""
    return kind.removeprefix("custom ").strip("'").lower()


def _operator_name(code: Table) -> str:
    """The newer field holds codes above 127; old files have only the byte."""
    number = max(code.integer(0, "b"), code.integer(3))
    if number == 32:
        return _custom(code.text(1))
    return OPERATORS[number] if number < len(OPERATORS) else f"number {number}"


_EMPTY = b"\x04\x00\x00\x00\x04\x00\x00\x00\x04\x00\x04\x00"
