/* Runs on made-up numbers, to warm a driver up and to compare it with the CPU. */
#ifndef EDGEKIT_GPU_SELFTEST_H
#define EDGEKIT_GPU_SELFTEST_H

#include "edgekit/gpu_run.h"

/* Made-up numbers within the ranges of the model. */
static void ek_gpu_fill(void *x, const struct ek_gpu_port *port, uint32_t seed)
{
    for (size_t k = 0; k < port->bytes / port->width; k++) {
        const uint32_t some = ((uint32_t)k + seed) * 2654435761u >> 8;
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

/* A step of a stream on made-up numbers, in `room`. `state`: of the CPU, to compare with; NULL without states. */
static enum ek_gpu_status ek_gpu_try_step(struct ek_gpu *g, uint32_t entry, uint32_t seed,
    struct ek_gpu_state *stream, void *state, void **found, unsigned char *room, int compared)
{
    const struct ek_gpu_entry *const e = g->model.entries + entry;
    const struct ek_gpu_port *const port = ek_gpu_ports(&g->model, e);
    const int ports = e->inputs + e->outputs;
    void **const expected = found + ports;
    unsigned char *const arena = (unsigned char *)ek_gpu_aligned(room);
    unsigned char *at = arena + ek_gpu_wide(g->model.cpu_arena_bytes);
    for (int i = 0; i < 2 * ports; at += ek_gpu_wide(port[i++ % ports].bytes))
        found[i] = at;
    for (int i = 0; i < e->inputs; i++) {
        ek_gpu_fill(found[i], port + i, seed);
        ek_gpu_fill(expected[i], port + i, seed);
    }
    enum ek_gpu_status status = ek_gpu_run(g, entry, (const void *const *)found, found + e->inputs, stream);
    if (!status && compared)
        g->model.cpu(entry, (const void *const *)expected, expected + e->inputs, state, arena);
    for (int i = e->inputs; !status && compared && i < ports; i++)
        if (!ek_gpu_agree(found[i], expected[i], port + i))
            status = EK_GPU_WRONG;
    return status;
}

/* Runs on made-up numbers, of each entry: drivers do much of their work at the first. `compared`: with those of the
 * CPU. What is in the states of the model's streams stays. */
static enum ek_gpu_status ek_gpu_try(struct ek_gpu *g, int compared)
{
    const struct ek_gpu_model *const m = &g->model;
    const uint32_t steps = m->cpu_state_bytes && compared ? 4 : 1;
    size_t most = 0, ports = 0;
    for (uint32_t k = 0; k < m->entry_count; k++) {
        const struct ek_gpu_entry *const e = m->entries + k;
        size_t bytes = 0;
        for (int i = 0; i < e->inputs + e->outputs; i++)
            bytes += 2 * ek_gpu_wide(ek_gpu_ports(m, e)[i].bytes);
        most = most > bytes ? most : bytes;
        ports = ports > (size_t)e->inputs + e->outputs ? ports : (size_t)e->inputs + e->outputs;
    }
    unsigned char *const room =
        (unsigned char *)calloc(1, ek_gpu_wide(m->cpu_arena_bytes) + EK_GPU_WIDE + most);
    void **const found = (void **)calloc(ports * 2, sizeof *found);
    struct ek_gpu_state *const stream = m->cpu_state_bytes ? ek_gpu_state_create(g) : NULL;
    void *const state = malloc(m->cpu_state_bytes + 1);
    enum ek_gpu_status status = g->status && !g->arena ? g->status : EK_GPU_NO_MEMORY;
    if (room && found && state && (stream || !m->cpu_state_bytes)) {
        if (m->cpu_state_bytes)
            m->reset(state);
        status = EK_GPU_OK;
        for (uint32_t i = 0; !status && i < steps * m->entry_count; i++)
            status = ek_gpu_try_step(g, i % m->entry_count, i + 1, stream, state, found, room, compared);
    }
    ek_gpu_state_destroy(stream);
    free(state);
    free(room);
    free(found);
    return status;
}

#endif
