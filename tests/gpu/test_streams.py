"""Libraries for OpenCL whose networks have states: streams on a device, or on the CPU without one."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.opencl import opencl
from support.stateful import random_graph, samples
from support.streams import recurrent, ring, with_segments
from support.tools import require

from edgekit import api
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.gpu.plan import plan
from edgekit.codegen.gpu.summary import summary
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize
from edgekit.core.types import Array

FAKE = Path(__file__).parents[1] / "support" / "fake_opencl.c"


def steps(graph: Graph, count: int) -> dict[str, Array]:
    """Successive steps of a stream, as samples."""
    each = [simulate.random_inputs(graph, seed) for seed in range(count)]
    return {name: np.concatenate([step[name] for step in each]) for name in graph.inputs}


@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("network", [recurrent, ring, with_segments], ids=lambda f: f.__name__)
def test_steps_are_those_of_the_simulator(
    network: Callable[[], Graph], optimize: Optimize, tmp_path: Path
) -> None:
    opencl()
    require("gcc")
    graph = network()
    report = api.build(graph, tmp_path, target="opencl", optimize=optimize, verify=True)
    assert report.verification is not None
    assert report.verification.samples > 1
    assert report.verification.relative_error < 1e-5
    inputs = steps(graph, 5)
    found, right = (api.run(graph, inputs, **how) for how in ({"target": "opencl"}, {}))
    for name, y in found.items():
        assert np.abs(y - right[name]).max() <= 1e-4 * np.abs(right[name]).max()


@pytest.mark.parametrize("seed", range(3))
def test_integers_of_random_networks_are_equal(seed: int) -> None:
    opencl()
    require("gcc")
    graph = random_graph(seed)
    inputs = {name: np.stack([step[name] for step in samples(graph, 4)]) for name in graph.inputs}
    found, right = (api.run(graph, inputs, **how) for how in ({"target": "opencl"}, {}))
    for name, y in found.items():
        np.testing.assert_array_equal(y, right[name])


def test_states_of_one_segment_stay_on_the_cpu() -> None:
    planned = plan(with_segments())
    (segment,) = planned.segments
    assert [s.input for s in segment.graph.states] == ["own"]
    assert set(planned.states) == {"later", "before", "sent"}
    image = 4 * 24 * 24 * 32
    (found,) = summary(planned).segments
    assert (found.read_bytes, found.written_bytes) == (3 * image, 2 * image)  # `own` is in neither


# Two streams, of which one goes on while the other one is started anew, beside those of the CPU: on a device,
# or, with an argument, without one.
TWO = """\
#include "recurrent_gpu.h"
#include <math.h>
#include <string.h>

static int differ(const float *a, const float *b)
{
    for (int i = 0; i < RECURRENT_Y_SIZE; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-5f))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    struct ek_gpu_config config = {0};
    enum ek_gpu_status status;
    struct recurrent_state right[2];
    static uint64_t arena[RECURRENT_ARENA_SIZE / 8 + 8];
    float x[RECURRENT_X_SIZE], y[RECURRENT_Y_SIZE], z[RECURRENT_Y_SIZE];
    config.allow_cpu_device = 1;
    config.self_test = 1;
    config.library = argc > 1 ? argv[1] : NULL;
    struct ek_gpu *const gpu = recurrent_gpu_create(&config, &status);
    if (!gpu || !status != (argc == 1))
        return 1;
    struct ek_gpu_state *streams[2];
    for (int k = 0; k < 2; k++) {
        streams[k] = recurrent_gpu_state_create(gpu);
        recurrent_reset(right + k);
        if (!streams[k])
            return 2;
    }
    for (int step = 0; step < 8; step++) {
        const int k = step % 3 > 0;
        for (int i = 0; i < RECURRENT_X_SIZE; i++)
            x[i] = (float)((i + step) * 7919 % 101) * 0.01f;
        if (step == 5) {
            recurrent_reset(right + 1);
            if (recurrent_gpu_reset(streams[1]) || recurrent_gpu_warmup(gpu))
                return 3;
        }
        recurrent_run(x, z, right + k, (void *)(((uintptr_t)arena + 63) / 64 * 64));
        if (recurrent_gpu_run(gpu, x, y, streams[k]) || differ(y, z))
            return 10 + step;
    }
    if (recurrent_gpu_run(gpu, x, y, NULL) != EK_GPU_BAD_ARGUMENT)
        return 4;
    for (int k = 0; k < 2; k++)
        recurrent_gpu_state_destroy(streams[k]);
    recurrent_gpu_destroy(gpu);
    return 0;
}
"""


def program(graph: Graph, main: str, folder: Path, *flags: str) -> Path:
    """A program around a library, under sanitizers."""
    files = render(compile_graph(graph, target.load("opencl")), "speed")
    write(files, folder)
    (folder / "main.c").write_text(main)
    sanitized = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I.")
    names = [*sources(files), "main.c", "-o", "main", "-lm", "-ldl"]
    subprocess.run([require("gcc"), *strict, *sanitized, *flags, *names], cwd=folder, check=True)
    return folder / "main"


def test_streams_are_apart_and_begin_anew(tmp_path: Path) -> None:
    opencl()
    made = program(recurrent(), TWO, tmp_path)
    # Leaks are those of drivers, and CUDA's takes addresses that the sanitizer keeps free.
    sanitizer = {"ASAN_OPTIONS": "detect_leaks=0:protect_shadow_gap=0"}
    assert subprocess.run([made], env={**os.environ, **sanitizer}).returncode == 0
    assert subprocess.run([made, "/none/libOpenCL.so"]).returncode == 0


# On a library that computes nothing, or fails: prints what creation, two runs and a reset say.
FAKED = """\
#include "segmented_gpu.h"
#include <stdio.h>
#include <stdlib.h>

static float x[SEGMENTED_X_SIZE], y[SEGMENTED_Y_SIZE];
static int allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size) { allocations++; return __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { allocations++; return __real_calloc(n, size); }

int main(int argc, char **argv)
{
    struct ek_gpu_config config = {.library = argv[argc - 1]};
    enum ek_gpu_status status, ran[2];
    struct ek_gpu *const gpu = segmented_gpu_create(&config, &status);
    struct ek_gpu_state *const state = segmented_gpu_state_create(gpu);
    if (!state) {
        printf("%d none\\n", status);
    } else {
        allocations = 0;
        for (int i = 0; i < 2; i++)
            ran[i] = segmented_gpu_run(gpu, x, y, state);
        printf("%d %d %d, %d, ", status, ran[0], ran[1], allocations);
        printf("%d\\n", segmented_gpu_reset(state));
    }
    segmented_gpu_state_destroy(state);
    segmented_gpu_destroy(gpu);
    return 0;
}
"""


@pytest.fixture(scope="module")
def faked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program beside the library that says it is OpenCL."""
    folder = tmp_path_factory.mktemp("faked")
    wraps = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc")]
    made = program(with_segments(), FAKED, folder, *wraps)
    library = [require("gcc"), "-std=c99", "-shared", "-fPIC", str(FAKE), "-o", "libfake.so"]
    subprocess.run(library, cwd=folder, check=True)
    return made


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("", "0 0 0, 0, 0"),
        ("GetPlatformIDs", "2 0 0, 0, 0"),  # EK_GPU_NO_DEVICE: on the CPU
        ("CreateBuffer", "3 0 0, 0, 0"),  # EK_GPU_NO_MEMORY for the model
        ("EnqueueWriteBuffer", "0 none"),  # a stream does not begin
        ("EnqueueNDRangeKernel", "0 7 7, 0, 7"),  # EK_GPU_LOST
        ("Finish", "0 7 7, 0, 7"),
    ],
)
def test_failures_of_the_device_are_reported(fails: str, said: str, faked: Path) -> None:
    command = [faked, faked.parent / "libfake.so"]
    done = subprocess.run(command, env={"FAKE_FAILS": fails}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == said
