"""Static types of graph inputs: what the file says, and what --shape binds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from edgekit import suggest
from edgekit.builder import absurd
from edgekit.errors import EdgeKitError
from edgekit.ir import DType, Type

Dims = Sequence[int | None]  # None: dynamic


def input_type(name: str, dtype: DType, dims: Dims | None, bound: Sequence[int] | None = None) -> Type:
    """The type of an input whose shape is `dims` in the file, None where it does not say; `bound` are the
    dimensions that the user gave. A batch, the first dimension, that nobody binds is 1."""
    text = "..." if dims is None else ",".join("?" if d is None else str(d) for d in dims)
    if bound is not None:
        fits = dims is None or (len(bound) == len(dims) and all(map(_fits, dims, bound)))
        if not fits or absurd(bound):
            message = f"shape {list(bound)[:8]} does not fit input {name}, which is [{text}]"
            raise EdgeKitError("E0103", message)
        return Type(dtype, tuple(int(b) for b in bound))
    known = None if dims is None else list(dims)
    if known and known[0] is None:
        known[0] = 1  # the batch
    if known is None or None in known:
        raise EdgeKitError(
            "E0302",
            f"input {name} has a dynamic shape [{text}]",
            hint=f"bind it: --shape {name}={text.replace('?', 'N')}",
            inputs=(name,),
        )
    shape = tuple(d for d in known if d is not None)
    if absurd(shape):
        raise EdgeKitError("E0402", f"shape {list(shape)[:8]} is absurd", f"input {name}")
    return Type(dtype, shape)


def check_bound(shapes: Mapping[str, object], inputs: Collection[str]) -> None:
    """Refuse a --shape for what is no input."""
    for name in shapes:
        if name not in inputs:
            hint = suggest.hint(name, list(inputs), "inputs")
            raise EdgeKitError("E0103", f"--shape names {name}, which is no input", hint=hint)


def _fits(known: int | None, bound: int) -> bool:
    return known is None or known == bound
