/* Runs the plan of a model: kernels on the device, and CPU segments between them. */
#ifndef EDGEKIT_GPU_RUN_H
#define EDGEKIT_GPU_RUN_H

#include "edgekit/gpu_states.h"

/* The caller's host memory of a tensor, if that has it: of inputs, and of outputs that only the CPU uses. */
static char *ek_gpu_direct(
    const struct ek_gpu_model *m, const struct ek_gpu_tensor *t, const struct ek_gpu_io *io)
{
    const struct ek_gpu_entry *const e = io->entry;
    const int port = t->memory - e->memory;
    if (io->ports || t->memory < EK_GPU_PORTS || (port >= e->inputs && ek_gpu_ports(m, e)[port].on_device))
        return NULL;
    return port < e->inputs ? (char *)(uintptr_t)io->inputs[port] : (char *)io->outputs[port - e->inputs];
}

/* Read tensors of a segment from the device, or write them there; those in memory of the caller stay. */
static int ek_gpu_cross(struct ek_gpu *g, const struct ek_gpu_tensor *t, void *const *at, int count,
    int is_write, const struct ek_gpu_io *io)
{
    char *const room = (char *)ek_gpu_aligned(g->room);
    int failed = 0;
    for (int i = 0; !failed && i < count; i++) {
        const int is_port = io->ports && t[i].memory >= EK_GPU_PORTS;
        void *const memory = is_port ? io->ports[t[i].memory - io->entry->memory] : g->memory[t[i].memory];
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
    g->model.segment(number, g->tensors, io->state, room + s->arena);
    return ek_gpu_cross(g, t + s->inputs, g->tensors + s->inputs, s->outputs, 1, io);
}

/* Start all kernels and compute the segments between them; `event` comes behind the last one. */
static int ek_gpu_enqueue(
    struct ek_gpu *g, const struct ek_gpu_io *io, ek_cl_uint waits, ek_cl_events wait, void **event)
{
    const struct ek_gpu_entry *const e = io->entry;
    uint32_t segment = 0;
    int failed = 0;
    if (waits)
        failed = g->cl.EnqueueMarkerWithWaitList(g->queue, waits, wait, NULL);
    for (uint32_t k = 0; !failed && k <= e->count; k++) {
        const uint32_t i = e->first + k;
        for (; !failed && segment < e->segments && g->model.segments[e->segment + segment].before == k;
            segment++)
            failed = ek_gpu_segment(g, e->segment + segment, io);
        if (failed || k == e->count)
            break;
        const struct ek_gpu_dispatch *const d = g->model.dispatches + i;
        const size_t group = d->group, items = group * d->groups;
        if (io->ports)
            failed = ek_gpu_bind(g, i, io);
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
static enum ek_gpu_status ek_gpu_start(struct ek_gpu *g, uint32_t entry, const void *const *inputs,
    void *const *outputs, struct ek_gpu_state *state, ek_cl_uint waits, ek_cl_events wait, void **event)
{
    const struct ek_gpu_entry *const e = g->model.entries + entry;
    const struct ek_gpu_port *const ports = ek_gpu_ports(&g->model, e);
    const struct ek_gpu_io io = {e, inputs, outputs, NULL, state ? state->here : NULL};
    int failed = 0;
    if (event)
        *event = NULL;
    if (ek_gpu_is_foreign(g, e, state))
        return EK_GPU_BAD_ARGUMENT;
    if (g->arena) {
        g->model.cpu(entry, inputs, outputs, io.state, ek_gpu_aligned(g->arena));
        return EK_GPU_OK;
    }
    if (g->status)
        return g->status;
    failed = ek_gpu_take(g, state);
    if (!failed && waits)
        failed = g->cl.EnqueueMarkerWithWaitList(g->queue, waits, wait, NULL);
    for (int i = 0; !failed && i < e->inputs; i++)
        if (ports[i].on_device)
            failed = g->cl.EnqueueWriteBuffer(
                g->queue, g->memory[e->memory + i], 0, 0, ports[i].bytes, inputs[i], 0, NULL, NULL);
    if (!failed)
        failed = ek_gpu_enqueue(g, &io, 0, NULL, NULL);
    for (int i = e->inputs; !failed && i < e->inputs + e->outputs; i++)
        if (ports[i].on_device)
            failed = g->cl.EnqueueReadBuffer(g->queue, g->memory[e->memory + i], 0, 0, ports[i].bytes,
                outputs[i - e->inputs], 0, NULL, NULL);
    if (!failed && event)
        failed = g->cl.EnqueueMarkerWithWaitList(g->queue, 0, NULL, event);
    if (failed || g->cl.Flush(g->queue))
        g->status = EK_GPU_LOST;
    return g->status;
}

/* Start a run on device memory of the caller: inputs, then outputs. */
static enum ek_gpu_status ek_gpu_start_on_device(struct ek_gpu *g, uint32_t entry, void *const *ports,
    struct ek_gpu_state *state, ek_cl_uint waits, ek_cl_events wait, void **event)
{
    const struct ek_gpu_io io = {g->model.entries + entry, NULL, NULL, ports, state ? state->here : NULL};
    if (ek_gpu_is_foreign(g, io.entry, state))
        return EK_GPU_BAD_ARGUMENT;
    if (g->arena)
        return EK_GPU_ON_CPU;
    if (!g->status
        && (ek_gpu_take(g, state) || ek_gpu_enqueue(g, &io, waits, wait, event) || g->cl.Flush(g->queue)))
        g->status = EK_GPU_LOST;
    return g->status;
}

static enum ek_gpu_status ek_gpu_wait(struct ek_gpu *g)
{
    if (!g->arena && !g->status && g->cl.Finish(g->queue))
        g->status = EK_GPU_LOST;
    return g->arena ? EK_GPU_OK : g->status;
}

static enum ek_gpu_status ek_gpu_run(struct ek_gpu *g, uint32_t entry, const void *const *inputs,
    void *const *outputs, struct ek_gpu_state *state)
{
    const enum ek_gpu_status status = ek_gpu_start(g, entry, inputs, outputs, state, 0, NULL, NULL);
    return status ? status : ek_gpu_wait(g);
}

#endif
