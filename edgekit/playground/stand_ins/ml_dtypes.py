"""Types of numbers that numpy lacks: names without arithmetic. session.py refuses graphs that have them."""

import numpy as np

finfo, iinfo = np.finfo, np.iinfo


def __getattr__(name: str) -> "np.dtype[np.void]":
    if name.startswith("_"):
        raise AttributeError(name)
    bytes = 2 if name == "bfloat16" else 1
    return np.dtype([(name, f"V{bytes}")])
