"""Decoders of benchmarks.llama_cpp on a GPU: tokens a second of a prompt and of a text, from host to host."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.llama_cpp import FORMATS, SIZES, best, graphs, ours, tokens, write_folder
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.entries import with_entries
from edgekit.codegen.execution.driver import FLAGS
from edgekit.codegen.gpu.plan import plan
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ir import Graph

HEADER = ("decoder", "kernels a token", "prefill, tokens/s", "decode, tokens/s")
_LIBRARY = """\
#include "net_gpu.h"
#include "net.h"
static struct ek_gpu *gpu;
static struct ek_gpu_state *stream;
static float logits[NET_LOGITS_SIZE];
int begin(void)
{
    struct ek_gpu_config config = {0};
    enum ek_gpu_status status;
    config.allow_cpu_device = 1;
    config.no_fallback = 1;
    gpu = net_gpu_create(&config, &status);
    stream = gpu ? net_gpu_state_create(gpu) : 0;
    return stream ? EK_GPU_OK : status;
}
int prompt(const int32_t *tokens)
{
    const int32_t at = 0;
    net_gpu_reset(stream);
    return net_prefill_gpu_run(gpu, tokens, &at, logits, stream);
}
int token(const int32_t *tokens, int32_t at)
{
    return net_gpu_run(gpu, tokens + at, &at, logits, stream);
}
"""


def rows(sizes: Sequence[str], seconds: float) -> Iterator[list[str]]:
    """Of the table: each decoder in each format, measured for so long."""
    with tempfile.TemporaryDirectory() as folder:
        for name in sizes or SIZES:
            write_folder(SIZES[name], Path(folder))
            for format in FORMATS:
                both, own = graphs(format, Path(folder)), Path(folder, f"{name}_{format}".replace(" ", ""))
                run = ours(_library(both, own), tokens(SIZES[name]))
                prefill, decode = best({"": run}, seconds)[""]
                kernels = len(plan(both[0]).dispatches)
                yield [f"{name}, {format}", str(kernels), f"{prefill:,.0f}", f"{decode:,.0f}"]


def _library(both: tuple[Graph, Graph], folder: Path) -> ctypes.CDLL:
    """On the first device that OpenCL finds; there is no way back to the CPU."""
    target = targets.load("opencl")
    files = render(with_entries(compile_graph(both[0], target), {"prefill": both[1]}), "speed")
    write(files, folder)
    (folder / "main.c").write_text(_LIBRARY)
    names = library_sources(files)
    flags = [*FLAGS, "-O1", *target.cflags, "-shared", "-fPIC"]  # of what the CPU does, nothing is measured
    toolchain.find(target).run([*flags, *names, "main.c", "-o", "net.so", "-lm", "-ldl"], folder)
    library = ctypes.CDLL(str(folder / "net.so"))
    assert (status := library.begin()) == 0, f"no device runs it: status {status} of edgekit/gpu.h"
    return library
