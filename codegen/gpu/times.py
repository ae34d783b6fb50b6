"""How long a plan takes on a device by the model of `device.py`: each dispatch, and a whole run."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.codegen.gpu.device import Bound, GpuDevice, time_of
from edgekit.codegen.gpu.plan import Dispatch, GpuPlan
from edgekit.codegen.gpu.use import GpuCall


@dataclass(frozen=True)
class DispatchTime:
    """A kernel in the order of execution."""

    origin: str
    operator: str
    kernel: str
    microseconds: float
    bound: Bound


@dataclass(frozen=True)
class RunTime:
    """A run on a device, as the model estimates it, without CPU segments and the copies around them."""

    device: str
    microseconds: float  # with what a dispatch and a run take beside kernels
    kernel_microseconds: float
    dispatches: tuple[DispatchTime, ...]


def run_time(plan: GpuPlan, device: GpuDevice) -> RunTime:
    found = tuple(_time(d, device, len(plan.weights) > device.cache) for d in plan.dispatches)
    kernels = sum(d.microseconds for d in found)
    whole = device.run + kernels + len(found) * device.dispatch
    return RunTime(device.description, whole, kernels, found)


def _time(d: Dispatch, device: GpuDevice, is_cold: bool) -> DispatchTime:
    use = GpuCall(d.kernel, (), d.values, d.groups)
    found = time_of(use, d.moved, d.macs, device, is_cold=is_cold)
    return DispatchTime(d.origin, d.operator, d.kernel.name, found.microseconds, found.bound)
