"""Each kernel of models on an OpenCL device, as a fraction of what the device can move and multiply.

    python -m benchmarks.gpu model.ek [...] [--write]

The ceilings are measured first, by kernels that do nothing else. Every kernel has the time that the slower of
both would take at least: its bytes, each once, or its products. --write puts them on docs/performance.md.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass

import numpy as np

from benchmarks.results import table, write_section
from edgekit import api
from edgekit.codegen.gpu.ast import F32X4, I32, U32, U32X4, Kernel, dot4, number, splat
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.opencl import Entry, program
from edgekit.codegen.gpu.plan import Dispatch, plan
from edgekit.codegen.gpu.use import Use
from tests.support.opencl_device import OpenCL

_WORDS = 1 << 22  # vectors of 16 bytes that the ceiling of memory is measured with
_ITEMS = 1 << 16  # ... and items, each with so many rounds of 32 products, that of arithmetic
_ROUNDS = 256
_LEAST = 0.05  # seconds that are measured at a time


@dataclass(frozen=True)
class Ceilings:
    """Of a device: bytes, products of floats and of bytes in a second."""

    bytes: float
    reals: float
    integers: float

    def seconds(self, d: Dispatch) -> float:
        """The least that a kernel could take."""
        moved = sum(span.size for span in d.spans)
        is_real = any(b.kind.scalar == "f32" for b in d.kernel.buffers)
        return max(moved / self.bytes, d.macs / (self.reals if is_real else self.integers))


class Clock:
    """Times kernels on a device, whose memory holds zeros."""

    def __init__(self, device: OpenCL) -> None:
        self.device = device

    def seconds(self, use: Use, sizes: Sequence[int]) -> float:
        """Of one run among many."""
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
        runs = 1
        while (taken := self._taken(kernel, use, runs)) < _LEAST:
            runs *= max(2, min(64, int(_LEAST / max(taken, 1e-6))))
        best = min(taken, *(self._taken(kernel, use, runs) for _ in range(3)))
        for memory in held:
            lib.clReleaseMemObject(memory)
        lib.clReleaseKernel(kernel)
        lib.clReleaseProgram(built)
        return best / runs

    def _taken(self, kernel: c_void_p, use: Use, runs: int) -> float:
        lib, queue = self.device.library, self.device.queue
        items, group = c_size_t(use.groups * use.kernel.group), c_size_t(use.kernel.group)
        start = time.perf_counter()
        for _ in range(runs):
            error = lib.clEnqueueNDRangeKernel(
                queue, kernel, 1, None, byref(items), byref(group), 0, None, None
            )
            assert error == 0, f"OpenCL error {error}"
        lib.clFinish(queue)
        return time.perf_counter() - start


def ceilings(clock: Clock) -> Ceilings:
    moved = clock.seconds(Use(_copies(), (0, 1), {}, _WORDS // 64), [16 * _WORDS] * 2)
    products = 32 * _ROUNDS * _ITEMS
    reals = clock.seconds(Use(_multiplies(), (0,), {}, _ITEMS // 64), [16 * _ITEMS])
    integers = clock.seconds(Use(_multiplies_bytes(), (0,), {}, _ITEMS // 64), [4 * _ITEMS])
    return Ceilings(32 * _WORDS / moved, products / reals, products / integers)


def _copies() -> Kernel:
    k = Builder("copies")
    x, y = k.buffer("x", U32X4), k.buffer("y", U32X4, writes=True)
    k.store(y, k.item, x[k.item])
    return k.done()


def _multiplies() -> Kernel:
    """Eight sums of four floats, which do not wait for one another."""
    k = Builder("multiplies")
    y = k.buffer("y", F32X4, writes=True)
    sums = [k.var("sum", splat(number(i, F32X4.one))) for i in range(8)]
    factor = k.let("factor", y[k.item])
    with k.loop("i", 0, _ROUNDS):
        for total in sums:
            k.set(total, total * factor + factor)
    for total in sums[1:]:
        k.set(sums[0], sums[0] + total)
    k.store(y, k.item, sums[0])
    return k.done()


def _multiplies_bytes() -> Kernel:
    """Eight sums of products of four bytes."""
    k = Builder("multiplies_bytes")
    y = k.buffer("y", U32, writes=True)
    sums = [k.var("sum", number(i, I32)) for i in range(8)]
    factors = [k.let("factor", y[k.item] + i) for i in range(8)]
    with k.loop("i", 0, _ROUNDS) as i:
        word = k.let("word", i.to(U32) * 0x01010101)
        for total, factor in zip(sums, factors, strict=True):
            k.set(total, dot4(word, factor, total))
    for total in sums[1:]:
        k.set(sums[0], sums[0] + total)
    k.store(y, k.item, sums[0].bits(U32))
    return k.done()


def rows(model: str, clock: Clock, most: Ceilings) -> list[list[str]]:
    """The kernels of a model, the one that takes longest first."""
    found = []
    for d in plan(api.convert(model)).dispatches:
        use = Use(d.kernel, tuple(range(len(d.spans))), d.values, d.groups)
        seconds = clock.seconds(use, [span.size for span in d.spans])
        moved = sum(span.size for span in d.spans)
        share = most.seconds(d) / seconds
        words = [d.origin[:40], d.kernel.name, f"{1e6 * seconds:,.1f}", f"{d.macs:,}", f"{moved:,}"]
        found.append((seconds, [*words, f"{100 * share:.1f} %"]))
    return [row for _, row in sorted(found, key=lambda pair: -pair[0])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--library", default="libOpenCL.so.1", help="the file of OpenCL")
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    clock = Clock(OpenCL(ctypes.CDLL(wanted.library)))
    name = ctypes.create_string_buffer(256)
    clock.device.library.clGetDeviceInfo(clock.device.device, 0x102B, c_size_t(256), name, None)
    most = ceilings(clock)
    header = ["layer", "kernel", "us", "MACs", "bytes", "of the ceiling"]
    text = table(header, [row for model in wanted.models for row in rows(model, clock, most)])
    text += (
        f"\n\n{name.value.decode()}: {most.bytes / 1e9:.1f} GB/s, {most.reals / 1e9:.1f} billion products of "
        f"float32 and {most.integers / 1e9:.1f} of int8 in a second."
    )
    if wanted.write:
        write_section("gpu", "Kernels of graphics processors", text)
    print(text)


if __name__ == "__main__":
    main()
