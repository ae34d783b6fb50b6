"""The host runtime of OpenCL in C: all ways in which it may fail, under sanitizers, and its size."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.opencl import opencl
from support.tools import require

from edgekit.codegen.compilation import elf
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Add
from edgekit.core.types import DType, Type

FAKE = Path(__file__).parents[1] / "support" / "fake_opencl.c"
MAX_CODE = 8192  # bytes, at -Os for AArch64
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I.")
# OK, NO_LIBRARY, ... of gpu.h by number.
OK, NO_LIBRARY, NO_DEVICE, NO_MEMORY, NOT_BUILT, CRASHED, WRONG, LOST, ON_CPU, BAD_ARGUMENT = range(10)

MAIN = """\
#include "tiny_gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LIBRARY FOLDER [self] [cpu] [only] [some] [device]: prints what creation and a run say, and whether the
 * results are those of the CPU. */
int main(int argc, char **argv)
{
    struct ek_gpu_config config = {0};
    enum ek_gpu_status status, ran;
    static float x[6] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f}, y[6], right[6];
    static uint64_t arena[TINY_ARENA_SIZE / 8 + 1];
    void *memory[2] = {NULL, NULL};
    int on_device = 0;
    config.library = argv[1];
    config.cache_folder = *argv[2] ? argv[2] : NULL;
    for (int i = 3; i < argc; i++) {
        config.self_test |= !strcmp(argv[i], "self");
        config.allow_cpu_device |= !strcmp(argv[i], "cpu");
        config.no_fallback |= !strcmp(argv[i], "only");
        on_device |= !strcmp(argv[i], "device");
        if (!strcmp(argv[i], "some"))
            config.device = x;
    }
    struct ek_gpu *const gpu = tiny_gpu_create(&config, &status);
    tiny_run(x, right, arena);
    if (!gpu) {
        printf("%d none\\n", status);
        return 0;
    }
    ran = on_device ? tiny_gpu_start_on_device(gpu, memory, 0, NULL, NULL) : tiny_gpu_run(gpu, x, y);
    printf("%d %d %s\\n", status, ran, memcmp(y, right, sizeof y) ? "other" : "same");
    tiny_gpu_destroy(gpu);
    return 0;
}
"""


# The same on a context of the caller: without copies, and then with copies but without waiting.
OWN = """\
#include "tiny_gpu.h"
#include "edgekit/opencl.h"
#include <math.h>
#include <stdio.h>

static int differ(const float *a, const float *b)
{
    float most = 0.0f;
    for (int i = 0; i < 6; i++)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most > 1e-6f;
}

int main(void)
{
    static const float x[6] = {0.1f, -0.2f, 0.3f, -0.4f, 0.5f, 0.6f};
    static uint64_t arena[TINY_ARENA_SIZE / 8 + 1];
    float y[6] = {0}, z[6] = {0}, right[6];
    void *platform = NULL, *event = NULL, *later = NULL, *memory[2];
    struct ek_gpu_config config = {0};
    enum ek_gpu_status status;
    struct ek_cl cl;
    if (!ek_cl_open(&cl, NULL) || cl.GetPlatformIDs(1, &platform, NULL)
        || cl.GetDeviceIDs(platform, 0xFFFFFFFFu, 1, &config.device, NULL))
        return 1;
    config.context = cl.CreateContext(NULL, 1, &config.device, NULL, NULL, NULL);
    config.queue = cl.CreateCommandQueue(config.context, config.device, 0, NULL);
    for (int i = 0; i < 2; i++)
        memory[i] = cl.CreateBuffer(config.context, EK_CL_READ_WRITE, sizeof x, NULL, NULL);
    cl.EnqueueWriteBuffer(config.queue, memory[0], 1, 0, sizeof x, x, 0, NULL, NULL);
    struct ek_gpu *const gpu = tiny_gpu_create(&config, &status);
    if (!gpu || status)
        return 2;
    if (tiny_gpu_start_on_device(gpu, memory, 0, NULL, &event) || !event)
        return 3;
    const void *const wait[] = {event};
    if (tiny_gpu_start(gpu, x, z, 1, wait, &later) || !later || tiny_gpu_wait(gpu))
        return 4;
    cl.EnqueueReadBuffer(config.queue, memory[1], 1, 0, sizeof y, y, 0, NULL, NULL);
    tiny_run(x, right, arena);
    const int off = differ(y, right) + 2 * differ(z, right) + 4 * !!tiny_gpu_warmup(gpu);
    tiny_gpu_destroy(gpu);
    cl.ReleaseMemObject(memory[0]);
    cl.ReleaseMemObject(memory[1]);
    cl.ReleaseCommandQueue(config.queue);
    cl.ReleaseContext(config.context);
    return off ? 10 + off : 0;
}
"""


# Programs that functions of the caller keep, in memory; and what is allocated from the first run on.
KEEPS = """\
#include "tiny_gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    char key[64];
    size_t size;
    unsigned char data[4096];
};

static int allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size) { allocations++; return __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { allocations++; return __real_calloc(n, size); }

static size_t load(void *user, const char *key, void *data, size_t size)
{
    const struct kept *const kept = (const struct kept *)user;
    if (strcmp(kept->key, key))
        return 0;
    if (size)
        memcpy(data, kept->data, size < kept->size ? size : kept->size);
    return kept->size;
}

static void store(void *user, const char *key, const void *data, size_t size)
{
    struct kept *const kept = (struct kept *)user;
    printf("%s %s\\n", size ? "store" : "remove", strrchr(key, '.'));
    if (strstr(key, ".tried") || size > sizeof kept->data || strlen(key) >= sizeof kept->key)
        return; /* the program only */
    strcpy(kept->key, key);
    memcpy(kept->data, data, size);
    kept->size = size;
}

int main(int argc, char **argv)
{
    static struct kept kept;
    struct ek_gpu_config config = {0};
    enum ek_gpu_status status;
    static const float x[6] = {0.1f, 0.2f};
    float y[6];
    config.library = argv[argc - 1];
    config.load = load;
    config.store = store;
    config.user = &kept;
    for (int i = 0; i < 2; i++) {
        struct ek_gpu *const gpu = tiny_gpu_create(&config, &status);
        if (!gpu || status)
            return 1;
        allocations = 0;
        if (tiny_gpu_run(gpu, x, y) || tiny_gpu_run(gpu, x, y) || allocations)
            return 2;
        tiny_gpu_destroy(gpu);
    }
    return 0;
}
"""


def tiny() -> Graph:
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 6)))
    return b.graph("tiny", [x], [b.one(Add(), x, b.one(Tanh(), x))])


@dataclass(frozen=True)
class Built:
    """The program, and the library that says it is OpenCL."""

    program: Path
    library: Path

    def says(self, *words: str, folder: Path | str = "", library: str = "", **fake: str) -> str:
        """What the program prints; it must not leak, nor do anything undefined."""
        done = self._run(library, folder, words, fake)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def compiled_from(self, folder: Path, **fake: str) -> str:
        """What the driver was given: source, or what was kept of it."""
        return self._run("", folder, (), fake).stderr.strip()

    def crash(self, folder: Path) -> None:
        assert self._run("", folder, (), {"FAKE_FAILS": "crash"}).returncode != 0

    def _run(
        self, library: str, folder: Path | str, words: tuple[str, ...], fake: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), library or str(self.library), str(folder), *words]
        return subprocess.run(command, env=fake, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("runtime")
    files = render(compile_graph(tiny(), target.load("opencl")), "speed")
    write(files, folder)
    (folder / "main.c").write_text(MAIN)
    gcc = require("gcc")
    sanitized = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    names = [*sources(files), "main.c"]
    subprocess.run([gcc, *STRICT, *sanitized, *names, "-o", "program", "-ldl"], cwd=folder, check=True)
    library = ["-shared", "-fPIC", str(FAKE), "-o", "libfake.so"]
    subprocess.run([gcc, "-std=c99", *library], cwd=folder, check=True)
    return Built(folder / "program", folder / "libfake.so")


def test_a_device_is_used(built: Built) -> None:
    assert built.says() == f"{OK} {OK} other"  # the fake one computes nothing


def test_without_library_or_device_the_cpu_computes(built: Built) -> None:
    assert built.says(library="/none/libOpenCL.so") == f"{NO_LIBRARY} {OK} same"
    assert built.says(FAKE_FAILS="GetPlatformIDs") == f"{NO_DEVICE} {OK} same"
    assert built.says("device", FAKE_FAILS="GetPlatformIDs") == f"{NO_DEVICE} {ON_CPU} other"


def test_a_library_that_lacks_functions_is_none(built: Built) -> None:
    assert built.says(library="libm.so.6") == f"{NO_LIBRARY} {OK} same"


def test_a_cpu_device_is_used_only_where_it_is_allowed(built: Built) -> None:
    assert built.says(FAKE_KIND="2") == f"{NO_DEVICE} {OK} same"
    assert built.says("cpu", FAKE_KIND="2") == f"{OK} {OK} other"


@pytest.mark.parametrize(
    ("function", "status"),
    [
        ("CreateContext", NO_DEVICE),
        ("CreateCommandQueue", NO_DEVICE),
        ("CreateProgramWithSource", NOT_BUILT),
        ("BuildProgram", NOT_BUILT),
        ("CreateKernel", NOT_BUILT),
        ("SetKernelArg", NOT_BUILT),
        ("CreateBuffer", NO_MEMORY),
    ],
)
def test_each_failure_leads_to_the_cpu_or_to_nothing(built: Built, function: str, status: int) -> None:
    assert built.says(FAKE_FAILS=function) == f"{status} {OK} same"
    assert built.says("only", FAKE_FAILS=function) == f"{status} none"


@pytest.mark.parametrize(
    "function", ["EnqueueWriteBuffer", "EnqueueNDRangeKernel", "EnqueueReadBuffer", "Flush", "Finish"]
)
def test_a_device_that_fails_at_work_is_lost(built: Built, function: str) -> None:
    assert built.says(FAKE_FAILS=function).startswith(f"{OK} {LOST}")


def test_wrong_results_are_seen_by_the_self_test(built: Built) -> None:
    assert built.says("self") == f"{WRONG} {OK} same"


def test_some_of_context_device_and_queue_are_refused(built: Built) -> None:
    assert built.says("some") == f"{BAD_ARGUMENT} none"


def test_programs_are_kept_for_the_same_driver(built: Built, tmp_path: Path) -> None:
    assert built.compiled_from(tmp_path) == "source"
    (kept,) = tmp_path.iterdir()
    assert built.compiled_from(tmp_path) == "binary"
    assert built.compiled_from(tmp_path, FAKE_DRIVER="newer") == "source"
    data = kept.read_bytes()
    for damaged in (data[:-1], data[:20], b"", data[:-1] + b"?", b"\0" * len(data), data + b"more"):
        kept.write_bytes(damaged)
        assert built.compiled_from(tmp_path) == "source"
        assert kept.read_bytes() == data


def test_functions_of_the_caller_keep_programs_and_runs_allocate_nothing(
    built: Built, tmp_path: Path
) -> None:
    files = render(compile_graph(tiny(), target.load("opencl")), "speed")
    write(files, tmp_path)
    (tmp_path / "main.c").write_text(KEEPS)
    names = [*sources(files), "main.c"]
    wraps = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc")]
    command = [require("gcc"), "-std=c99", "-g", "-fsanitize=undefined", "-I.", *names, *wraps]
    subprocess.run([*command, "-o", "keeps", "-ldl"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "keeps", built.library], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "source\nbinary\n"
    mark = ["store .tried", "remove .tried"]
    assert done.stdout.splitlines() == [mark[0], "store .ekcl", mark[1], *mark]


def test_a_binary_that_the_driver_refuses_is_compiled_again(built: Built, tmp_path: Path) -> None:
    built.says(folder=tmp_path)
    assert built.compiled_from(tmp_path, FAKE_FAILS="CreateProgramWithBinary") == "binary\nsource"


def test_products_of_bytes_are_those_that_the_device_says(built: Built, tmp_path: Path) -> None:
    khr, arm = "cl_khr_integer_dot_product", "cl_arm_integer_dot_product_int8"
    assert built.compiled_from(tmp_path, FAKE_EXTENSIONS=f"a {khr} b") == "source\n-DEK_DOT_KHR"
    assert built.compiled_from(tmp_path, FAKE_EXTENSIONS=arm) == "source\n-DEK_DOT_ARM"
    assert built.compiled_from(tmp_path) == "source"  # that of the others is not taken


def test_what_a_device_has_not_is_done_without(built: Built, tmp_path: Path) -> None:
    fake = {"FAKE_EXTENSIONS": "cl_khr_integer_dot_product", "FAKE_FAILS": "dot"}
    assert built.says(**fake) == f"{OK} {OK} other"
    assert built.compiled_from(tmp_path, **fake) == "source\n-DEK_DOT_KHR\nsource"


def test_after_a_crash_the_cpu_computes(built: Built, tmp_path: Path) -> None:
    built.crash(tmp_path)
    assert built.says(folder=tmp_path) == f"{CRASHED} {OK} same"
    for mark in tmp_path.iterdir():
        mark.unlink()
    assert built.says(folder=tmp_path).startswith(f"{OK} {OK}")


def test_a_folder_that_is_not_there_is_no_fault(built: Built, tmp_path: Path) -> None:
    assert built.says(folder=tmp_path / "none").startswith(f"{OK} {OK}")


def test_a_context_of_the_caller_is_used(tmp_path: Path) -> None:
    opencl()
    files = render(compile_graph(tiny(), target.load("opencl")), "speed")
    write(files, tmp_path)
    (tmp_path / "main.c").write_text(OWN)
    names = [*sources(files), "main.c"]
    subprocess.run(
        [require("gcc"), "-std=c99", "-I.", *names, "-o", "own", "-lm", "-ldl"], cwd=tmp_path, check=True
    )
    assert subprocess.run([tmp_path / "own"]).returncode == 0


def test_the_runtime_is_small_and_has_no_globals(tmp_path: Path) -> None:
    write(render(compile_graph(tiny(), target.load("opencl")), "speed"), tmp_path)
    compiler = require("aarch64-linux-gnu-gcc")
    subprocess.run([compiler, *STRICT, "-Os", "-c", "tiny_gpu.c", "-o", "gpu.o"], cwd=tmp_path, check=True)
    found = elf.sections((tmp_path / "gpu.o").read_bytes())
    assert 0 < sum(s.size for s in found if s.flags & 4) <= MAX_CODE  # SHF_EXECINSTR
    assert sum(s.size for s in found if s.flags & 1) == 0  # SHF_WRITE
