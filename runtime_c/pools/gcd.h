/* The threads of Grand Central Dispatch for <model>_run_parallel, on macOS and iOS. Include this in one file:
 *
 *     static struct ek_gcd gcd;
 *     ek_gcd_start(&gcd, QOS_CLASS_USER_INITIATED);
 *     digits_run_parallel(image, scores, arena, &gcd.pool);
 *
 * The system chooses how many of its threads take part, by the load and by the class of quality. It keeps and ends them:
 * there is nothing to stop. */
#ifndef EDGEKIT_GCD_H
#define EDGEKIT_GCD_H

#include <dispatch/dispatch.h>

#include "edgekit/pool.h"

struct ek_gcd {
    struct ek_pool pool;
    dispatch_queue_t queue;
};

struct ek_gcd_parts {
    void (*part)(void *job, int32_t index);
    void *job;
};

static void ek_gcd_part(void *ctx, size_t index)
{
    const struct ek_gcd_parts *const parts = (const struct ek_gcd_parts *)ctx;
    parts->part(parts->job, (int32_t)index);
}

static inline void ek_gcd_run(void *ctx, void (*part)(void *job, int32_t index), void *job, int32_t parts)
{
    const struct ek_gcd *const g = (const struct ek_gcd *)ctx;
    struct ek_gcd_parts all = {part, job};
    dispatch_apply_f((size_t)parts, g->queue, &all, ek_gcd_part);
}

/* `quality` is one of QOS_CLASS_...: what waits for the results. */
static inline void ek_gcd_start(struct ek_gcd *g, qos_class_t quality)
{
    g->pool.run = ek_gcd_run;
    g->pool.ctx = g;
    g->queue = dispatch_get_global_queue((intptr_t)quality, 0);
}

#endif
