"""Static types of graph inputs: what the file says, and what --shape and --dim bind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from shlex import quote

import numpy as np

from edgekit.core import suggest
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.ir import Graph, OneSidedBranch, OpenBatch, Source, State
from edgekit.core.types import Array, DType, Type, Value

Dims = Sequence[int | None]  # None: dynamic
NamedDims = Sequence[int | str | None]  # the file may have a name for it

# Of the inputs whose open batch is taken as 1 while a file is read, the options that bind it.
_assumed = ContextVar[dict[str, str]]("assumed")
_OTHER_CAUSES = ("E0103", "E0201", "E0302")  # errors that have nothing to do with a batch


@contextmanager
def told_batches() -> Iterator[None]:
    """Errors within say which batches were taken as 1: what does not fit may fit another one."""
    token = _assumed.set({})
    try:
        yield
    except EdgeKitError as error:
        options, names = dict.fromkeys(_assumed.get().values()), ", ".join(_assumed.get())
        if options and error.code not in _OTHER_CAUSES:
            taken = f"the batch of {names:.60} is open in the file, and was taken as 1"
            told = f"{taken}: {' '.join(options)} binds it"
            error.hint = f"{told}; {error.hint}" if error.hint else told
        raise
    finally:
        _assumed.reset(token)


@dataclass
class Bindings:
    """What a user binds of the inputs of a model: whole shapes, and dimensions by the names in the file. What
    is left open is collected, so that one error tells all of it."""

    shapes: Mapping[str, Sequence[int]]
    dims: Mapping[str, int]
    max_iterations: int | None = None  # of loops that say nothing about it themselves
    _open: list[EdgeKitError] = field(default_factory=list)
    _names: dict[str, None] = field(default_factory=dict)  # of dimensions
    _bound_shapes: list[str] = field(default_factory=list)  # options, each with the open sizes of an input
    _batch: dict[str, int] = field(default_factory=dict)  # what the file calls it; 1, unless it is bound
    _open_batches: list[OpenBatch] = field(default_factory=list)
    one_sided: list[OneSidedBranch] = field(default_factory=list)

    def type(self, name: str, dtype: DType, dims: NamedDims | None) -> Type:
        """The type of an input whose shape is `dims` in the file, None where it does not say. A batch, the
        first dimension, that is not bound is 1. `check` must follow when all inputs are known."""
        # Paddle's exporter calls all open dimensions of an input by this name.
        dims = None if dims is None else [None if d == "?" else d for d in dims]
        self._names |= dict.fromkeys(d for d in dims or () if isinstance(d, str))
        text = "..." if dims is None else ",".join("?" if d is None else str(d) for d in dims)
        if name in self.shapes:
            return self._bound(name, dtype, dims, text)
        if dims and isinstance(dims[0], str):
            self._batch.setdefault(dims[0], 1)
        sizes = {**self._batch, **self.dims}
        known = None if dims is None else [sizes.get(d) if isinstance(d, str) else d for d in dims]
        if known and known[0] is None:
            self._assume(OpenBatch(name), _shape_option(name, known))
            known[0] = 1  # the batch
        elif dims and isinstance(dims[0], str) and dims[0] not in self.dims:
            self._assume(OpenBatch(name, dims[0]), f"--dim {quote(f'{dims[0]}=N')}")
        if known is None or None in known:
            self._open.append(_open_shape(name, dims, known, text))
        shape = tuple(1 if d is None else d for d in known or ())
        if absurd(shape):
            raise EdgeKitError("E0402", f"shape {list(shape)[:8]} is absurd", f"input {name}")
        return Type(dtype, shape)

    def _assume(self, batch: OpenBatch, option: str) -> None:
        """A batch is 1, as nothing binds it."""
        self._open_batches.append(batch)
        _assumed.get({})[batch.input] = option

    def size(self, name: str, default: int) -> int:
        """A dimension that no input has, such as the length of a cache."""
        self._names[name] = None
        return self.dims.get(name, default)

    @property
    def is_complete(self) -> bool:
        """Is the shape of every input so far known?"""
        return not self._open

    def noted(self, source: Source) -> Source:
        """The source of the graph, with the batches that are 1 because nothing binds them, and the branches
        that are always taken."""
        return replace(source, open_batches=tuple(self._open_batches), one_sided=tuple(self.one_sided))

    def _bound(self, name: str, dtype: DType, dims: NamedDims | None, text: str) -> Type:
        bound = self.shapes[name]
        known = [self.dims.get(d) if isinstance(d, str) else d for d in dims or ()]
        fits = dims is None or (len(bound) == len(known) and all(map(_fits, known, bound)))
        if not fits or absurd(bound):
            message = f"shape {list(bound)[:8]} does not fit input {name}, which is [{text}]"
            raise EdgeKitError("E0103", message, hint=_other_order(name, known, bound))
        if dims is None or None in known:
            self._bound_shapes.append(_shape_option(name, None if dims is None else known))
        return Type(dtype, tuple(int(b) for b in bound))

    def options(self) -> list[str]:
        """What would bind other sizes than are bound now."""
        return [*self._bound_shapes, *(f"--dim {quote(f'{name}=N')}" for name in self.dims)]

    def check(self, inputs: Collection[str]) -> None:
        """Refuse what is still open, all of it at once, and bindings of what does not exist."""
        for name in self.shapes:
            if name not in inputs:
                hint = suggest.hint(name, list(inputs), "inputs")
                raise EdgeKitError(
                    "E0103", f"the model has no input named {name}, which --shape names", hint=hint
                )
        for name in self.dims:
            if name not in self._names:
                hint = suggest.hint(name, list(self._names), "dimensions")
                hint = hint if self._names else "the file names no dimension: --shape binds an input"
                raise EdgeKitError(
                    "E0103", f"the model has no dimension named {name}, which --dim names", hint=hint
                )
        raise_all(self._open)


def _open_shape(
    name: str, dims: NamedDims | None, known: Sequence[int | None] | None, text: str
) -> EdgeKitError:
    """The error for an input with open dimensions, with a hint that binds them."""
    still = [d for d, n in zip(dims or (), known or (), strict=True) if n is None]
    if still and all(isinstance(d, str) for d in still):
        options = " ".join(f"--dim {quote(f'{d}=N')}" for d in dict.fromkeys(still))
    else:
        options = _shape_option(name, known)
    return EdgeKitError(
        "E0302", f"input {name} has a dynamic shape [{text}]", hint=f"bind it: {options}", inputs=(name,)
    )


def _shape_option(name: str, known: Dims | None) -> str:
    """The option that binds the open dimensions of an input."""
    sizes = "..." if known is None else ",".join("N" if n is None else str(n) for n in known)
    return f"--shape {quote(f'{name}={sizes}')}"


def _other_order(name: str, known: Dims, bound: Sequence[int]) -> str:
    """The shape that may be meant where one does not fit: channels are elsewhere, or a dimension of 1 is
    missing."""
    sizes = list(bound)
    orders = {
        "channels come second": [*sizes[:1], *sizes[-1:], *sizes[1:-1]],
        "channels come last": [*sizes[:1], *sizes[2:], *sizes[1:2]],
    }
    for i in range(len(known)):
        orders.setdefault(f"dimension {i + 1} is missing", [*sizes[:i], 1, *sizes[i:]])
    for what, order in orders.items():
        if len(order) == len(known) and all(map(_fits, known, order)):
            text = f"{name}={','.join(map(str, order))}"
            return f"{what}: --shape {quote(text)}"
    return ""


def _fits(known: int | None, bound: int) -> bool:
    return known is None or known == bound


def fixed_input(name: str, value: float | Array, type: Type) -> Array:
    """What an input is fixed to: an array as it is, a number in every element of the input."""
    if isinstance(value, np.ndarray):
        return value
    made = np.full(type.shape, value).astype(type.dtype.numpy)
    if made.size and float(made.flat[0]) != value and not type.dtype.is_float:
        raise EdgeKitError("E0103", f"--const {name}={value:g} does not fit input {name}, {type}")
    return made


def fix_inputs(graph: Graph, constants: Mapping[str, float | Array]) -> Graph:
    """The graph with these inputs as constants."""
    values = dict(graph.values)
    for name, value in constants.items():
        if name not in graph.inputs:
            hint = suggest.hint(name, list(graph.inputs), "inputs")
            raise EdgeKitError(
                "E0103", f"the model has no input named {name}, which --const names", hint=hint
            )
        type = graph.type(name)
        data = fixed_input(name, value, type)
        if data.shape != type.shape or data.dtype != type.dtype.numpy:
            message = f"--const {name} is {data.dtype}{list(data.shape)}, the input {type}"
            raise EdgeKitError("E0103", message)
        values[name] = Value(type, data)
    return replace(graph, inputs=tuple(n for n in graph.inputs if n not in constants), values=values)


def keep_states(graph: Graph, pairs: Mapping[str, str]) -> Graph:
    """The graph that keeps inputs itself: each is what an output of the last run was, zero in the first."""
    for name, output in pairs.items():
        _known(name, graph.inputs, "input")
        _known(output, graph.outputs, "output")
        if list(pairs.values()).count(output) > 1:
            raise EdgeKitError("E0103", f"--state takes output {output} for several inputs")
        old, new = graph.type(name), graph.type(output)
        if (old.dtype, old.shape) != (new.dtype, new.shape):
            raise EdgeKitError(
                "E0103",
                f"--state {name}={output}: the input is {old}, the output {new}; a state keeps its type",
                hint="a cache that grows by a row in each run has to be exported with a fixed length",
            )
    states = (
        State(name, out, Value(graph.type(name), _zeros(graph.type(name)))) for name, out in pairs.items()
    )
    return replace(
        graph,
        inputs=tuple(name for name in graph.inputs if name not in pairs),
        outputs=tuple(name for name in graph.outputs if name not in pairs.values()),
        states=(*graph.states, *states),
    )


def _known(name: str, names: Sequence[str], what: str) -> None:
    if name not in names:
        hint = suggest.hint(name, list(names), f"{what}s")
        raise EdgeKitError("E0103", f"the model has no {what} named {name}, which --state names", hint=hint)


def _zeros(type: Type) -> Array:
    """What stands for 0 in a quantized type is its zero point."""
    zero = type.quant.zero[0] if type.quant is not None else 0
    return np.full(type.shape, zero, type.dtype.numpy)
