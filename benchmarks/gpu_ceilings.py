"""What a device can do at most, by kernels that do nothing else: the numbers of targets/gpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.gpu_clocks import Clock
from edgekit.codegen.gpu import device as devices
from edgekit.codegen.gpu.ast import F32X4, I32, U32, U32X4, GpuKernel, dot4, number, splat
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.device import GpuDevice
from edgekit.codegen.gpu.use import GpuCall

_ROUNDS = 256
_FACTORS = 4  # words of a round, each with each
_SUMS = 8  # of four floats, that do not wait for one another
_WAITS = 12  # loads of an iteration, as a convolution has them


@dataclass(frozen=True)
class Effort:
    """How much a device is given to do."""

    words: int = 1 << 22  # vectors of 16 bytes that are moved
    items: int = 1 << 16  # that multiply


def measured(clock: Clock, language: str, effort: Effort) -> GpuDevice:
    """A device, with the numbers of the H200 for what is not measured here."""
    moved = clock.seconds(GpuCall(_copies(), (0, 1), {}, effort.words // 64), [16 * effort.words] * 2)
    groups = effort.items // 64
    reals = clock.seconds(GpuCall(_multiplies(), (0,), {}, groups), [16 * effort.items])
    integers = min(
        clock.seconds(GpuCall(_multiplies_bytes(from_memory), (0, 1), {}, groups), [4 * effort.items] * 2)
        for from_memory in (False, True)
    )
    nothing = clock.seconds(GpuCall(_copies(), (0, 1), {}, 1), [1024] * 2)
    waits = clock.seconds(GpuCall(_waits(), (0, 1), {}, 1), [16 * _WAITS * _ROUNDS * 64, 1024])
    load = 1e6 * (waits - nothing) / (_WAITS * _ROUNDS)
    return replace(
        devices.load(devices.MEASURED, language),
        description=clock.name,
        launch=1e6 * nothing,
        load=load,
        cold_load=load,
        bytes=32e-6 * effort.words / moved,
        floats=4e-6 * _SUMS * _ROUNDS * effort.items / reals,
        integers=4e-6 * _FACTORS**2 * _ROUNDS * effort.items / integers,
    )


def or_higher(one: GpuDevice, other: GpuDevice) -> GpuDevice:
    """Of two measurements: what disturbed one of them may have left the other alone, and clocks rise."""
    rates = {name: max(getattr(one, name), getattr(other, name)) for name in ("bytes", "floats", "integers")}
    times = {name: min(getattr(one, name), getattr(other, name)) for name in ("launch", "load", "cold_load")}
    return replace(one, **rates, **times)


def in_words(device: GpuDevice) -> str:
    return (
        f"- {device.description}: {device.bytes / 1e3:.1f} GB/s,\n"
        f"  {device.floats / 1e3:.1f} billion products of floats and "
        f"{device.integers / 1e3:.1f} of int8 in a second; {device.launch:.0f} us a dispatch,\n"
        f"  and {device.load:.3f} us for each load that waits."
    )


def as_row(device: GpuDevice, language: str) -> str:
    """What a file of targets/gpus says of this language, as far as it is measured."""
    numbers: Mapping[str, float] = {
        name: getattr(device, name) for name in ("launch", "load", "bytes", "floats", "integers")
    }
    return "\n".join([f"[{language}]", *(f"{name} = {value:.6g}" for name, value in numbers.items())])


def _copies() -> GpuKernel:
    k = KernelBuilder("copies")
    x, y = k.buffer("x", U32X4), k.buffer("y", U32X4, writes=True)
    k.store(y, k.item, x[k.item])
    return k.done()


def _waits() -> GpuKernel:
    """Iterations of loads, and of products that need them, as a direct convolution has."""
    k = KernelBuilder("waits")
    x, y = k.buffer("x", F32X4), k.buffer("y", F32X4, writes=True)
    sums = [k.var("sum", splat(number(i, F32X4.one))) for i in range(_SUMS)]
    with k.loop("i", 0, _ROUNDS) as i:
        loaded = [k.let("loaded", x[(i * _WAITS + n) * 64 + k.within]) for n in range(_WAITS)]
        for n, weight in enumerate(loaded[4:]):
            for p in range(4):
                total = sums[2 * p + n % 2]
                k.set(total, total + splat(loaded[p].lane(n // 2)) * weight)
    for total in sums[1:]:
        k.set(sums[0], sums[0] + total)
    k.store(y, k.item, sums[0])
    return k.done()


def _multiplies() -> GpuKernel:
    """Sums of four floats, which do not wait for one another."""
    k = KernelBuilder("multiplies")
    y = k.buffer("y", F32X4, writes=True)
    sums = [k.var("sum", splat(number(i, F32X4.one))) for i in range(_SUMS)]
    factor = k.let("factor", y[k.item])
    with k.loop("i", 0, _ROUNDS):
        for total in sums:
            k.set(total, total * factor + factor)
    for total in sums[1:]:
        k.set(sums[0], sums[0] + total)
    k.store(y, k.item, sums[0])
    return k.done()


def _multiplies_bytes(from_memory: bool) -> GpuKernel:
    """Sums of the products of four bytes, each of these words with each of those. Where words come from
    decides how compilers unpack them."""
    k = KernelBuilder("multiplies_bytes")
    x, y = k.buffer("x", U32), k.buffer("y", U32, writes=True)
    sums = [k.var("sum", number(i, I32)) for i in range(_FACTORS**2)]
    factors = [k.let("factor", y[k.item] + i) for i in range(_FACTORS)]
    with k.loop("i", 0, _ROUNDS) as i:
        numbers = (x[i * _FACTORS + n] if from_memory else (i + n).to(U32) for n in range(_FACTORS))
        words = [k.let("word", n * 0x01010101) for n in numbers]
        for n, total in enumerate(sums):
            k.set(total, dot4(words[n // _FACTORS], factors[n % _FACTORS], total))
    for total in sums[1:]:
        k.set(sums[0], sums[0] + total)
    k.store(y, k.item, sums[0].bits(U32))
    return k.done()
