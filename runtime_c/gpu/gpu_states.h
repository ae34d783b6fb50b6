/* The states of streams on a device, or in structs of the CPU. */
#ifndef EDGEKIT_GPU_STATES_H
#define EDGEKIT_GPU_STATES_H

#include "edgekit/gpu_open.h"

/* What a model remembers of a stream. */
struct ek_gpu_state {
    struct ek_gpu *gpu;
    void *memory; /* on the device */
    void *here; /* the struct of the CPU, if the model or a segment runs with it */
};

/* Start the stream anew, behind all runs that were started. */
static enum ek_gpu_status ek_gpu_reset(struct ek_gpu_state *state)
{
    struct ek_gpu *const g = state->gpu;
    const struct ek_gpu_model *const m = &g->model;
    char *const start = (char *)(state->here ? state->here : malloc(m->cpu_state_bytes));
    if (!start)
        return EK_GPU_NO_MEMORY;
    m->reset(start);
    for (uint32_t i = 0; state->memory && !g->status && i < m->field_count; i++) {
        const struct ek_gpu_field *const f = m->fields + i;
        if (g->cl.EnqueueWriteBuffer(
                g->queue, state->memory, 1, f->first, f->bytes, start + f->here, 0, NULL, NULL))
            g->status = EK_GPU_LOST;
    }
    if (start != state->here)
        free(start);
    return g->arena ? EK_GPU_OK : g->status;
}

static void ek_gpu_state_destroy(struct ek_gpu_state *state)
{
    if (!state)
        return;
    struct ek_gpu *const g = state->gpu;
    if (state->memory) {
        if (g->memory[EK_GPU_STATES] == state->memory)
            g->memory[EK_GPU_STATES] = NULL;
        g->cl.Finish(g->queue);
        g->cl.ReleaseMemObject(state->memory);
    }
    free(state->here);
    free(state);
}

/* A stream that begins; NULL where there is no memory, or the device is lost. */
static struct ek_gpu_state *ek_gpu_state_create(struct ek_gpu *g)
{
    const struct ek_gpu_model *const m = &g->model;
    struct ek_gpu_state *const state = (struct ek_gpu_state *)calloc(1, sizeof *state);
    const int is_here = g->arena || m->keeps_states;
    if (!state)
        return NULL;
    state->gpu = g;
    if (is_here)
        state->here = malloc(m->cpu_state_bytes);
    if (!g->arena && m->field_count)
        state->memory = g->cl.CreateBuffer(g->context, EK_CL_READ_WRITE, m->state_bytes, NULL, NULL);
    if ((is_here && !state->here) || (!g->arena && m->field_count && !state->memory) || ek_gpu_reset(state)) {
        ek_gpu_state_destroy(state);
        return NULL;
    }
    return state;
}

/* Is it not a stream of this model, where one is needed? */
static int ek_gpu_is_foreign(
    const struct ek_gpu *g, const struct ek_gpu_entry *e, const struct ek_gpu_state *state)
{
    return e->has_states && (!state || state->gpu != g);
}

/* Let kernels use the states of this stream. */
static int ek_gpu_take(struct ek_gpu *g, const struct ek_gpu_state *state)
{
    int failed = 0;
    if (!state || g->memory[EK_GPU_STATES] == state->memory)
        return 0;
    g->memory[EK_GPU_STATES] = state->memory;
    for (uint32_t i = 0; i < g->model.count; i++)
        failed |= ek_gpu_bind(g, i, NULL);
    return failed;
}

#endif
