/* Runs the plan of a model by OpenCL. Included by the file of a model, which brings tables and the functions of the CPU. */
#ifndef EDGEKIT_RUN_OPENCL_H
#define EDGEKIT_RUN_OPENCL_H

#include "edgekit/gpu_cache.h"
#include "edgekit/opencl.h"

enum { EK_GPU_ARENA, EK_GPU_WEIGHTS, EK_GPU_PORTS }; /* inputs and outputs come from the third place on */

/* A buffer of a kernel: which memory, and its first element. */
struct ek_gpu_span {
    uint16_t memory;
    uint32_t first;
};

struct ek_gpu_dispatch {
    uint16_t entry; /* k<entry> is the name of its kernel */
    uint8_t buffers;
    uint8_t group; /* items of a work-group */
    uint32_t groups;
    uint16_t values; /* constants that are arguments */
    uint32_t first; /* of them in the table */
    struct ek_gpu_span span[5];
};

/* A tensor that a CPU segment reads or writes. */
struct ek_gpu_tensor {
    uint16_t memory;
    size_t first, bytes; /* of that memory */
    size_t place; /* while the CPU runs */
};

/* Layers that the CPU computes between dispatches. */
struct ek_gpu_segment {
    uint32_t before; /* the dispatch that comes next */
    uint16_t inputs, outputs;
    uint32_t first; /* of its tensors in the table */
    size_t arena; /* behind them */
};

/* An input or output. */
struct ek_gpu_port {
    size_t bytes;
    /* Of the self-test: */
    float tolerance; /* of float32, of the largest; 0: integers */
    float low, step; /* an input of float32 is low + step * (0 to 255) */
    uint32_t width; /* bytes of an element */
    uint32_t row; /* elements of a row of a mask, of which the first is set; 0: no mask */
    int32_t least; /* of an input of integers, */
    uint32_t count; /* and how many different ones there are */
    int on_device; /* 0: only the CPU uses it */
};

struct ek_gpu_model {
    const char *source;
    const struct ek_gpu_dispatch *dispatches;
    uint32_t count;
    const uint32_t *values;
    const struct ek_gpu_segment *segments; /* in their order */
    uint32_t segment_count;
    const struct ek_gpu_tensor *tensors;
    size_t segment_bytes; /* that a segment works in, at most */
    void (*segment)(uint32_t number, void *const *tensors, void *arena);
    const void *weights;
    size_t weight_bytes, arena_bytes; /* on the device */
    const struct ek_gpu_port *ports; /* inputs, then outputs */
    uint16_t inputs, outputs;
    size_t cpu_arena_bytes;
    void (*cpu)(const void *const *inputs, void *const *outputs, void *arena);
};

struct ek_gpu {
    struct ek_gpu_model model;
    enum ek_gpu_status status; /* EK_GPU_OK: on the device */
    struct ek_cl cl;
    void *context, *device, *queue, *program;
    const char *options; /* of the compiler */
    int owns;
    void **memory; /* arena, weights, ports */
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
    for (int i = 0; g->memory && i < EK_GPU_PORTS + g->model.inputs + g->model.outputs; i++)
        if (g->memory[i])
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
    for (int i = 0; i < EK_GPU_PORTS + m->inputs + m->outputs; i++) {
        const size_t bytes = i == EK_GPU_ARENA     ? m->arena_bytes
                             : i == EK_GPU_WEIGHTS ? m->weight_bytes
                                                   : (m->ports[i - EK_GPU_PORTS].bytes + 3) / 4 * 4;
        const int is_data = i == EK_GPU_WEIGHTS && bytes;
        g->memory[i] = g->cl.CreateBuffer(g->context, is_data ? EK_CL_READ_ONLY_COPY : EK_CL_READ_WRITE,
            bytes ? bytes : 4, is_data ? (void *)(uintptr_t)m->weights : NULL, NULL);
        if (!g->memory[i])
            return EK_GPU_NO_MEMORY;
    }
    return EK_GPU_OK;
}

/* Tell a kernel where its buffers are; of those of the caller only, if there are any. */
static int ek_gpu_bind(struct ek_gpu *g, uint32_t i, void *const *ports)
{
    const struct ek_gpu_dispatch *const d = g->model.dispatches + i;
    int failed = 0;
    for (ek_cl_uint b = 0; b < d->buffers; b++) {
        const struct ek_gpu_span *const span = d->span + b;
        void *const *const memory = ports && span->memory >= EK_GPU_PORTS
                                        ? ports + span->memory - EK_GPU_PORTS
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

/* Where inputs and outputs are: host memory of the caller, or device memory of the caller (`ports`). */
struct ek_gpu_io {
    const void *const *inputs;
    void *const *outputs;
    void *const *ports;
};

/* The caller's host memory of a tensor, if that has it: of inputs, and of outputs that only the CPU uses. */
static char *ek_gpu_direct(
    const struct ek_gpu_model *m, const struct ek_gpu_tensor *t, const struct ek_gpu_io *io)
{
    const int port = t->memory - EK_GPU_PORTS;
    if (io->ports || port < 0 || (port >= m->inputs && m->ports[port].on_device))
        return NULL;
    return port < m->inputs ? (char *)(uintptr_t)io->inputs[port] : (char *)io->outputs[port - m->inputs];
}

/* Read tensors of a segment from the device, or write them there; those in memory of the caller stay. */
static int ek_gpu_cross(struct ek_gpu *g, const struct ek_gpu_tensor *t, void *const *at, int count,
    int is_write, const struct ek_gpu_io *io)
{
    char *const room = (char *)ek_gpu_aligned(g->room);
    int failed = 0;
    for (int i = 0; !failed && i < count; i++) {
        const int port = t[i].memory - EK_GPU_PORTS;
        void *const memory = io->ports && port >= 0 ? io->ports[port] : g->memory[t[i].memory];
        if (at[i] != room + t[i].place)
            continue;
        if (is_write)
            failed =
                g->cl.EnqueueWriteBuffer(g->queue, memory, 0, t[i].first, t[i].bytes, at[i], 0, NULL, NULL);
        else
            failed =
                g->cl.EnqueueReadBuffer(g->queue, memory, 0, t[i].first, t[i].bytes, at[i], 0, NULL, NULL);
    }
    return failed;
}

/* Compute a segment here, when the device has computed what it reads. */
static int ek_gpu_segment(struct ek_gpu *g, uint32_t number, const struct ek_gpu_io *io)
{
    const struct ek_gpu_segment *const s = g->model.segments + number;
    const struct ek_gpu_tensor *const t = g->model.tensors + s->first;
    char *const room = (char *)ek_gpu_aligned(g->room);
    for (int i = 0; i < s->inputs + s->outputs; i++) {
        char *const direct = ek_gpu_direct(&g->model, t + i, io);
        g->tensors[i] = direct ? direct + t[i].first : room + t[i].place;
    }
    int failed = ek_gpu_cross(g, t, g->tensors, s->inputs, 0, io);
    if (!failed)
        failed = g->cl.Finish(g->queue); /* what an earlier segment wrote has left the room by then, too */
    if (failed)
        return failed;
    g->model.segment(number, g->tensors, room + s->arena);
    return ek_gpu_cross(g, t + s->inputs, g->tensors + s->inputs, s->outputs, 1, io);
}

/* Start all kernels and compute the segments between them; `event` comes behind the last one. */
static int ek_gpu_enqueue(
    struct ek_gpu *g, const struct ek_gpu_io *io, ek_cl_uint waits, ek_cl_events wait, void **event)
{
    uint32_t segment = 0;
    int failed = 0;
    if (waits)
        failed = g->cl.EnqueueMarkerWithWaitList(g->queue, waits, wait, NULL);
    for (uint32_t i = 0; !failed && i <= g->model.count; i++) {
        while (!failed && segment < g->model.segment_count && g->model.segments[segment].before == i)
            failed = ek_gpu_segment(g, segment++, io);
        if (failed || i == g->model.count)
            break;
        const struct ek_gpu_dispatch *const d = g->model.dispatches + i;
        const size_t group = d->group, items = group * d->groups;
        if (io->ports)
            failed = ek_gpu_bind(g, i, io->ports);
        if (!failed)
            failed =
                g->cl.EnqueueNDRangeKernel(g->queue, g->kernels[i], 1, NULL, &items, &group, 0, NULL, NULL);
        if (io->ports)
            failed |= ek_gpu_bind(g, i, NULL);
    }
    if (!failed && event)
        failed = g->cl.EnqueueMarkerWithWaitList(g->queue, 0, NULL, event);
    return failed;
}

/* Start a run on memory of the caller, which stays until the event has come. */
static enum ek_gpu_status ek_gpu_start(struct ek_gpu *g, const void *const *inputs, void *const *outputs,
    ek_cl_uint waits, ek_cl_events wait, void **event)
{
    const struct ek_gpu_model *const m = &g->model;
    const struct ek_gpu_io io = {inputs, outputs, NULL};
    int failed = 0;
    if (event)
        *event = NULL;
    if (g->arena) {
        m->cpu(inputs, outputs, ek_gpu_aligned(g->arena));
        return EK_GPU_OK;
    }
    if (g->status)
        return g->status;
    if (waits)
        failed = g->cl.EnqueueMarkerWithWaitList(g->queue, waits, wait, NULL);
    for (int i = 0; !failed && i < m->inputs; i++)
        if (m->ports[i].on_device)
            failed = g->cl.EnqueueWriteBuffer(
                g->queue, g->memory[EK_GPU_PORTS + i], 0, 0, m->ports[i].bytes, inputs[i], 0, NULL, NULL);
    if (!failed)
        failed = ek_gpu_enqueue(g, &io, 0, NULL, NULL);
    for (int i = 0; !failed && i < m->outputs; i++)
        if (m->ports[m->inputs + i].on_device)
            failed = g->cl.EnqueueReadBuffer(g->queue, g->memory[EK_GPU_PORTS + m->inputs + i], 0, 0,
                m->ports[m->inputs + i].bytes, outputs[i], 0, NULL, NULL);
    if (!failed && event)
        failed = g->cl.EnqueueMarkerWithWaitList(g->queue, 0, NULL, event);
    if (failed || g->cl.Flush(g->queue))
        g->status = EK_GPU_LOST;
    return g->status;
}

/* Start a run on device memory of the caller: inputs, then outputs. */
static enum ek_gpu_status ek_gpu_start_on_device(
    struct ek_gpu *g, void *const *ports, ek_cl_uint waits, ek_cl_events wait, void **event)
{
    const struct ek_gpu_io io = {NULL, NULL, ports};
    if (g->arena)
        return EK_GPU_ON_CPU;
    if (!g->status && (ek_gpu_enqueue(g, &io, waits, wait, event) || g->cl.Flush(g->queue)))
        g->status = EK_GPU_LOST;
    return g->status;
}

static enum ek_gpu_status ek_gpu_wait(struct ek_gpu *g)
{
    if (!g->arena && !g->status && g->cl.Finish(g->queue))
        g->status = EK_GPU_LOST;
    return g->arena ? EK_GPU_OK : g->status;
}

static enum ek_gpu_status ek_gpu_run(struct ek_gpu *g, const void *const *inputs, void *const *outputs)
{
    const enum ek_gpu_status status = ek_gpu_start(g, inputs, outputs, 0, NULL, NULL);
    return status ? status : ek_gpu_wait(g);
}

/* Made-up numbers within the ranges of the model. */
static void ek_gpu_fill(void *x, const struct ek_gpu_port *port)
{
    for (size_t k = 0; k < port->bytes / port->width; k++) {
        const uint32_t some = (uint32_t)(k + 1) * 2654435761u >> 8;
        if (port->tolerance > 0) {
            ((float *)x)[k] = port->low + (float)(some >> 16) * port->step;
        } else {
            const int64_t set = port->row && (k % port->row == 0 || some >> 22);
            const int64_t value = port->row ? set : port->least + (int64_t)(some % port->count);
            for (uint32_t i = 0; i < port->width; i++)
                ((uint8_t *)x)[k * port->width + i] = (uint8_t)((uint64_t)value >> 8 * i);
        }
    }
}

/* Integers are the same; reals differ by the rounding of sums. What is not a number on the CPU is no evidence. */
static int ek_gpu_agree(const void *found, const void *expected, const struct ek_gpu_port *port)
{
    const float *const x = (const float *)found, *const y = (const float *)expected;
    float largest = 1e-3f, off = 0.0f;
    if (!(port->tolerance > 0))
        return !memcmp(found, expected, port->bytes);
    for (size_t k = 0; k < port->bytes / 4; k++) {
        const float size = y[k] < 0 ? -y[k] : y[k], apart = x[k] < y[k] ? y[k] - x[k] : x[k] - y[k];
        if (size > largest && size <= 3.4e38f)
            largest = size;
        if (size >= 0 && x[k] != y[k])
            off = apart <= off ? off : apart; /* not a number: stays */
    }
    return off <= port->tolerance * largest;
}

/* A run on made-up numbers: drivers do much of their work at the first. `compared`: with one of the CPU. */
static enum ek_gpu_status ek_gpu_try(struct ek_gpu *g, int compared)
{
    const struct ek_gpu_model *const m = &g->model;
    const int ports = m->inputs + m->outputs;
    size_t bytes = ek_gpu_wide(m->cpu_arena_bytes) + EK_GPU_WIDE;
    for (int i = 0; i < ports; i++)
        bytes += 2 * ek_gpu_wide(m->ports[i].bytes);
    unsigned char *const room = (unsigned char *)calloc(1, bytes);
    void **const found = (void **)calloc((size_t)ports * 2, sizeof *found), **const expected = found + ports;
    enum ek_gpu_status status = EK_GPU_NO_MEMORY;
    if (room && found) {
        unsigned char *const arena = (unsigned char *)ek_gpu_aligned(room);
        unsigned char *at = arena + ek_gpu_wide(m->cpu_arena_bytes);
        for (int i = 0; i < 2 * ports; at += ek_gpu_wide(m->ports[i++ % ports].bytes))
            found[i] = at;
        for (int i = 0; i < m->inputs; i++) {
            ek_gpu_fill(found[i], m->ports + i);
            ek_gpu_fill(expected[i], m->ports + i);
        }
        status = ek_gpu_run(g, (const void *const *)found, found + m->inputs);
        if (!status && compared)
            m->cpu((const void *const *)expected, expected + m->inputs, arena);
        for (int i = m->inputs; !status && compared && i < ports; i++)
            if (!ek_gpu_agree(found[i], expected[i], m->ports + i))
                status = EK_GPU_WRONG;
    }
    free(room);
    free(found);
    return status;
}

static enum ek_gpu_status ek_gpu_begin(struct ek_gpu *g, const struct ek_gpu_config *config)
{
    char mark[EK_GPU_KEY];
    enum ek_gpu_status status = ek_gpu_connect(g, config);
    if (status)
        return status;
    const uint64_t source = ek_gpu_source(g);
    ek_gpu_key(mark, source, ".tried");
    if (ek_gpu_load(config, mark, NULL, 0))
        return EK_GPU_CRASHED;
    ek_gpu_store(config, mark, "?", 1);
    status = ek_gpu_build(g, config, source);
    if (!status)
        status = ek_gpu_allocate(g);
    if (!status)
        status = ek_gpu_prepare(g);
    if (!status && config->self_test)
        status = ek_gpu_try(g, 1);
    ek_gpu_store(config, mark, NULL, 0);
    return status;
}

/* NULL where there is no memory, or no GPU and no fallback; `status` says why, and why a model is on the CPU. */
static struct ek_gpu *ek_gpu_create(
    const struct ek_gpu_model *model, const struct ek_gpu_config *config, enum ek_gpu_status *status)
{
    struct ek_gpu_config usual;
    struct ek_gpu *const g = (struct ek_gpu *)calloc(1, sizeof *g);
    *status = EK_GPU_NO_MEMORY;
    if (!g)
        return NULL;
    memset(&usual, 0, sizeof usual);
    config = config ? config : &usual;
    g->model = *model;
    g->memory = (void **)calloc((size_t)EK_GPU_PORTS + model->inputs + model->outputs, sizeof *g->memory);
    g->kernels = (void **)calloc(model->count + 1, sizeof *g->kernels);
    if (g->memory && g->kernels)
        *status = ek_gpu_begin(g, config);
    g->status = *status;
    if (*status && !config->no_fallback && *status != EK_GPU_BAD_ARGUMENT)
        g->arena = malloc(model->cpu_arena_bytes + EK_GPU_WIDE);
    if (*status && !g->arena) {
        ek_gpu_destroy(g);
        return NULL;
    }
    return g;
}

#endif
