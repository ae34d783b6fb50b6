"""Devices as benchmarks.gpu asks them: how long a kernel takes, by OpenCL or by WebGPU on Vulkan."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint64, c_void_p
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from support.opencl_device import OpenCL

from edgekit.codegen.gpu import wgsl
from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.opencl import Entry, program
from edgekit.codegen.gpu.plan import Dispatch, GpuPlan
from edgekit.codegen.gpu.use import GpuCall
from edgekit.codegen.gpu.web import Web, in_two_directions
from edgekit.core.types import Array

_MIN_SECONDS = 0.01  # seconds that are measured at a time
_TIMES = 5  # of which the shortest counts
_STORAGE, _SOURCE, _TARGET, _COMPUTE = 0x80, 0x4, 0x8, 0x4


class Clock(Protocol):
    """Times kernels on a device, whose memory holds zeros."""

    @property
    def name(self) -> str: ...

    def seconds(self, use: GpuCall, sizes: Sequence[int]) -> float:
        """Of one run among many, on buffers of so many bytes."""


Now = Callable[[], float]  # seconds: of the clock on the wall, or of all cores that this process took


def shortest(work: Callable[[int], None], now: Now) -> float:
    """Seconds of one run; `work` is several."""
    runs = 1

    def taken() -> float:
        start = now()
        work(runs)
        return now() - start

    while (last := taken()) < _MIN_SECONDS:
        runs *= max(2, min(64, int(_MIN_SECONDS / max(last, 1e-6))))
    return min(last, *(taken() for _ in range(_TIMES - 1))) / runs


class OpenCLClock:
    """The first device of a library of OpenCL."""

    def __init__(self, library: str, now: Now) -> None:
        self.now = now
        self.device = OpenCL(ctypes.CDLL(library))

    @property
    def name(self) -> str:
        words = ctypes.create_string_buffer(256)
        self.device.library.clGetDeviceInfo(self.device.device, 0x102B, c_size_t(256), words, None)
        return f"OpenCL, {words.value.decode()}"

    def seconds(self, use: GpuCall, sizes: Sequence[int]) -> float:
        device, lib = self.device, self.device.library
        built = device.build(program([Entry("timed", use.kernel, use.values)]))
        kernel = c_void_p(lib.clCreateKernel(built, c_char_p(b"timed"), None))
        held = []
        for i, size in enumerate(sizes):
            zeros = np.zeros(size + -size % 16, np.uint8)
            data = zeros.ctypes.data_as(c_void_p)
            made = lib.clCreateBuffer(
                device.context, c_uint64(1 | 1 << 5), c_size_t(zeros.nbytes), data, None
            )
            held.append(c_void_p(made))
            lib.clSetKernelArg(kernel, 2 * i, c_size_t(8), byref(held[-1]))
            lib.clSetKernelArg(kernel, 2 * i + 1, c_size_t(4), byref(c_int32(0)))
        best = shortest(lambda runs: self._run(kernel, use, runs), self.now)
        for memory in held:
            lib.clReleaseMemObject(memory)
        lib.clReleaseKernel(kernel)
        lib.clReleaseProgram(built)
        return best

    def _run(self, kernel: c_void_p, use: GpuCall, runs: int) -> None:
        lib, queue = self.device.library, self.device.queue
        items, group = c_size_t(use.groups * use.kernel.group), c_size_t(use.kernel.group)
        for _ in range(runs):
            error = lib.clEnqueueNDRangeKernel(
                queue, kernel, 1, None, byref(items), byref(group), 0, None, None
            )
            assert error == 0, f"OpenCL error {error}"
        lib.clFinish(queue)


class VulkanClock:
    """WGSL, by wgpu on the first device of Vulkan."""

    def __init__(self, now: Now) -> None:
        self.now = now
        gpu = import_module("wgpu").gpu
        adapters = [a for a in gpu.enumerate_adapters_sync() if a.info["backend_type"] == "Vulkan"]
        assert adapters, "there is no device of Vulkan"
        self.words = adapters[0].info["device"]
        self.device = adapters[0].request_device_sync()
        self.last = self.device.create_buffer(size=16, usage=_SOURCE)

    @property
    def name(self) -> str:
        return f"WGSL on Vulkan, {self.words}"

    def seconds(self, use: GpuCall, sizes: Sequence[int]) -> float:
        sizes = [size + -size % 16 for size in sizes]
        held = [self.device.create_buffer(size=size, usage=_STORAGE) for size in sizes]
        layout = self.layout(len(held))
        pipeline = self.pipeline(use.kernel, layout, use.values)
        group = self.group(layout, [(buffer, 0, buffer.size) for buffer in held])
        step = (pipeline, group, in_two_directions(use.groups))
        best = shortest(lambda runs: self._run([step] * runs), self.now)
        for buffer in held:
            buffer.destroy()
        return best

    def _run(self, steps: Sequence[tuple[Any, Any, tuple[int, int]]]) -> None:
        encoder = self.device.create_command_encoder()
        self.encode(encoder, steps)
        self.device.queue.submit([encoder.finish()])
        self.device.queue.read_buffer(self.last)  # comes when all that was submitted is done

    def layout(self, buffers: int) -> Any:
        entries = [
            {"binding": i, "visibility": _COMPUTE, "buffer": {"type": "storage"}} for i in range(buffers)
        ]
        return self.device.create_bind_group_layout(entries=entries)

    def pipeline(self, kernel: GpuKernel, layout: Any, constants: Mapping[str, float]) -> Any:
        code = self.device.create_shader_module(code=wgsl.module(kernel))
        values = {name: float(value) for name, value in constants.items()}
        return self.device.create_compute_pipeline(
            layout=self.device.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": code, "entry_point": "main", "constants": values},
        )

    def group(self, layout: Any, pieces: Sequence[tuple[Any, int, int]]) -> Any:
        entries = [
            {"binding": i, "resource": {"buffer": buffer, "offset": offset, "size": size}}
            for i, (buffer, offset, size) in enumerate(pieces)
        ]
        return self.device.create_bind_group(layout=layout, entries=entries)

    @staticmethod
    def encode(encoder: Any, steps: Sequence[tuple[Any, Any, tuple[int, int]]]) -> None:
        work = encoder.begin_compute_pass()
        for pipeline, group, groups in steps:
            work.set_pipeline(pipeline)
            work.set_bind_group(0, group)
            work.dispatch_workgroups(*groups)
        work.end()


class VulkanNetwork:
    """A whole model there, in memory as pages lay it out."""

    def __init__(self, clock: VulkanClock, planned: GpuPlan) -> None:
        assert not planned.segments, "all of it is on the device"
        assert not planned.graph.states, "nothing is kept between runs"
        web, device = Web((planned,)), clock.device
        (self.entry,) = web.entries
        self.clock = clock
        self.memory = device.create_buffer(size=web.memory_bytes, usage=_STORAGE | _SOURCE | _TARGET)
        self.weights = device.create_buffer_with_data(data=web.weights, usage=_STORAGE)
        self.steps = [self._step(d) for d in planned.dispatches]

    def _step(self, d: Dispatch) -> tuple[Any, Any, tuple[int, int]]:
        pieces = self.entry.pieces(d)
        layout = self.clock.layout(len(pieces))
        pipeline = self.clock.pipeline(d.kernel, layout, self.entry.constants(d))
        held = [(self.weights if of_weights else self.memory, at, n) for of_weights, at, n, _ in pieces]
        return pipeline, self.clock.group(layout, held), in_two_directions(d.groups)

    def run(self, x: Array) -> bytes:
        """All outputs, one behind the other; there is one input."""
        queue, entry = self.clock.device.queue, self.entry
        data = x.tobytes()
        queue.write_buffer(self.memory, entry.inputs[0], data + bytes(-len(data) % 4))
        encoder = self.clock.device.create_command_encoder()
        self.clock.encode(encoder, self.steps)
        queue.submit([encoder.finish()])
        return bytes(queue.read_buffer(self.memory, entry.outputs[0], max(entry.read_bytes)))
