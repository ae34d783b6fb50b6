/* A model on a device of OpenCL, or on the CPU. Included by the file of a model, which brings tables and the functions
 * of the CPU. */
#ifndef EDGEKIT_RUN_OPENCL_H
#define EDGEKIT_RUN_OPENCL_H

#include "edgekit/gpu_selftest.h"

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
    g->memory = (void **)calloc(model->memories, sizeof *g->memory);
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
