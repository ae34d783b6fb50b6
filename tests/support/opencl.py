"""The OpenCL device of the tests, and what kernels there are given."""

import ctypes
import os
from collections.abc import Mapping
from functools import cache

import numpy as np
from support.oclgrind import Oclgrind, oclgrind
from support.opencl_device import OpenCL
from support.tools import missing

from edgekit.codegen.gpu.use import CONSTANTS, GpuCall
from edgekit.core.types import Array


@cache
def opencl() -> OpenCL:
    """The first device that there is; tests are skipped where there is none."""
    hint = "Debian: ocl-icd-libopencl1 pocl-opencl-icd"
    # PoCL takes longer to compile a network than to run it. Drivers of GPUs do not read this.
    os.environ.setdefault("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    try:
        library = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        missing("libOpenCL.so.1", hint)
    try:
        return OpenCL(library)
    except AssertionError:
        missing("an OpenCL device", hint)


def kernel_device() -> OpenCL | Oclgrind:
    """Where single kernels run: in oclgrind, which sees each access. `EDGEKIT_TEST_GPU=1` takes the first
    device of OpenCL instead, to test the driver of a GPU."""
    return opencl() if os.environ.get("EDGEKIT_TEST_GPU") else oclgrind()


def words(array: Array) -> Array:
    """The bytes of a tensor as a buffer holds them: whole words, and at least one."""
    raw = np.ascontiguousarray(array).tobytes()
    return np.frombuffer(raw + b"\xa5" * (-len(raw) % 4 if raw else 4), np.uint8).copy()


def arguments(use: GpuCall, operands: Mapping[int, Array]) -> list[Array]:
    """The buffers of a use, in the order of its kernel."""
    data = np.frombuffer(use.data or b"\0" * 16, np.uint8).copy()
    return [data if i == CONSTANTS else words(operands[i]) for i in use.operands]
