"""OpenCL without a package: the few functions of the library that run a kernel."""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_uint64, c_void_p

import numpy as np

from edgekit.codegen.gpu.opencl import Entry, program
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.types import Array

_NUMBERS = {"i32": np.int32, "u32": np.uint32, "f32": np.float32}
_ALL, _LOG, _READ_WRITE, _COPY = 0xFFFFFFFF, 0x1183, 1, 1 << 5


class OpenCL:
    """A context and a queue on the first device that there is."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        library.clGetDeviceIDs.argtypes = [c_void_p, c_uint64, ctypes.c_uint32, POINTER(c_void_p), c_void_p]
        platform, self.device = c_void_p(), c_void_p()
        self._check(library.clGetPlatformIDs(1, byref(platform), None))
        self._check(library.clGetDeviceIDs(platform, c_uint64(_ALL), 1, byref(self.device), None))
        for name in ("Context", "CommandQueue", "ProgramWithSource", "Kernel", "Buffer"):
            getattr(library, f"clCreate{name}").restype = c_void_p
        error = c_int32()
        self.context = c_void_p(
            library.clCreateContext(None, 1, byref(self.device), None, None, byref(error))
        )
        self._check(error.value)
        self.queue = c_void_p(
            library.clCreateCommandQueue(self.context, self.device, c_uint64(0), byref(error))
        )
        self._check(error.value)
        self.programs: dict[str, c_void_p] = {}

    def build(self, text: str) -> c_void_p:
        """A program; the compiler's words where it is not accepted."""
        lib, source, error = self.library, c_char_p(text.encode()), c_int32()
        made = c_void_p(lib.clCreateProgramWithSource(self.context, 1, byref(source), None, byref(error)))
        self._check(error.value)
        options = c_char_p(b"-cl-std=CL1.2 -Werror")
        if lib.clBuildProgram(made, 1, byref(self.device), options, None, None):
            log = ctypes.create_string_buffer(1 << 16)
            lib.clGetProgramBuildInfo(made, self.device, _LOG, c_size_t(len(log)), log, None)
            raise AssertionError(log.value.decode())
        return made

    def run(self, built: c_void_p, entry: str, use: GpuCall, buffers: Sequence[Array]) -> None:
        """Run an entry; the buffers hold what it wrote afterwards."""
        lib, error, group = self.library, c_int32(), use.kernel.group
        kernel = c_void_p(lib.clCreateKernel(built, c_char_p(entry.encode()), byref(error)))
        self._check(error.value)
        memory = []
        for i, array in enumerate(buffers):
            pointer = array.ctypes.data_as(c_void_p)
            flags = c_uint64(_READ_WRITE | _COPY)
            held = c_void_p(
                lib.clCreateBuffer(self.context, flags, c_size_t(array.nbytes), pointer, byref(error))
            )
            self._check(error.value)
            memory.append(held)
            self._check(lib.clSetKernelArg(kernel, 2 * i, c_size_t(8), byref(held)))
            self._check(lib.clSetKernelArg(kernel, 2 * i + 1, c_size_t(4), byref(c_int32(0))))
        for i, constant in enumerate(use.kernel.constants, 2 * len(buffers)):
            number = np.array([use.values[constant.text]]).astype(_NUMBERS[constant.kind.scalar])
            self._check(lib.clSetKernelArg(kernel, i, c_size_t(4), number.ctypes.data_as(c_void_p)))
        size, local = c_size_t(use.groups * group), c_size_t(group)
        self._check(
            lib.clEnqueueNDRangeKernel(self.queue, kernel, 1, None, byref(size), byref(local), 0, None, None)
        )
        for held, array in zip(memory, buffers, strict=True):
            pointer = array.ctypes.data_as(c_void_p)
            self._check(
                lib.clEnqueueReadBuffer(
                    self.queue, held, 1, c_size_t(0), c_size_t(array.nbytes), pointer, 0, None, None
                )
            )
            lib.clReleaseMemObject(held)
        lib.clReleaseKernel(kernel)

    def compute(self, uses: Sequence[GpuCall], buffers: Sequence[Sequence[Array]]) -> None:
        """Each use on its buffers; kernels are compiled once."""
        for kernel in {use.kernel.name: use.kernel for use in uses}.values():
            if kernel.name not in self.programs:
                self.programs[kernel.name] = self.build(program([Entry(f"run_{kernel.name}", kernel)]))
        for use, given in zip(uses, buffers, strict=True):
            self.run(self.programs[use.kernel.name], f"run_{use.kernel.name}", use, given)

    @staticmethod
    def _check(error: int) -> None:
        assert error == 0, f"OpenCL error {error}"
