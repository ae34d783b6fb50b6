"""Old names that go on working for users, with a warning that says the new one."""

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def former_names(names: Sequence[str]) -> list[str]:
    """The names that an option had, of all that it is declared with: a letter may stand behind the long name
    of today, and what comes after these two is old."""
    longs = [i for i, name in enumerate(names) if name.startswith("--")]
    return list(names[longs[1] :]) if len(longs) > 1 else []


def renamed_keyword(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that takes the keyword `old`, too, for what is called `new` now."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs:
                warnings.warn(f"{old}= is called {new}= now", DeprecationWarning, stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return wrapper

    return decorate
