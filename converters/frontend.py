"""What readers share: handlers found by name, called with the arguments that a file gives, blamed by node."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from edgekit.converters.blame import blame
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError, raise_all

# What a file calls by the name of an operator: operands by position, attributes by keyword.
Handler = Callable[..., Any]
_PLAIN = ("bool", "int", "float", "str")  # as handlers annotate what no tensor is


@contextmanager
def reading(what: str = "") -> Iterator[None]:
    """Around the whole of a conversion: no traceback, and no warning about constants that overflow."""
    with blame(what), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def handlers(package: ModuleType) -> Mapping[str, Handler]:
    """Operator -> handler: every function that a module of the package defines, helpers with _ left out, and
    what it shares. A name that Python keeps for itself ends in _."""
    found: dict[str, Handler] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for key, value in functions(module).items():
            if key[0] != "_":
                key = key.removesuffix("_")
                assert key not in found, f"two handlers for {key}"
                found[key] = value
    return found


def functions(module: ModuleType) -> dict[str, Handler]:
    """The functions of a module of handlers. Where its package names a folder of semantics as SHARED, those
    of the module of the same name there are handlers, too: they mean the same in this format. What the
    module itself defines, with attributes and defaults of the format, comes before them."""
    package, _, name = module.__name__.rpartition(".")
    shared = f"{getattr(importlib.import_module(package), 'SHARED', package)}.{name}"
    sources = [importlib.import_module(shared)] if find_spec(shared) else []
    names = {shared, module.__name__}
    found = {key: value for source in (*sources, module) for key, value in vars(source).items()}
    return {k: v for k, v in found.items() if inspect.isfunction(v) and v.__module__ in names}


def check_supported(
    operators: Iterable[tuple[str, str]], known: Mapping[str, object], hint: str = ""
) -> None:
    """Refuse all operators without a handler at once; they come as (operator, name of the node)."""
    hint = hint or "docs/frontends.md says what is read; simplify or replace the layer before export"
    raise_all(
        [
            EdgeKitError("E0201", f"unsupported op {kind}", f"node {name}", hint)
            for kind, name in operators
            if kind not in known
        ]
    )


def call(
    handler: Handler, kind: str, name: str, operands: Sequence[Any], attributes: Mapping[str, Any]
) -> Any:
    """What a handler makes of a node. Faults are those of the node: also an operand or attribute that the
    handler has no parameter for."""
    with blame(f"node {name}"):
        unknown = [key for key in attributes if not _takes(handler, key)]
        if unknown:
            raise EdgeKitError("E0203", f"{kind}: attribute {unknown[0]} is not supported")
        if fault := unbound(handler, len(operands), attributes):
            raise EdgeKitError("E0401", f"{kind}: {fault}")
        for p, operand in zip(_by_position(handler), operands, strict=False):
            if p.annotation in _PLAIN and isinstance(operand, Tensor):
                raise EdgeKitError("E0401", f"{kind}: {p.name} is a tensor, it should be {p.annotation}")
        return handler(*operands, **attributes)


def unbound(handler: Handler, operands: int, attributes: Collection[str]) -> str:
    """Why so many operands and these attributes are none for a handler that knows all of the attributes; ""
    where they are."""
    parameters, takes = _signature(handler).parameters.values(), _by_position(handler)
    given = {*attributes, *(p.name for p in takes[:operands])}
    if operands > len(takes) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return f"takes {len(takes)} operands at most, there are {operands}"
    if twice := [p.name for p in takes[:operands] if p.name in attributes]:
        return f"{twice[0]} is there twice, as an operand and as an attribute"
    for p in parameters:
        if p.default is p.empty and p.name not in given and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            return f"{'attribute' if p.kind is p.KEYWORD_ONLY else 'operand'} {p.name} is missing"
    return ""


def tensors(made: Any) -> tuple[Tensor, ...]:
    """The results of a handler, one or several."""
    return tuple(made) if isinstance(made, tuple | list) else (made,)


@cache
def _signature(handler: Handler) -> inspect.Signature:
    return inspect.signature(handler)


def _by_position(handler: Handler) -> list[inspect.Parameter]:
    parameters = _signature(handler).parameters.values()
    return [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _takes(handler: Handler, keyword: str) -> bool:
    parameters = _signature(handler).parameters
    return keyword in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
