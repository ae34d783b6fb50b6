"""Builds graphs: adds nodes and constants, infers their types, and folds what depends on constants alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edgekit.core import limits
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, GroupwiseWeights, Node, Source, State
from edgekit.core.ops import Op, without_elements
from edgekit.core.reasons import reason_of
from edgekit.core.types import Array, DType, Quant, Type, Value, type_of

# More elements or dimensions are an attack or a mistake, not a tensor of a model; and so are more operators,
# and constants that take more steps or memory to compute than this, and so much for each byte of those that
# the model holds.
MAX_ELEMENTS = 1 << 27
MAX_RANK = 32
_MAX_STEPS = 1 << 16
_MAX_STEPS_GROWTH = 16  # of what a model holds
_FREE_FOLD_WORK, _FOLD_WORK_PER_BYTE = 1 << 33, 64
_FREE_FOLD_BYTES, _FOLD_BYTES_PER_BYTE = 1 << 28, 8
_SMALL = 64  # elements of constants that are shared, and never dropped
_GROWTH = 4.0  # of what constants take when the limit is met, until all are there
_DROPS = 64  # times that dead constants are looked for, while as many bytes as are allowed are made
# Formats of weights alone, and the elements from which on it counts that they are widened.
_NARROW = (DType.F16, DType.BF16, DType.S8, DType.U8, DType.S4, DType.U4)
MIN_NARROW = 64


def absurd(shape: Sequence[int]) -> bool:
    """Does no tensor of a model have this shape? A huge dimension beside a 0 counts: some code meets it."""
    if len(shape) > MAX_RANK or any(not 0 <= n <= MAX_ELEMENTS for n in shape):
        return True
    return math.prod(shape) > MAX_ELEMENTS


class Builder:
    """A graph in the making. Names that are taken get a number behind them. `given` counts the bytes of the
    constants that a model holds, and `nodes` its operators: the more there are, the more may be made."""

    def __init__(self, values: Mapping[str, Value] | None = None, given: int = 0, nodes: int = 0) -> None:
        self.values: dict[str, Value] = dict(values or {})
        self.nodes: list[Node] = []
        self.stored_dtypes: set[DType] = set()  # of constants that were widened
        self.groupwise: dict[bytes, GroupwiseWeights] = {}  # by digest of what was widened
        self.origin = ""  # the source layer that the next nodes come from
        self.kinds: set[type[Op]] = set()  # of operators that were added
        self.producers: dict[str, Node] = {}  # of edges that were added
        self.notes: object = None  # what a reader knows of edges and operators do not tell
        self._sources: dict[str, str] = {}  # of constants that were computed: the one that they are made of
        self._constants: dict[tuple[bytes, str, tuple[int, ...]], str] = {}
        self._counts: dict[str, int] = {}
        self._steps = 0
        self._max_steps = max(_MAX_STEPS, _MAX_STEPS_GROWTH * nodes)
        self._given = given + sum(v.data.nbytes for v in self.values.values() if v.data is not None)
        self._fold_work = self._fold_bytes = 0
        # What a reader still needs of the constants that it has names of; it drops none without.
        self.needed: Callable[[], Iterable[str]] | None = None
        self._made: dict[str, str] = {}  # computed constants, by the layer that made each
        self._folded: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}  # results, by operator as text
        self._dropped_at = 0  # bytes that were left

    def fresh(self, hint: str) -> str:
        """A name that nothing has yet."""
        name = hint
        while not name or name in self.values:
            self._counts[hint] = self._counts.get(hint, 0) + 1
            name = f"{hint}_{self._counts[hint]}"
        return name

    def input(self, name: str, type: Type) -> str:
        name = self.fresh(name)
        self.values[name] = Value(type)
        return name

    def const(self, data: ArrayLike, like: Array | np.dtype[Any] | None = None, hint: str = "") -> str:
        """A constant; scalars take the dtype `like`. Small equal constants share one name."""
        dtype = like.dtype if isinstance(like, np.ndarray) else like
        array = np.asarray(data, dtype)
        array = np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray makes scalars 1-d
        key = (array.tobytes(), str(array.dtype), array.shape) if array.size <= _SMALL else None
        if key is not None and key in self._constants:
            return self._constants[key]
        name = self.fresh(hint or f"{self.origin}_constant".lstrip("_"))
        if hint in self.values:  # made of it, with another content
            self._sources[name] = self._sources.get(hint, hint)
        array.flags.writeable = False
        self._charge(array.nbytes)
        self.values[name] = Value(type_of(array), array)
        self._made[name] = self.origin
        if key is not None:
            self._constants[key] = name
        return name

    def type(self, name: str) -> Type:
        return self.values[name].type

    def data(self, name: str) -> Array | None:
        return self.values[name].data

    def check_room(self, count: int, inputs: Sequence[str] = ()) -> None:
        """Refuse so many operators more, as unrolling may make, where that is too many."""
        message = f"the model has more than {self._max_steps} operators"
        limits.refuse_beyond(self._max_steps, self._steps + count, message, self.where(inputs))

    def add(
        self,
        op: Op,
        *inputs: str,
        names: Sequence[str] = (),
        quant: Quant | Sequence[Quant | None] | None = None,
    ) -> tuple[str, ...]:
        """Apply an operator and return the names of its results, `names` where they are free. What depends on
        constants alone becomes a constant at once. `quant` says what the integers of quantized results stand
        for, all of them or each, where the operator does not take that over from its operands."""
        self.check_room(1, inputs)
        self._steps += 1
        types = [self.type(name) for name in inputs]
        try:
            results = op.infer(*types)
        except TypeError as error:
            raise EdgeKitError(
                "E0401", f"{type(op).__name__}: {reason_of(error)}", self.where(inputs)
            ) from None
        if not op.is_data_movement:
            quants = quant if isinstance(quant, Sequence) else [quant] * len(results)
            results = tuple(
                r if r.quant is q else replace(r, quant=q) for r, q in zip(results, quants, strict=True)
            )
        for result in results:
            if absurd(result.shape):
                raise EdgeKitError(
                    "E0402", f"{type(op).__name__} makes a tensor of {result}", self.where(inputs)
                )
        data = [self.data(name) for name in inputs]
        is_constant = (
            bool(inputs) and all(x is not None for x in data) and (op.is_data_movement or quant is None)
        )
        step = (repr(op), inputs) if is_constant else ("", inputs)  # as text: -0.0 is another number than 0.0
        known = () if names else self._folded.get(step, ())
        if known and self.values.keys() >= {*known}:
            return known  # a step of an unrolled loop, such as weights that become floats
        outputs: tuple[str, ...] = ()
        for i, result in enumerate(results):
            hint = names[i] if i < len(names) else self._name_of_result(op)
            if is_constant and not names and len(results) == 1:
                largest = max(inputs, key=lambda name: self.type(name).size)
                hint = self._sources.get(largest, largest)
            outputs += (self.fresh(hint),)
            self.values[outputs[-1]] = Value(result)
            if is_constant:
                self._sources[outputs[-1]] = hint
        if is_constant:
            self._charge_work(op, types, results, inputs)
            self._charge(sum(result.bytes for result in results))
            arrays = without_elements(results) or op.eval(*(x for x in data if x is not None))
            self.note_widened(types[0], results[0])
            for name, result, array in zip(outputs, results, arrays, strict=True):
                check_result(op, result, array)
                array = np.asarray(array)
                if array.base is not None or any(array is x for x in data):
                    array = array.copy()  # never a view: the argument may be huge
                array.flags.writeable = False
                self.values[name] = Value(result, array)
                self._made[name] = self.origin
            self._folded[step] = outputs
            return outputs
        self.kinds.add(type(op))
        node = Node(op, inputs, outputs, self.origin)
        self.producers |= dict.fromkeys(outputs, node)
        self.nodes.append(node)
        return outputs

    def _name_of_result(self, op: Op) -> str:
        """The name of its layer, for a tensor that the model does not name; copies and others say so."""
        word = type(op).__name__.lower()
        if not self.origin:
            return f"{word}_{len(self.nodes)}"
        return f"{self.origin}_{word}" if op.is_data_movement or self.origin in self.values else self.origin

    def note_widened(self, stored: Type, wide: Type) -> None:
        """A constant that the file stores in fewer bytes than the graph, for passes that shrink it again."""
        if stored.dtype in _NARROW and stored.size >= MIN_NARROW and wide.dtype in (DType.F32, DType.S32):
            self.stored_dtypes.add(stored.dtype)

    def afford(self, shape: Sequence[int]) -> None:
        """Refuse a constant of this shape before it is made: small files can describe endless ones."""
        if absurd(shape):
            message = f"a constant of shape {list(shape)[:8]} is absurd"
            raise EdgeKitError("E0402", message, f"node {self.origin}")
        self._check_room(8 * math.prod(shape))

    def can_fold(self, op: Op, ins: Sequence[Type], outs: Sequence[Type]) -> bool:
        """Is there enough left of what constants may take to compute?"""
        needed = self._fold_work + op.work(ins, outs)
        return limits.allows(_FREE_FOLD_WORK + _FOLD_WORK_PER_BYTE * self._given, needed)

    def _charge_work(self, op: Op, ins: Sequence[Type], outs: Sequence[Type], inputs: Sequence[str]) -> None:
        self._fold_work += (work := op.work(ins, outs))
        limit = _FREE_FOLD_WORK + _FOLD_WORK_PER_BYTE * self._given
        message = (
            f"constants take more than {limits.billions(limit)} to compute, "
            f"{type(op).__name__} {limits.billions(work)}"
        )
        reason = "models of few bytes may not ask for endless work"
        limits.refuse_beyond(limit, self._fold_work, message, self.where(inputs), reason)

    def _charge(self, size: int) -> None:
        self._check_room(size)
        self._fold_bytes += size

    def _drop_dead(self, step: float) -> None:
        """Drop computed constants that nothing needs, which layers before the current one have made. Where
        little was made since the last time, there is none."""
        if self.needed is None or self._fold_bytes < self._dropped_at + step:
            return
        used = {*self.needed(), *(name for node in self.nodes for name in node.inputs)}
        for name, origin in [*self._made.items()]:
            is_open = self.origin == origin or self.origin.startswith(f"{origin}/")
            if name not in used and not is_open and self.type(name).size > _SMALL:
                self._fold_bytes -= self.values.pop(name).type.bytes
                del self._made[name]
        known = self._folded.items()
        self._folded = {key: made for key, made in known if self._made.keys() >= {*made}}
        self._dropped_at = self._fold_bytes

    def _check_room(self, size: int) -> None:
        limit = _FREE_FOLD_BYTES + _FOLD_BYTES_PER_BYTE * self._given
        message = f"constants that the model computes take more than {limit >> 20:,} MiB"
        reason = f"{_FREE_FOLD_BYTES >> 20} MiB, and {_FOLD_BYTES_PER_BYTE} times those that it holds"
        if not limits.allows(limit, self._fold_bytes + size):
            self._drop_dead(limit / _DROPS)
        where, needed = f"node {self.origin}", self._fold_bytes + size
        limits.refuse_beyond(limit, needed, message, where, reason, growth=_GROWTH)

    def one(self, op: Op, *inputs: str, name: str = "") -> str:
        """Apply an operator with a single result."""
        (result,) = self.add(op, *inputs, names=(name,) if name else ())
        return result

    def where(self, inputs: Sequence[str]) -> str:
        """The place of an error: the layer and the types that it reads."""
        types = ",".join(str(self.type(name)) for name in inputs)
        return f"node {self.origin or '?'}   in {types}"

    def graph(
        self,
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        source: Source | None = None,
        states: Sequence[State] = (),
    ) -> Graph:
        """The finished graph, without values that nothing uses."""
        used = {*inputs, *outputs, *(n for s in states for n in (s.input, s.output))}
        used |= {n for node in self.nodes for n in (*node.inputs, *node.outputs)}
        values = {n: v for n, v in self.values.items() if n in used}
        graph = Graph(
            name,
            tuple(inputs),
            tuple(outputs),
            tuple(self.nodes),
            values,
            source or Source(),
            tuple(states),
            tuple(sorted(self.stored_dtypes, key=lambda dtype: dtype.value)),
            self.groupwise,
        )
        return self.with_source_names(graph)

    def with_source_names(self, graph: Graph) -> Graph:
        """The graph, where a constant has the name of the tensor that it was made of, if nothing else needs
        that: weights that were transposed are still called as in the model."""
        kept = {*graph.inputs, *graph.outputs, *(n for s in graph.states for n in (s.input, s.output))}
        renames: dict[str, str] = {}
        for name, source in self._sources.items():
            value = graph.values.get(name)
            if value is None or value.data is None or name in kept:
                continue
            if source not in graph.values and source not in renames.values():
                renames[name] = source
        if not renames:
            return graph
        nodes = tuple(replace(n, inputs=tuple(renames.get(i, i) for i in n.inputs)) for n in graph.nodes)
        values = {renames.get(name, name): value for name, value in graph.values.items()}
        return replace(graph, nodes=nodes, values=values)


def check_result(op: Op, expected: Type, array: Array) -> None:
    """`eval` must keep the promise of `infer`: a slip here would be a wrong model, not a crash."""
    found = type_of(np.asarray(array))
    assert found == expected.real, f"{op} inferred {expected}, computed {found}"
