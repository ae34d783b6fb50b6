"""A library for OpenCL, compiled for this machine and called, on a device or without one."""

import ctypes
import re
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int, c_void_p
from pathlib import Path

import numpy as np
from support.generated import C99, STRICT, compiled

from edgekit.core.types import Array

OK = 0


class Config(ctypes.Structure):
    """struct ek_gpu_config"""

    _fields_ = (
        *((name, c_void_p) for name in ("context", "device", "queue")),
        ("library", c_char_p),
        *((name, c_int) for name in ("allow_cpu_device", "no_fallback", "self_test")),
        ("cache_folder", c_char_p),
        *((name, c_void_p) for name in ("load", "store", "user")),
    )


class GpuLibrary:
    """The library of a model in `folder`, built for size, on whatever device there is, or on none."""

    def __init__(self, folder: Path, name: str, *, on_device: bool = True) -> None:
        files = (p.relative_to(folder) for p in sorted(folder.rglob("*.c")))
        units = [str(file) for file in files if "selftest" not in file.name]
        if not (folder / "net.so").exists():
            flags = (*C99, *STRICT, "-O1", "-shared", "-fPIC", "-I.", "-o", "net.so")
            compiled(folder, "gcc", *flags, *units, "-lm", "-ldl")
        self.name, self.code = name, ctypes.CDLL(str(folder / "net.so"))
        headers = "".join(p.read_text() for p in folder.glob(f"{name}*.h"))
        self.sizes = {macro: int(size) for macro, size in re.findall(r"#define (\w+_SIZE) (\d+)", headers)}
        for function in ("create", "state_create"):
            getattr(self.code, f"{name}_gpu_{function}").restype = c_void_p
        config = Config(allow_cpu_device=1, self_test=1, library=None if on_device else b"/none.so")
        status = c_int(-1)
        self.gpu = c_void_p(getattr(self.code, f"{name}_gpu_create")(byref(config), byref(status)))
        self.status = status.value
        assert self.gpu, "no model"

    def stream(self) -> c_void_p:
        return c_void_p(getattr(self.code, f"{self.name}_gpu_state_create")(self.gpu))

    def reset(self, stream: c_void_p) -> None:
        assert getattr(self.code, f"{self.name}_gpu_reset")(stream) == OK, "not reset"

    def run(self, entry: str, inputs: Sequence[Array], output: str, *stream: c_void_p) -> Array:
        """The output of float32, which is named as in C; `entry` is "" for the main one."""
        words = [word for word in (self.name, entry) if word]
        made = np.zeros(self.sizes["_".join([*words, output, "size"]).upper()], np.float32)
        pointers = [c_void_p(array.ctypes.data) for array in (*inputs, made)]
        function = getattr(self.code, "_".join([*words, "gpu_run"]))
        assert function(self.gpu, *pointers, *stream) == OK, "not run"
        return made

    def end(self, *streams: c_void_p) -> None:
        for stream in streams:
            getattr(self.code, f"{self.name}_gpu_state_destroy")(stream)
        getattr(self.code, f"{self.name}_gpu_destroy")(self.gpu)
