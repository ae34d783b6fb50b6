"""How long a kernel takes on a GPU of targets/gpus: the largest of latency, bytes and products (roofline)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.critical_path import critical_path
from edgekit.codegen.gpu.dialect import used
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core import files as files_of
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.reasons import reason_of

Bound = Literal["latency", "bytes", "products"]
LANGUAGES = ("opencl", "webgpu")
MEASURED = "h200"  # the device that kernels are chosen for
ANY = "any"  # no device of its own
_FOLDER = files("edgekit.targets") / "gpus"
NEARLY = 1.25  # devices that are smaller have less to gain


@dataclass(frozen=True)
class GpuDevice:
    """A device, in microseconds, and in units per microsecond, as kernels of one language meet it."""

    description: str
    launch: float  # of a dispatch without work
    load: float  # that waits for the one before
    shared_load: float  # ... from memory of the work-group
    cold_load: float  # ... of weights that no cache holds from one run to the next
    cache: float  # bytes
    items: float  # under way at a time
    bytes: float
    floats: float  # products
    integers: float
    dispatch: float  # beside the kernel
    run: float  # beside all dispatches


@dataclass(frozen=True)
class Pair:
    """A GPU beside a processor of its class, in microseconds, and in units per microsecond: orders of
    magnitude, which tell a copy that pays from one that does not."""

    cpu_macs: float
    cpu_bytes: float
    gpu_macs: float
    gpu_bytes: float
    copied_bytes: float
    launch: float  # of a kernel
    round_trip: float  # until the device has stopped for the CPU, and goes on


@dataclass(frozen=True)
class KernelTime:
    """Of a kernel, and what bounds it."""

    microseconds: float
    bound: Bound


def latency(
    kernel: GpuKernel, values: Mapping[str, float], groups: int, device: GpuDevice, *, is_cold: bool = False
) -> float:
    """Microseconds of the longest chain of loads, as often as items follow one another."""
    chain = critical_path(kernel, values)
    waits = chain.loads * (device.cold_load if is_cold else device.load) + chain.shared * device.shared_load
    return device.launch + waits * max(1.0, groups * kernel.group / device.items)


def time_of(use: GpuCall, moved: int, macs: int, device: GpuDevice, *, is_cold: bool = False) -> KernelTime:
    """Of a kernel that moves so many bytes; `is_cold`: its weights are in no cache."""
    products = device.floats if multiplies_floats(use.kernel) else device.integers
    times: dict[Bound, float] = {
        "latency": latency(use.kernel, use.values, use.groups, device, is_cold=is_cold),
        "bytes": moved / device.bytes,
        "products": macs / products,
    }
    bound = max(times, key=times.__getitem__)
    return KernelTime(times[bound], bound)


def shortest(candidates: Sequence[GpuCall]) -> GpuCall:
    """Of kernels for one call, which move and multiply the same: the one with the shortest latency on the
    device that was measured, or the first that is nearly as short."""
    device = load(MEASURED, "opencl")
    times = [latency(use.kernel, use.values, use.groups, device) for use in candidates]
    return next(use for use, time in zip(candidates, times, strict=True) if time <= NEARLY * min(times))


@cache
def multiplies_floats(kernel: GpuKernel) -> bool:
    """How they are stored does not matter."""
    return any(op == "*" and kind.scalar == "f32" for op, kind in used(kernel))


@cache
def names() -> tuple[str, ...]:
    """The devices that come with EdgeKit."""
    found = (f.name.removesuffix(".toml") for f in _FOLDER.iterdir() if f.name.endswith(".toml"))
    return tuple(sorted({*found} - {ANY}))


@cache
def pair() -> Pair:
    """What decides where layers run: a library is not built for one device."""
    return Pair(**files_of.toml((_FOLDER / f"{ANY}.toml").read_bytes()))


def load(name: str, language: str) -> GpuDevice:
    """A device of EdgeKit by its name, or a TOML file, for kernels of a language."""
    path = Path(name)
    if path.suffix != ".toml":
        return _of_edgekit(name, language)
    if not path.is_file():
        raise EdgeKitError("E0106", f"no file {name} of a GPU")
    return _parsed(path.stem, files_of.read(path, files_of.MAX_SETTINGS), language)


@cache
def _of_edgekit(name: str, language: str) -> GpuDevice:
    if name not in names():
        hint = suggest.hint(name, names()) + "; or a .toml file with the numbers of yours"
        raise EdgeKitError("E0106", f"unknown GPU {name}", hint=hint)
    return _parsed(name, (_FOLDER / f"{name}.toml").read_bytes(), language)


def _parsed(name: str, text: bytes, language: str) -> GpuDevice:
    try:
        table = files_of.toml(text)
    except ValueError as error:
        raise EdgeKitError("E0106", f"GPU {name}: {reason_of(error)}") from None
    own = table.pop(language, None)
    if not isinstance(own, dict):
        raise EdgeKitError("E0106", f"GPU {name} has no numbers for {language}", hint=f"a table [{language}]")
    values: dict[str, Any] = {k: v for k, v in table.items() if k not in LANGUAGES} | own
    known = {f.name for f in fields(GpuDevice)}
    if odd := sorted(values.keys() ^ known):
        what = "lacks" if odd[0] in known else "has an unknown key"
        raise EdgeKitError("E0106", f"GPU {name} {what} {odd[0]}", hint=f"known: {', '.join(sorted(known))}")
    for key, value in values.items():
        if key == "description":
            is_right = isinstance(value, str)
        else:
            is_rate = key in ("items", "bytes", "floats", "integers")
            is_right = type(value) in (int, float) and 0 <= value < 1e30 and not (is_rate and value == 0)
        if not is_right:
            raise EdgeKitError(
                "E0106", f"GPU {name}: {key} is {value!r}", hint="numbers that are not negative"
            )
    return GpuDevice(**values)
