"""JAX's StableHLO text (jax.export) -> Graph, by the handlers of ops: functions named as operators.

Functions that main calls are laid out where they are called. Broadcasts wait: elementwise operators of ours
repeat their operands themselves, and a bias that stays a vector is that of a layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgekit.converters import files
from edgekit.converters.blame import blame
from edgekit.converters.frontend import call, check_supported, handlers, reading, tensors
from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import named_graph
from edgekit.converters.semantics.movement import cast, expand, where
from edgekit.converters.stablehlo import FORMAT as FORMAT
from edgekit.converters.stablehlo import SUFFIXES as SUFFIXES
from edgekit.converters.stablehlo import ops
from edgekit.converters.stablehlo.idioms import kept
from edgekit.converters.stablehlo.mlir_literals import Spec
from edgekit.converters.stablehlo.mlir_text import MlirFunction, MlirOperation, Parser, Region
from edgekit.converters.stablehlo.node import StablehloNode
from edgekit.converters.stablehlo.ops import elementwise
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder, absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.ops.logic import Equal
from edgekit.core.types import DType

_START = re.compile(rb"^(module\s*((@|attributes)[^\n]*)?\{|func\.func\b)", re.MULTILINE)
_MAX_STEPS = 1 << 16  # functions may call each other twice, and those again
_MAX_ROUNDS = 1 << 11  # of a loop: each becomes layers of its own
_MAX_TEXT = 1 << 29
_NO_HANDLER = "docs/frontends.md lists what is read of StableHLO; jax2onnx may write the rest as ONNX"
_CALLS = ("call", "composite")
_CONTROL = ("while", "case", "if")
_CHECK = "shape_assertion"  # sizes are fixed here
_BROADCASTS = ("broadcast_in_dim", "dynamic_broadcast_in_dim")


def sniff(path: Path, head: bytes) -> bool:
    """A text with a module or a function of MLIR."""
    return b"\0" not in head and bool(_START.search(head))


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a model; `shapes` binds dynamic dimensions, of which only the batch is bound by itself."""
    with reading(model.name):
        raw = files.read(model, _MAX_TEXT)
        try:
            functions = Parser(raw.decode()).functions()
        except UnicodeDecodeError:
            raise EdgeKitError("E0401", "the file is no text") from None
        importer = StablehloImporter(functions, Bindings(shapes or {}, dims or {}), len(raw) // 2)
        return importer.run(name or model.stem, files.source(model, "mlir", raw, producer="JAX"))


@dataclass(frozen=True)
class BroadcastView:
    """A tensor that stands for a larger one: its dimensions of size 1 are repeated up to this shape."""

    tensor: Tensor
    shape: tuple[int, ...]

    def whole(self) -> Tensor:
        if absurd(self.shape):
            raise EdgeKitError("E0402", f"shape {list(self.shape)[:8]} is absurd")
        return expand(self.tensor, self.shape)


class StablehloImporter:
    """One conversion: the functions of the file, and the graph so far."""

    def __init__(self, functions: Mapping[str, MlirFunction], bindings: Bindings, given: int) -> None:
        self.functions = functions
        self.bindings = bindings
        self.builder = Builder(given=given)
        self.steps = 0
        self.known = handlers(ops)

    def run(self, name: str, source: Source) -> Graph:
        if "main" not in self.functions:
            raise EdgeKitError("E0401", "the file has no function main")
        main = self.functions["main"]
        used = (op for function in self.functions.values() for op in function.body)
        known = {*self.known, *_CALLS, *_CONTROL, *_BROADCASTS, "constant", "iota", "dynamic_iota", "return"}
        check_supported(_kinds(used), dict.fromkeys(known), _NO_HANDLER)
        inputs = self._inputs(main)
        arguments = [BroadcastView(x, x.shape) for x in inputs]
        results = self._call(main, arguments)
        outputs = [(_label(main, i), y.whole()) for i, y in enumerate(results)]
        if not outputs:
            raise EdgeKitError("E0401", "main returns nothing")
        return named_graph(
            self.builder, name, [x.name for x in inputs], outputs, {}, self.bindings.noted(source)
        )

    def _inputs(self, main: MlirFunction) -> list[Tensor]:
        """The arguments of main, by the names that the source code gave them where it did."""
        names: list[str] = []
        found = []
        for key, type, given in main.arguments:
            name = _plain(given) or _plain(self._inner_name(main, key)) or key
            name = name if name not in names else key
            names.append(name)
            found.append(self.bindings.type(name, type.dtype, type.dims or ()))
        self.bindings.check(names)
        return [Tensor(self.builder, self.builder.input(n, t)) for n, t in zip(names, found, strict=True)]

    def _inner_name(self, main: MlirFunction, key: str) -> str:
        """The name of an argument in the function that main hands it on to."""
        for op in main.body:
            inner = self.functions.get(str(op.attributes.get("callee", "")))
            if op.kind == "call" and inner is not None and key in op.operands[: len(inner.arguments)]:
                return inner.arguments[op.operands.index(key)][2]
        return ""

    def _call(self, function: MlirFunction, operands: Sequence[BroadcastView]) -> list[BroadcastView]:
        if len(operands) != len(function.arguments):
            message = f"{function.name} takes {len(function.arguments)} operands, gets {len(operands)}"
            raise EdgeKitError("E0401", message)
        scope: dict[str, BroadcastView] = {}
        for (key, type, _), x in zip(function.arguments, operands, strict=True):
            _check(key, type, x)
            scope[key] = x
        for op in function.body:
            label = f"{op.kind} %{op.results[0]}" if op.results else op.kind
            with blame(f"{function.name}: {label}"):
                if op.kind == "return":
                    return [_found(scope, key) for key in op.operands]
                self.builder.origin = label
                self._step(op, scope)
        raise EdgeKitError("E0401", f"{function.name} returns nothing")

    def _count(self) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise EdgeKitError("E0402", f"the model has more than {_MAX_STEPS} operators")

    def _step(self, op: MlirOperation, scope: dict[str, BroadcastView]) -> None:
        self._count()
        if op.attributes.get("callee") == _CHECK:
            return
        if op.kind in _CONTROL:
            made = self._controlled(op, scope)
        else:
            made = self._results(op, _all(scope, op.operands))
        if len(made) != len(op.results):
            raise EdgeKitError("E0401", f"{len(made)} results for {len(op.results)} names")
        for i, (key, x) in enumerate(zip(op.results, made, strict=True)):
            if i < len(op.types):
                _check(key, op.types[i], x)
            if key in scope:
                raise EdgeKitError("E0401", f"%{key} is there twice")
            scope[key] = x

    def _controlled(self, op: MlirOperation, scope: Mapping[str, BroadcastView]) -> list[BroadcastView]:
        """What operators with parts of their own give, which see all that is known around them."""
        if op.kind == "while":
            return self._loop(op, scope)
        (chosen,) = (x.whole() for x in _all(scope, op.operands))
        # The first part of `if` is for true; a number that no part of `case` has stands for the last.
        numbers = [1, 0] if op.kind == "if" else list(range(len(op.regions)))
        if len(numbers) != len(op.regions) or not numbers or chosen.rank:
            raise EdgeKitError("E0401", f"{op.kind} has {len(op.regions)} parts for {chosen.type}")
        if chosen.data is not None:
            number = int(chosen.data)
            return self._part(op.regions[numbers.index(number) if number in numbers else -1], scope)
        made = [self._part(region, scope) for region in op.regions]
        results = made.pop()
        index = cast(chosen, DType.S32)
        for number, other in reversed(list(zip(numbers, made, strict=False))):
            is_this = index.apply(Equal(), number)
            pairs = zip(other, results, strict=True)
            results = [self._wide(where(is_this, a.whole(), b.whole())) for a, b in pairs]
        return results

    def _loop(self, op: MlirOperation, scope: Mapping[str, BroadcastView]) -> list[BroadcastView]:
        """One round after the other: how many there are may not depend on the input."""
        names, given = op.operands[::2], op.operands[1::2]
        if len(op.regions) != 2 or len(names) != len(given):
            raise EdgeKitError("E0401", "while has a condition and a body")
        condition, body = op.regions
        values = _all(scope, given)
        for _ in range(_MAX_ROUNDS):
            self._count()
            inner = {**scope, **dict(zip(names, values, strict=True))}
            (holds,) = self._part(condition, inner)
            if not bool(holds.tensor.constant("how often a loop runs").all()):
                return values
            values = self._part(body, inner)
        raise EdgeKitError("E0402", f"a loop of more than {_MAX_ROUNDS} iterations is not unrolled")

    def _part(self, region: Region, scope: Mapping[str, BroadcastView]) -> list[BroadcastView]:
        """The results of a part of an operator."""
        inner = dict(scope)
        origin = self.builder.origin
        for op in region.operations:
            if op.kind == "return":
                self.builder.origin = origin
                return _all(inner, op.operands)
            self._step(op, inner)
        raise EdgeKitError("E0401", "a part of an operator returns nothing")

    def _results(self, op: MlirOperation, operands: Sequence[BroadcastView]) -> list[BroadcastView]:
        node = StablehloNode(op)
        if op.kind in _CALLS:
            callee = str(op.attributes.get("decomposition", op.attributes.get("callee", "")))
            if callee not in self.functions:
                raise EdgeKitError("E0401", f"the file has no function {callee[:60]}")
            return self._call(self.functions[callee], operands)
        if op.kind == "constant":
            array = node.array("value")
            self.builder.afford(array.shape)
            return [self._constant(np.asarray(array))]
        if op.kind in ("iota", "dynamic_iota"):
            shape = operands[0].whole().ints("the shape of iota") if operands else node.shape
            axis = node.integer("dim", "iota_dimension")
            if not 0 <= axis < len(shape):
                raise EdgeKitError("E0401", f"iota along {axis} of {list(shape)[:8]}")
            self.builder.afford((shape[axis],))
            cells = np.arange(shape[axis]).astype(node.dtype.numpy)
            apart = [n if i == axis else 1 for i, n in enumerate(shape)]
            return [BroadcastView(self._constant(cells.reshape(apart)).tensor, tuple(shape))]
        if op.kind in _BROADCASTS:
            return [self._broadcast(node, operands)]
        handler = self.known[op.kind]
        if handler.__module__ != elementwise.__name__:
            made = call(handler, op.kind, self.builder.origin, [node, *(x.whole() for x in operands)], {})
            return [self._wide(y) for y in tensors(made)]
        try:
            shape = np.broadcast_shapes(*(x.shape for x in operands))
        except ValueError:
            shapes = ", ".join(str(list(x.shape)[:8]) for x in operands[:4])
            raise EdgeKitError("E0401", f"{op.kind} of operands of different shapes: {shapes}") from None
        return [
            BroadcastView(
                call(handler, op.kind, self.builder.origin, [node, *(x.tensor for x in operands)], {}), shape
            )
        ]

    def _constant(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> BroadcastView:
        return self._wide(Tensor(self.builder, self.builder.const(array)))

    def _wide(self, tensor: Tensor) -> BroadcastView:
        return BroadcastView(tensor, tensor.shape)

    def _broadcast(self, node: StablehloNode, operands: Sequence[BroadcastView]) -> BroadcastView:
        """The operand in its dimensions of the result, and 1 for all others."""
        x, *given = operands
        shape = given[0].whole().ints("the shape of a broadcast") if given else node.shape
        dims = node.ints("dims", "broadcast_dimensions", count=len(x.shape))
        fits = len(set(dims)) == len(dims) and all(
            0 <= d < len(shape) and n in (1, shape[d]) for d, n in zip(dims, x.shape, strict=True)
        )
        if not fits or absurd(shape):
            raise EdgeKitError("E0401", f"{list(x.shape)[:8]} does not broadcast to {list(shape)[:8]}")
        if (whole := kept(x.tensor, dims, len(shape))) is not None:
            return BroadcastView(whole, tuple(shape))
        order = sorted(range(len(dims)), key=lambda i: dims[i])
        small = x.tensor.transpose(*order)
        sizes = [1] * len(shape)
        for i, size in zip(order, small.shape, strict=True):
            sizes[dims[i]] = size
        return BroadcastView(small.reshape(*sizes), tuple(shape))


def _kinds(operations: Iterator[MlirOperation]) -> Iterator[tuple[str, str]]:
    for op in operations:
        kind = op.kind
        if kind == "custom_call":
            if op.attributes.get("callee") == _CHECK:
                continue
            kind = f"custom_call @{op.attributes.get('callee', op.attributes.get('call_target_name', '?'))}"
        if kind in _CONTROL:
            yield from _kinds(inner for region in op.regions for inner in region.operations)
        yield kind, f"%{op.results[0]}" if op.results else op.kind


def _all(scope: Mapping[str, BroadcastView], keys: Sequence[str]) -> list[BroadcastView]:
    return [_found(scope, key) for key in keys]


def _found(scope: Mapping[str, BroadcastView], key: str) -> BroadcastView:
    if key not in scope:
        raise EdgeKitError("E0401", f"%{key} is computed by nothing")
    return scope[key]


def _check(key: str, type: Spec, x: BroadcastView) -> None:
    """Compare a value with the type that the file states."""
    dims = type.dims or ()
    fits = len(dims) == len(x.shape) and all(d in (None, n) for d, n in zip(dims, x.shape, strict=True))
    if not fits or type.dtype is not x.tensor.dtype:
        made = f"{x.tensor.dtype.value}{list(x.shape)[:8]}"
        raise EdgeKitError("E0401", f"%{key} is {made}, the file says {type.text[:80]}")


def _plain(name: str) -> str:
    """A name without marks: those of arguments are expressions, params['w']."""
    return re.sub(r"\W+", "_", name).strip("_") if name.isprintable() and len(name) < 100 else ""


def _label(main: MlirFunction, i: int) -> str:
    found = _plain(main.labels[i]) if i < len(main.labels) else ""
    return found or ("result" if len(main.labels) == 1 else f"result_{i}")
