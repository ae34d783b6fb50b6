"""Which names of a graph share memory: what changes one of them in place changes the others.

Exports before functionalization may hold relu_, add_ or copy_, also into a slice of another tensor. Tensors
of our graphs never change. So names are bound to new ones: that of the operand, those of the tensors that it
is a part of, and those of all other views of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgekit.converters.frontend import Handler
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

# Operators whose result may share memory with their operand.
_SAME_ORDER = {"view", "unsafe_view", "view_as", "unsqueeze", "squeeze", "unflatten", "alias", "detach"}
_OWN_INVERSE = {"transpose", "swapaxes", "swapdims", "t", "mT", "numpy_T"}
_PARTS = {"slice": "slice_scatter", "select": "select_scatter"}
VIEWS = {
    *_SAME_ORDER,
    *_OWN_INVERSE,
    *_PARTS,
    *(
        "alpha_dropout",
        "as_strided",
        "broadcast_to",
        "chunk",
        "contiguous",
        "diagonal",
        "dropout",
        "expand",
        "expand_as",
    ),
    *("feature_dropout", "flatten", "lift_fresh", "movedim", "narrow", "permute", "reshape", "reshape_as"),
    *("split", "split_with_sizes", "to", "type_as", "unbind", "unfold"),
}
_MAX_WORK = 1 << 20  # views that are looked at, all changes together
_DECOMPOSE = "export with ep.run_decompositions(): it leaves nothing that is changed in place"


def changes_operand(target: str) -> bool:
    """Does the operator write its result over its first operand?"""
    parts = target.removeprefix("torch.ops.").split(".")
    return len(parts) > 1 and parts[1].endswith("_") and not parts[1].endswith("__")


@dataclass(frozen=True)
class View:
    """How a tensor was made of another, and how that one is made anew from what the view has become."""

    base: str
    make: Callable[[Tensor], Tensor]
    write: Callable[[Tensor, Tensor], Tensor] | None  # (base, view) -> base; None: not known


def write_back(
    kind: str, arguments: Mapping[str, Any], handlers: Mapping[str, Handler]
) -> Callable[[Tensor, Tensor], Tensor] | None:
    """How a view of this kind writes through to its base."""
    if kind in _SAME_ORDER:
        return lambda base, view: view.reshape(*base.shape)
    if kind in _OWN_INVERSE:
        return lambda base, view: handlers[kind](view, **arguments)
    if kind == "permute":
        return lambda base, view: _unpermuted(view, [base.axis(d) for d in arguments["dims"]])
    if kind in _PARTS:
        scatter = handlers[_PARTS[kind]]
        return lambda base, view: scatter(base, src=view, **arguments)
    return None


class Scope(dict[str, Any]):
    """What the names of a graph stand for; several names may be one tensor."""

    def __init__(self, names: Mapping[str, Any] | None = None) -> None:
        super().__init__(names or {})
        self.same: dict[str, str] = {}  # name -> the name that stands for the same tensor

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(self.same.get(name, name))


class Aliases:
    """The tensors of one graph that share memory, of which `scope` is kept up to date; `last_use` says by
    which node, counted from 0, a name is read last."""

    def __init__(self, scope: Scope, last_use: Mapping[str, int]) -> None:
        self.scope = scope
        self.last_use = last_use
        self._views: dict[str, View] = {}  # in the order of the graph
        self._work = _MAX_WORK

    def view(self, names: Sequence[str], view: Callable[[int], View]) -> None:
        """The tensors of these names may lie in the memory of another."""
        for i, name in enumerate(names):
            made = view(i)
            self._views[name] = View(self._find(made.base), made.make, made.write)

    def change(self, node: int, operand: str, result: str) -> None:
        """A node has changed its operand, which is its result from now on."""
        changed = self._find(operand)
        self.scope[changed] = self.scope[result]
        self.scope.same[result] = top = changed
        while top in self._views:
            view = self._views[top]
            if view.write is None:
                self._refuse_later_use(node, changed, top)
                return
            self.scope[view.base] = view.write(self.scope[view.base], self.scope[top])
            top = view.base
        self._work -= len(self._views)
        if self._work < 0:
            raise EdgeKitError("E0402", "tensors and their views are changed over and over", hint=_DECOMPOSE)
        fresh = {top}
        for name, view in self._views.items():
            if view.base in fresh:
                fresh.add(name)
                self.scope[name] = view.make(self.scope[view.base])

    def _find(self, name: str) -> str:
        return self.scope.same.get(name, name)

    def _refuse_later_use(self, node: int, changed: str, view: str) -> None:
        """Nothing may read a tensor whose content is not known any more."""
        family = {changed}
        size = 0
        while size < len(family):
            size = len(family)
            family |= {n for n, v in self._views.items() if v.base in family}
            family |= {v.base for n, v in self._views.items() if n in family}
        for name, last in self.last_use.items():
            if last > node and self._find(name) in family - {changed}:
                message = f"{changed} is changed in place, and {name}, which is read later, shares its memory"
                raise EdgeKitError("E0205", message, hint=_DECOMPOSE)


def _unpermuted(x: Tensor, order: Sequence[int]) -> Tensor:
    return x.transpose(*(order.index(i) for i in range(len(order))))
