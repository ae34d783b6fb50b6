"""A library with entries, compiled for this machine and called."""

import ctypes
import re
from pathlib import Path

import numpy as np
from support.generated import C99, STRICT, compiled

from edgekit.core.types import Array


class Library:
    """A library that is compiled for this machine and loaded."""

    def __init__(self, folder: Path) -> None:
        units = [p.name for p in sorted(folder.glob("*.c")) if "selftest" not in p.name]
        compiled(folder, "cc", *C99, *STRICT, "-O1", "-shared", "-fPIC", "-I.", "-o", "net.so", *units, "-lm")
        self.code = ctypes.CDLL(str(folder / "net.so"))
        headers = "".join(p.read_text() for p in folder.glob("*.h"))
        self.sizes = {name: int(size) for name, size in re.findall(r"#define (\w+_SIZE) (\d+)", headers)}
        self.arena = np.zeros(self.sizes["NET_ARENA_SIZE"] // 8 + 1, np.uint64)
        self.state = np.zeros(self.sizes.get("NET_STATE_SIZE", 0) // 8 + 1, np.uint64)

    def call(self, name: str, *arrays: Array) -> None:
        getattr(self.code, name)(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))

    def step(self, entry: str, tokens: Array, position: int) -> Array:
        logits = np.zeros(self.sizes["NET_LOGITS_SIZE"], np.float32)
        at = np.array([position], np.int32)
        self.call(entry, tokens.astype(np.int32), at, logits, self.state, self.arena)
        return logits
