"""Arguments of public functions and fields of public settings: their annotations are checked at run time.

Type checkers see the same annotations. Without one, a wrong argument is an EdgeKitError that names it, what
it takes and what was given, instead of a failure somewhere inside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from os import PathLike
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

P = ParamSpec("P")
R = TypeVar("R")
_LONGEST = 60  # characters of a value in a message
_WORDS: Mapping[Any, str] = {
    NoneType: "None",
    str: "text",
    PathLike: "a path",
    Any: "anything",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    np.ndarray: "an array",
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function that refuses arguments of other types than its annotations say."""
    takes = signature(function)

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = _hints(function)
        for name, value in takes.bind(*args, **kwargs).arguments.items():
            if takes.parameters[name].kind is not Parameter.VAR_KEYWORD:
                _check(name, value, hints.get(name, Any))  # self has none
        return function(*args, **kwargs)

    return wrapper


def check_fields(settings: Any) -> None:
    """The same for the fields of a dataclass."""
    hints = _hints(settings.__class__)
    for field in fields(settings):
        _check(field.name, getattr(settings, field.name), hints[field.name])


def array(x: Any, name: str = "an argument") -> Array:
    """What a tensor on any device, or something like an array, holds; `name` is what users call it."""
    x = x.detach().cpu() if hasattr(x, "detach") else x  # of torch, which need not be installed
    try:
        found = np.asarray(x)
    except (ValueError, TypeError):  # lists of several lengths, a bfloat16 of torch
        found = np.empty(0, object)
    if not found.dtype.hasobject:
        return found
    message, hint = (
        f"{name} is a {type(x).__name__} that is no array of numbers",
        "numpy.stack makes one of many",
    )
    dtype = getattr(x, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype):
        message, hint = f"{name} is {dtype}, which numpy does not have", "x.float() has the same numbers"
    raise EdgeKitError("E0102", message, hint=hint)


@cache
def _hints(annotated: Hashable) -> Mapping[str, Any]:
    return get_type_hints(annotated)


def _check(name: str, value: object, hint: Any) -> None:
    if _allows(hint, value):
        if isinstance(value, str | PathLike) and PathLike in [get_origin(one) for one in _alternatives(hint)]:
            _check_path(value)
        return
    known = [choice for one in _alternatives(hint) if get_origin(one) is Literal for choice in get_args(one)]
    if known and isinstance(value, str):
        raise EdgeKitError("E0103", f"unknown {name}: {value:.60}", hint=suggest.hint(value, known))
    shown = value if isinstance(value, str | int | float | None) else ""
    given = f"{type(value).__name__} {shown!r}"[:_LONGEST] if shown != "" else f"a {type(value).__name__}"
    takes = " or ".join(dict.fromkeys(_in_words(one) for one in _alternatives(hint)))
    raise EdgeKitError("E0103", f"{name} is {given}", hint=f"it takes {takes}")


def _check_path(path: str | PathLike[str]) -> None:
    """Refuse what names no file, whether one is there or not."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    except OSError as error:
        raise EdgeKitError("E0104", f"{os.fspath(path)!s:.60} is no path: {error.strerror}") from None
    except ValueError:
        raise EdgeKitError("E0104", f"{os.fspath(path)!r:.60} is no path: it has a null character") from None


def _allows(hint: Any, value: object) -> bool:
    """Is a value of the type that an annotation names?"""
    of, inner = get_origin(hint) or hint, get_args(hint)
    if of in (Union, UnionType):
        return any(_allows(one, value) for one in inner)
    if of is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if of is np.ndarray:
        return hasattr(value, "__array__") or isinstance(value, list | tuple)
    if of is Callable or getattr(of, "__name__", "") == "Callable":
        return callable(value)
    if of in (int, float):
        return isinstance(value, Integral if of is int else Real) and not isinstance(value, bool)
    if of is Sequence and isinstance(value, np.ndarray) and value.ndim == 1:
        return all(_allows(inner[0], part) for part in value)
    if of is bool:
        return isinstance(value, bool | np.bool_)
    if of is Any or not isinstance(of, type):  # a matter of type checkers
        return True
    if not isinstance(value, of) or (of in (Sequence, Iterable) and isinstance(value, str | bytes)):
        return False
    return all(_allows(one, part) for one, part in _parts(of, inner, value))


def _parts(of: Any, inner: Sequence[Any], value: Any) -> Iterator[tuple[Any, object]]:
    """What is in a container, with the annotations of it."""
    if of is Mapping:
        for pair in value.items():
            yield from zip(inner, pair, strict=False)
    elif of is Sequence and inner:
        yield from ((inner[0], part) for part in value)


def _alternatives(hint: Any) -> Sequence[Any]:
    if get_origin(hint) in (Union, UnionType):
        return [one for part in get_args(hint) for one in _alternatives(part)]
    return [hint]


def _in_words(hint: Any) -> str:
    of, inner = get_origin(hint) or hint, get_args(hint)
    if of is Literal:
        return ", ".join(map(repr, inner))
    if of is Mapping:
        return f"a dict of {_in_words(inner[-1])}"
    if of in (Sequence, Iterable):
        return f"a sequence of {_in_words(inner[0])}"
    if of in _WORDS:
        return _WORDS[of]
    name = getattr(of, "__name__", str(of))
    return "a function" if name == "Callable" else f"a {name}"
