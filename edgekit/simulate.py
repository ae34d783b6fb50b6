"""Deprecated: use edgekit.core.simulate, which this module was before it moved there."""

import warnings

from edgekit.core import simulate


def __getattr__(name: str) -> object:
    value: object = getattr(simulate, name)
    warnings.warn(f"use edgekit.core.simulate.{name}", DeprecationWarning, stacklevel=2)
    return value
