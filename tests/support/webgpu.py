"""WGSL in tests: wgpu on whatever Vulkan or OpenGL finds, a software driver mostly."""

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from support.tools import missing, require_module

from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.use import GpuCall
from edgekit.codegen.gpu.wgsl import module
from edgekit.core.types import Array

_STORAGE, _SOURCE, _TARGET = 0x80, 0x4, 0x8


class WebGPU:
    """A device, and the modules that it has compiled."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.modules: dict[str, Any] = {}
        self.pipelines: dict[tuple[Any, ...], Any] = {}

    def compute(self, uses: Sequence[GpuCall], buffers: Sequence[Sequence[Array]]) -> None:
        """Each use on its buffers, which hold what was written afterwards."""
        for use, given in zip(uses, buffers, strict=True):
            self._run(use, given)

    def _module(self, kernel: GpuKernel) -> Any:
        if kernel.name not in self.modules:
            self.modules[kernel.name] = self.device.create_shader_module(code=module(kernel))
        return self.modules[kernel.name]

    def _pipeline(self, use: GpuCall) -> Any:
        """Of a kernel with these constants, made once."""
        key = (use.kernel.name, *sorted(use.values.items()))
        if key not in self.pipelines:
            constants = {name: float(value) for name, value in use.values.items()}
            stage = {"module": self._module(use.kernel), "entry_point": "main", "constants": constants}
            self.pipelines[key] = self.device.create_compute_pipeline(layout="auto", compute=stage)
        return self.pipelines[key]

    def _run(self, use: GpuCall, given: Sequence[Array]) -> None:
        device, usage = self.device, _STORAGE | _SOURCE | _TARGET
        held = [device.create_buffer_with_data(data=array, usage=usage) for array in given]
        pipeline = self._pipeline(use)
        entries = [
            {"binding": i, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
            for i, buffer in enumerate(held)
        ]
        group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        encoder = device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(pipeline)
        work.set_bind_group(0, group)
        work.dispatch_workgroups(use.groups)
        work.end()
        device.queue.submit([encoder.finish()])
        for buffer, kept, array in zip(use.kernel.buffers, held, given, strict=True):
            if buffer.writes:
                array[:] = np.frombuffer(device.queue.read_buffer(kept), np.uint8)


@cache
def webgpu() -> WebGPU:
    """The device of the tests; they are skipped where there is none."""
    os.environ.setdefault("GALLIVM_PERF", "nopt")  # software compiles longer than it computes here
    wgpu = require_module("wgpu")
    adapters = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] == "Vulkan"]
    if not adapters:
        missing("a Vulkan device", "Debian: mesa-vulkan-drivers")
    return WebGPU(adapters[0].request_device_sync())
