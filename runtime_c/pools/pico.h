/* Both cores of RP2040 and RP2350 for <model>_run_parallel, with the Pico SDK. Include this in one file:
 *
 *     static struct ek_pico both;
 *     ek_pico_start(&both);                       from core 0; core 1 waits for parts from now on
 *     digits_run_parallel(image, scores, arena, &both.pool);
 *
 * Core 1 does nothing else: it takes every second part, and sleeps between layers, until its FIFO has a word. It has a
 * stack of EK_PICO_STACK bytes. Nothing is allocated. */
#ifndef EDGEKIT_PICO_H
#define EDGEKIT_PICO_H

#include "edgekit/pool.h"

#include "hardware/sync.h"
#include "pico/multicore.h"

#ifndef EK_PICO_STACK
#define EK_PICO_STACK 4096
#endif

struct ek_pico {
    struct ek_pool pool;
    void (*part)(void *job, int32_t index); /* these three change while core 1 sleeps */
    void *job;
    int32_t parts;
    uint32_t stack[EK_PICO_STACK / 4];
};

static struct ek_pico *ek_pico_started;

/* Every second part from number `first` on: RP2040 has no instruction by which cores could share a counter. */
static inline void ek_pico_take(const struct ek_pico *p, int32_t first)
{
    for (int32_t index = first; index < p->parts; index += 2)
        p->part(p->job, index);
}

static inline void ek_pico_run(void *ctx, void (*part)(void *job, int32_t index), void *job, int32_t parts)
{
    struct ek_pico *const p = (struct ek_pico *)ctx;
    p->part = part;
    p->job = job;
    p->parts = parts;
    __dmb();
    multicore_fifo_push_blocking(1);
    ek_pico_take(p, 0);
    (void)multicore_fifo_pop_blocking();
    __dmb();
}

static inline void ek_pico_core1(void)
{
    for (;;) {
        (void)multicore_fifo_pop_blocking();
        __dmb();
        ek_pico_take(ek_pico_started, 1);
        __dmb();
        multicore_fifo_push_blocking(1);
    }
}

static inline void ek_pico_start(struct ek_pico *p)
{
    p->pool.run = ek_pico_run;
    p->pool.ctx = p;
    ek_pico_started = p;
    multicore_launch_core1_with_stack(ek_pico_core1, p->stack, sizeof p->stack);
}

#endif
