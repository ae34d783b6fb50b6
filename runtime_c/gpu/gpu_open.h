/* Brings a model to a device of OpenCL: context, compiled kernels, memory. See gpu_run.h for what runs it there. */
#ifndef EDGEKIT_GPU_OPEN_H
#define EDGEKIT_GPU_OPEN_H

#include "edgekit/gpu_cache.h"
#include "edgekit/gpu_tables.h"
#include "edgekit/opencl.h"

struct ek_gpu {
    struct ek_gpu_model model;
    enum ek_gpu_status status; /* EK_GPU_OK: on the device */
    struct ek_cl cl;
    void *context, *device, *queue, *program;
    const char *options; /* of the compiler */
    int owns;
    void **memory; /* arena, weights, states of the last stream, ports */
    void **kernels; /* one for each dispatch */
    void *room; /* of CPU segments */
    void **tensors; /* of the segment that runs */
    void *arena; /* of the CPU, if the model runs there */
};

#define EK_GPU_PLAIN "-cl-std=CL1.2"
#define EK_GPU_WIDE 64u /* bytes: as widely as vectors of any CPU want memory to be aligned */

static size_t ek_gpu_wide(size_t bytes)
{
    return (bytes + EK_GPU_WIDE - 1) / EK_GPU_WIDE * EK_GPU_WIDE;
}

static void *ek_gpu_aligned(void *memory)
{
    return (char *)memory + (-(uintptr_t)memory & (EK_GPU_WIDE - 1));
}

static void ek_gpu_destroy(struct ek_gpu *g)
{
    if (!g)
        return;
    if (g->queue)
        g->cl.Finish(g->queue);
    for (uint32_t i = 0; g->kernels && i < g->model.count; i++)
        if (g->kernels[i])
            g->cl.ReleaseKernel(g->kernels[i]);
    for (int i = 0; g->memory && i < g->model.memories; i++)
        if (g->memory[i] && i != EK_GPU_STATES)
            g->cl.ReleaseMemObject(g->memory[i]);
    if (g->program)
        g->cl.ReleaseProgram(g->program);
    if (g->owns && g->queue)
        g->cl.ReleaseCommandQueue(g->queue);
    if (g->owns && g->context)
        g->cl.ReleaseContext(g->context);
    ek_cl_close(&g->cl);
    free(g->kernels);
    free(g->memory);
    free(g->room);
    free(g->tensors);
    free(g->arena);
    free(g);
}

/* The first device that may be used, of any platform. */
static void *ek_gpu_find(const struct ek_cl *cl, int allow_cpu)
{
    void *platforms[8], *device = NULL;
    ek_cl_uint count = 0;
    if (cl->GetPlatformIDs(8, platforms, &count))
        return NULL;
    for (int kind = 0; kind < (allow_cpu ? 2 : 1); kind++)
        for (ek_cl_uint i = 0; i < count && i < 8; i++)
            if (!cl->GetDeviceIDs(platforms[i], kind ? EK_CL_DEVICE_CPU : EK_CL_DEVICE_GPU, 1, &device, NULL)
                && device)
                return device;
    return NULL;
}

/* What the compiler is told: which products of bytes the device has. */
static const char *ek_gpu_options(const struct ek_gpu *g)
{
    const char *options = EK_GPU_PLAIN;
    size_t size = 0;
    if (g->cl.GetDeviceInfo(g->device, EK_CL_DEVICE_EXTENSIONS, 0, NULL, &size))
        return options;
    char *const words = (char *)calloc(1, size + 1);
    if (words && !g->cl.GetDeviceInfo(g->device, EK_CL_DEVICE_EXTENSIONS, size, words, NULL)) {
        if (strstr(words, "cl_khr_integer_dot_product"))
            options = EK_GPU_PLAIN " -DEK_DOT_KHR";
        else if (strstr(words, "cl_arm_integer_dot_product_int8"))
            options = EK_GPU_PLAIN " -DEK_DOT_ARM";
    }
    free(words);
    return options;
}

static enum ek_gpu_status ek_gpu_connect(struct ek_gpu *g, const struct ek_gpu_config *config)
{
    const int given = !!config->context + !!config->device + !!config->queue;
    if (given % 3)
        return EK_GPU_BAD_ARGUMENT;
    if (!ek_cl_open(&g->cl, config->library))
        return EK_GPU_NO_LIBRARY;
    g->owns = !given;
    g->device = given ? config->device : ek_gpu_find(&g->cl, config->allow_cpu_device);
    if (!g->device)
        return EK_GPU_NO_DEVICE;
    g->context = given ? config->context : g->cl.CreateContext(NULL, 1, &g->device, NULL, NULL, NULL);
    if (!g->context)
        return EK_GPU_NO_DEVICE;
    g->queue = given ? config->queue : g->cl.CreateCommandQueue(g->context, g->device, 0, NULL);
    g->options = ek_gpu_options(g);
    return g->queue ? EK_GPU_OK : EK_GPU_NO_DEVICE;
}

/* What the compiled program depends on: its text, the device, the driver. */
static uint64_t ek_gpu_source(const struct ek_gpu *g)
{
    uint64_t hash = 14695981039346656037u;
    char text[256];
    hash = ek_gpu_hash(hash, g->model.source, strlen(g->model.source));
    hash = ek_gpu_hash(hash, g->options, strlen(g->options));
    for (int i = 0; i < 2; i++) {
        memset(text, 0, sizeof text);
        g->cl.GetDeviceInfo(g->device, i ? EK_CL_DRIVER_VERSION : EK_CL_DEVICE_NAME, sizeof text, text, NULL);
        hash = ek_gpu_hash(hash, text, sizeof text);
    }
    return hash;
}

/* The program, if the driver takes what it made once. */
static void *ek_gpu_from_binary(struct ek_gpu *g, const unsigned char *data, size_t size)
{
    ek_cl_int accepted = -1;
    void *program = g->cl.CreateProgramWithBinary(g->context, 1, &g->device, &size, &data, &accepted, NULL);
    if (program && (accepted || g->cl.BuildProgram(program, 1, &g->device, g->options, NULL, NULL))) {
        g->cl.ReleaseProgram(program);
        program = NULL;
    }
    return program;
}

static enum ek_gpu_status ek_gpu_build(struct ek_gpu *g, const struct ek_gpu_config *config, uint64_t source)
{
    char key[EK_GPU_KEY];
    size_t size = 0;
    ek_gpu_key(key, source, ".ekcl");
    unsigned char *data = ek_gpu_kept(config, key, source, &size);
    g->program = data ? ek_gpu_from_binary(g, data, size) : NULL;
    free(data);
    if (g->program)
        return EK_GPU_OK;
    while (!g->program) {
        g->program = g->cl.CreateProgramWithSource(g->context, 1, &g->model.source, NULL, NULL);
        if (!g->program)
            return EK_GPU_NOT_BUILT;
        if (!g->cl.BuildProgram(g->program, 1, &g->device, g->options, NULL, NULL))
            break;
        g->cl.ReleaseProgram(g->program);
        g->program = NULL;
        if (!strcmp(g->options, EK_GPU_PLAIN))
            return EK_GPU_NOT_BUILT;
        g->options = EK_GPU_PLAIN; /* the device does not have what it says */
    }
    if (!config->cache_folder && !config->store)
        return EK_GPU_OK;
    size = 0;
    g->cl.GetProgramInfo(g->program, EK_CL_BINARY_SIZES, sizeof size, &size, NULL);
    data = size ? (unsigned char *)malloc(size) : NULL;
    if (data && !g->cl.GetProgramInfo(g->program, EK_CL_BINARIES, sizeof data, &data, NULL))
        ek_gpu_keep(config, key, source, data, size);
    free(data);
    return EK_GPU_OK;
}

static int ek_gpu_reserve(struct ek_gpu *g, int memory, size_t bytes)
{
    const int is_data = memory == EK_GPU_WEIGHTS && bytes;
    g->memory[memory] = g->cl.CreateBuffer(g->context, is_data ? EK_CL_READ_ONLY_COPY : EK_CL_READ_WRITE,
        bytes ? bytes : 4, is_data ? (void *)(uintptr_t)g->model.weights : NULL, NULL);
    return !g->memory[memory];
}

static enum ek_gpu_status ek_gpu_allocate(struct ek_gpu *g)
{
    const struct ek_gpu_model *const m = &g->model;
    size_t tensors = 0;
    for (uint32_t i = 0; i < m->segment_count; i++)
        tensors += m->segments[i].inputs + m->segments[i].outputs;
    g->room = m->segment_count ? malloc(m->segment_bytes + EK_GPU_WIDE) : NULL;
    g->tensors = m->segment_count ? (void **)malloc(tensors * sizeof *g->tensors) : NULL;
    if (m->segment_count && (!g->room || !g->tensors))
        return EK_GPU_NO_MEMORY;
    int failed = ek_gpu_reserve(g, EK_GPU_ARENA, m->arena_bytes);
    failed = failed || ek_gpu_reserve(g, EK_GPU_WEIGHTS, m->weight_bytes);
    for (uint32_t i = 0; i < m->entry_count; i++) {
        const struct ek_gpu_entry *const e = m->entries + i;
        for (int k = 0; !failed && k < e->inputs + e->outputs; k++)
            failed = ek_gpu_reserve(g, e->memory + k, (ek_gpu_ports(m, e)[k].bytes + 3) / 4 * 4);
    }
    return failed ? EK_GPU_NO_MEMORY : EK_GPU_OK;
}

/* Where inputs and outputs of a run are: host memory of the caller, or device memory of the caller (`ports`). */
struct ek_gpu_io {
    const struct ek_gpu_entry *entry;
    const void *const *inputs;
    void *const *outputs;
    void *const *ports;
    void *state; /* in the struct of the CPU */
};

/* Tell a kernel where its buffers are; of those of the caller only, if there are any. */
static int ek_gpu_bind(struct ek_gpu *g, uint32_t i, const struct ek_gpu_io *io)
{
    const struct ek_gpu_dispatch *const d = g->model.dispatches + i;
    int failed = 0;
    for (ek_cl_uint b = 0; b < d->buffers; b++) {
        const struct ek_gpu_span *const span = d->span + b;
        void *const *const memory = io && span->memory >= EK_GPU_PORTS
                                        ? io->ports + span->memory - io->entry->memory
                                        : g->memory + span->memory;
        failed |= g->cl.SetKernelArg(g->kernels[i], 2 * b, sizeof *memory, memory);
        failed |= g->cl.SetKernelArg(g->kernels[i], 2 * b + 1, sizeof span->first, &span->first);
    }
    return failed;
}

static enum ek_gpu_status ek_gpu_prepare(struct ek_gpu *g)
{
    for (uint32_t i = 0; i < g->model.count; i++) {
        const struct ek_gpu_dispatch *const d = g->model.dispatches + i;
        char name[8] = "k", digits[6];
        int length = 0, failed = 0;
        uint32_t rest = d->entry;
        do
            digits[length++] = (char)('0' + rest % 10);
        while (rest /= 10);
        for (int k = 0; k < length; k++)
            name[1 + k] = digits[length - 1 - k];
        g->kernels[i] = g->cl.CreateKernel(g->program, name, NULL);
        if (!g->kernels[i])
            return EK_GPU_NOT_BUILT;
        failed = ek_gpu_bind(g, i, NULL);
        for (ek_cl_uint v = 0; v < d->values; v++)
            failed |=
                g->cl.SetKernelArg(g->kernels[i], 2u * d->buffers + v, 4, g->model.values + d->first + v);
        if (failed)
            return EK_GPU_NOT_BUILT;
    }
    return EK_GPU_OK;
}

#endif
