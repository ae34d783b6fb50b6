"""CPU segments: layers without a GPU kernel run on the CPU, between kernels on the device."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.op_cases import normal
from support.opencl import opencl
from support.segments import SIZE, network, sums
from support.tools import require, require_module

from edgekit import api
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.gpu.plan import GpuPlan, plan
from edgekit.codegen.gpu.summary import summary
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type

FAKE = Path(__file__).parents[1] / "support" / "fake_opencl.c"
_F32 = DType.F32


def operators(planned: GpuPlan) -> list[list[str]]:
    """Of each segment."""
    return [[type(node.op).__name__ for node in segment.graph.nodes] for segment in planned.segments]


def test_what_has_no_kernel_is_in_segments_with_what_is_between() -> None:
    """Small layers between two without a kernel stay with them, large ones go back to the device."""
    planned = plan(network())
    assert [sorted(found) for found in operators(planned)] == [
        ["Cumulative", "Cumulative", "Cumulative", "Mul", "Mul"],
        ["Cumulative"],
    ]
    assert [d.operator for d in planned.dispatches] == ["Conv2d", "Add", "Conv2d", "Conv2d", "Tanh"]


def test_a_network_that_the_cpu_computes_as_fast_is_refused() -> None:
    b = Builder()
    x = b.input("x", Type(_F32, (1, 64)))
    sums = b.one(Cumulative("sum", 1), b.one(Tanh(), b.one(Cumulative("sum", 1), x)))
    with pytest.raises(EdgeKitError, match="faster than some beside a GPU") as caught:
        plan(b.graph("small", [x], [sums]))
    assert "Cumulative does not run on GPUs" in caught.value.message
    assert "Cumulative does not run on GPUs" in caught.value.also[0].message
    assert "-t host" in caught.value.also[1].hint


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_results_are_those_of_the_simulator(optimize: Optimize, tmp_path: Path) -> None:
    opencl()
    require("gcc")
    report = api.build(network(), tmp_path, target="opencl", optimize=optimize, verify=True)
    assert report.verification is not None
    assert report.verification.relative_error < 1e-5
    assert report.gpu is not None
    assert [len(segment.layers) for segment in report.gpu.segments] == [5, 1]
    assert {"network_cpu1.c", "network_cpu2.h"} <= set(report.files)


def test_integers_are_equal_bit_by_bit(tmp_path: Path) -> None:
    """In int8, with a layer that stays in floats, and one of int8 that has no kernel."""
    opencl()
    require("gcc")
    inputs = {name: np.concatenate([a] * 4) for name, a in simulate.random_inputs(network(), 0).items()}
    quantized, _ = api.quantize_model(network(), inputs, calibrate="minmax", strict_int8=True)
    assert plan(quantized).segments
    found = api.verify(quantized, target="opencl")
    assert found.exact


def test_equal_to_onnx_runtime(tmp_path: Path) -> None:
    opencl()
    runtime = require_module("onnxruntime")
    model = sums()
    (tmp_path / "sums.onnx").write_bytes(model)
    x = np.asarray(normal(_F32, 1, 24, SIZE, SIZE))
    (right,) = runtime.InferenceSession(model).run(None, {"x": x})
    graph = api.convert(tmp_path / "sums.onnx")
    assert len(plan(graph).segments) == 1
    (y,) = api.run(graph, x, target="opencl", optimize="size").values()
    assert np.abs(y - right).max() <= 1e-5 * np.abs(right).max()


def test_the_report_says_what_is_copied() -> None:
    found = summary(plan(network()))
    image = 4 * 32 * SIZE * SIZE
    first, second = found.segments
    assert (first.read_bytes, first.written_bytes) == (image, image + image // 32)
    assert (second.read_bytes, second.written_bytes) == (image // 2, 0)  # its result is the caller's
    places = {(layer.operator, layer.runs_on) for layer in found.layers}
    assert {("Conv2d", "gpu"), ("Cumulative", "cpu"), ("Mul", "cpu"), ("Tanh", "gpu")} <= places


@pytest.mark.parametrize("name", ["webgpu", "opencl"])
def test_the_report_of_a_target_is_that_of_its_plan(name: str, tmp_path: Path) -> None:
    """`estimate` says before what `build` does."""
    require_module("ziglang") if name == "webgpu" else require("gcc")
    found = api.estimate(network(), target=name).gpu
    assert found == summary(plan(network()))
    assert found == api.build(network(), tmp_path, target=name, verify=False).gpu


def test_ports_of_16_bits_are_refused_with_a_hint() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F16, (1, 64)))
    with pytest.raises(EdgeKitError, match=r"inputs and outputs \(x, tanh_0\) are not of 16 bits") as narrow:
        plan(b.graph("narrow", [x], [b.one(Tanh(), x)]))
    assert "float32 there, or a target for processors" in narrow.value.hint


# On the caller's context: without copies, then with copies, after an event; the caller's is what is compared.
OWN = """\
#include "network_gpu.h"
#include "edgekit/opencl.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { X = NETWORK_X_SIZE, Z = NETWORK_Z_SIZE };
static float x[X], z[Z], found[3][NETWORK_X_SIZE * 2], right[3][NETWORK_X_SIZE * 2];
static uint64_t arena[NETWORK_ARENA_SIZE / 8 + 8];
static const size_t sizes[] = {SIZES};

static int differ(void)
{
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < sizes[2 + k] / 4; i++)
            if (!(fabsf(found[k][i] - right[k][i]) <= 1e-3f))
                return 1 + k;
        memset(found[k], 0, sizeof found[k]);
    }
    return 0;
}

int main(void)
{
    void *platform = NULL, *event = NULL, *memory[5];
    struct ek_gpu_config config = {0};
    enum ek_gpu_status status;
    struct ek_cl cl;
    for (int i = 0; i < X; i++)
        x[i] = (float)(i * 7919 % 101) * 0.01f - 0.5f;
    for (int i = 0; i < Z; i++)
        z[i] = (float)(i * 104729 % 97) * 0.01f - 0.5f;
    network_run(x, z, right[0], right[1], right[2], (void *)(((uintptr_t)arena + 63) / 64 * 64));
    if (!ek_cl_open(&cl, NULL) || cl.GetPlatformIDs(1, &platform, NULL)
        || cl.GetDeviceIDs(platform, 0xFFFFFFFFu, 1, &config.device, NULL))
        return 10;
    config.context = cl.CreateContext(NULL, 1, &config.device, NULL, NULL, NULL);
    config.queue = cl.CreateCommandQueue(config.context, config.device, 0, NULL);
    config.self_test = 1;
    for (int i = 0; i < 5; i++)
        memory[i] = cl.CreateBuffer(config.context, EK_CL_READ_WRITE, sizes[i], NULL, NULL);
    cl.EnqueueWriteBuffer(config.queue, memory[0], 1, 0, sizeof x, x, 0, NULL, NULL);
    cl.EnqueueWriteBuffer(config.queue, memory[1], 1, 0, sizeof z, z, 0, NULL, NULL);
    struct ek_gpu *const gpu = network_gpu_create(&config, &status);
    if (!gpu || status)
        return 20 + (int)status;
    if (network_gpu_start_on_device(gpu, memory, 0, NULL, &event) || !event || network_gpu_wait(gpu))
        return 40;
    for (int k = 0; k < 3; k++)
        cl.EnqueueReadBuffer(config.queue, memory[2 + k], 1, 0, sizes[2 + k], found[k], 0, NULL, NULL);
    if (differ())
        return 50 + differ();
    const void *const wait[] = {event};
    for (int i = 0; i < 2; i++)
        if (network_gpu_start(gpu, x, z, found[0], found[1], found[2], 1, wait, &event))
            return 60;
    if (!event || network_gpu_wait(gpu) || differ())
        return 70;
    network_gpu_destroy(gpu);
    for (int i = 0; i < 5; i++)
        cl.ReleaseMemObject(memory[i]);
    cl.ReleaseCommandQueue(config.queue);
    cl.ReleaseContext(config.context);
    ek_cl_close(&cl);
    return 0;
}
"""


# On a library that computes nothing, or fails: prints what creation and two runs say, and their allocations.
FAKED = """\
#include "network_gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float x[NETWORK_X_SIZE], z[NETWORK_Z_SIZE], found[3][NETWORK_X_SIZE * 2], right[3][NETWORK_X_SIZE * 2];
static uint64_t arena[NETWORK_ARENA_SIZE / 8 + 8];
static int allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size) { allocations++; return __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { allocations++; return __real_calloc(n, size); }

int main(int argc, char **argv)
{
    struct ek_gpu_config config = {.library = argv[argc - 1]};
    enum ek_gpu_status status, ran[2];
    x[0] = z[0] = 1.0f;
    network_run(x, z, right[0], right[1], right[2], (void *)(((uintptr_t)arena + 63) / 64 * 64));
    struct ek_gpu *const gpu = network_gpu_create(&config, &status);
    allocations = 0;
    for (int i = 0; i < 2; i++)
        ran[i] = network_gpu_run(gpu, x, z, found[0], found[1], found[2]);
    printf("%d %d %d, %d, %s\\n", status, ran[0], ran[1], allocations,
        memcmp(found, right, sizeof found) ? "other" : "same");
    network_gpu_destroy(gpu);
    return 0;
}
"""


def _program(folder: Path, main: str, *flags: str) -> Path:
    graph = network()
    files = render(compile_graph(graph, target.load("opencl")), "size")
    write(files, folder)
    sizes = ", ".join(str(graph.type(name).bytes) for name in (*graph.inputs, *graph.outputs))
    (folder / "main.c").write_text(main.replace("SIZES", sizes))
    strict = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I.", "-I..")
    command = [
        require("gcc"),
        *strict,
        *flags,
        *sources(files),
        "main.c",
        "-o",
        "main",
        "-lm",
        "-ldl",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


def test_on_memory_of_the_caller(tmp_path: Path) -> None:
    opencl()
    done = subprocess.run([_program(tmp_path, OWN)])
    assert done.returncode == 0


@pytest.fixture(scope="module")
def faked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program under sanitizers, beside the library that says it is OpenCL."""
    folder = tmp_path_factory.mktemp("faked")
    sanitized = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = _program(folder, FAKED, *sanitized, "-Wl,--wrap=malloc", "-Wl,--wrap=calloc")
    library = [require("gcc"), "-std=c99", "-shared", "-fPIC", str(FAKE), "-o", "libfake.so"]
    subprocess.run(library, cwd=folder, check=True)
    return program


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("", "0 0 0, 0, other"),  # the device computes nothing
        ("GetPlatformIDs", "2 0 0, 0, same"),
        ("EnqueueReadBuffer", "0 7 7, 0, other"),  # EK_GPU_LOST
        ("EnqueueWriteBuffer", "0 7 7, 0, other"),
        ("EnqueueNDRangeKernel", "0 7 7, 0, other"),
        ("Finish", "0 7 7, 0, other"),
    ],
)
def test_failures_of_the_device_are_reported(fails: str, said: str, faked: Path) -> None:
    command = [faked, faked.parent / "libfake.so"]
    done = subprocess.run(command, env={"FAKE_FAILS": fails}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == said


def test_the_command_line_lists_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require("gcc")
    api.save(network(), tmp_path / "network.ek")
    line = CommandLine(capsys)
    words = "cumulative_10 (Cumulative); 36,864 B read, 0 B written"
    assert words in line.ok("estimate", tmp_path / "network.ek", "-t", "opencl").out
    found = line.ok("estimate", tmp_path / "network.ek", "-t", "opencl", "--json").json["gpu"]
    assert found["dispatches"] == 5
    assert found["segments"][1]["read_bytes"] == 36864
    assert found["layers"][0] == {"origin": "conv2d_0", "operator": "Conv2d", "runs_on": "gpu"}
