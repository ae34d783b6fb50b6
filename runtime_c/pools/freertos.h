/* A pool of two tasks for <model>_run_parallel on FreeRTOS with several cores, that of ESP-IDF too. Include this in one
 * file:
 *
 *     static struct ek_freertos both;
 *     ek_freertos_start(&both, 1);                core 1 takes parts, the caller is a task on another core
 *     digits_run_parallel(image, scores, arena, &both.pool);
 *
 * The task on that core is there for good and sleeps between layers; nothing is allocated. It has the caller's priority,
 * and a stack of EK_FREERTOS_STACK bytes. One pool serves one caller at a time. */
#ifndef EDGEKIT_FREERTOS_H
#define EDGEKIT_FREERTOS_H

#include "edgekit/pool.h"

#ifdef ESP_PLATFORM
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "freertos/task.h"
#else
#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"
#endif

#ifndef EK_FREERTOS_STACK
#define EK_FREERTOS_STACK 8192
#endif

struct ek_freertos {
    struct ek_pool pool;
    void (*part)(void *job, int32_t index); /* these three change while the task sleeps */
    void *job;
    int32_t parts;
    int32_t next; /* the next part to be taken */
    SemaphoreHandle_t work, end;
    StaticSemaphore_t work_memory, end_memory;
    StaticTask_t task;
    StackType_t stack[EK_FREERTOS_STACK / sizeof(StackType_t)];
};

/* Takes parts until none is left. */
static inline void ek_freertos_take(struct ek_freertos *p)
{
    for (;;) {
        const int32_t index = __atomic_fetch_add(&p->next, 1, __ATOMIC_SEQ_CST);
        if (index >= p->parts)
            return;
        p->part(p->job, index);
    }
}

static inline void ek_freertos_run(
    void *ctx, void (*part)(void *job, int32_t index), void *job, int32_t parts)
{
    struct ek_freertos *const p = (struct ek_freertos *)ctx;
    p->part = part;
    p->job = job;
    p->parts = parts;
    __atomic_store_n(&p->next, 0, __ATOMIC_SEQ_CST);
    xSemaphoreGive(p->work);
    ek_freertos_take(p);
    xSemaphoreTake(p->end, portMAX_DELAY);
}

static inline void ek_freertos_task(void *ctx)
{
    struct ek_freertos *const p = (struct ek_freertos *)ctx;
    for (;;) {
        xSemaphoreTake(p->work, portMAX_DELAY);
        ek_freertos_take(p);
        xSemaphoreGive(p->end);
    }
}

/* Makes the task, on this core. */
static inline void ek_freertos_start(struct ek_freertos *p, int core)
{
    p->pool.run = ek_freertos_run;
    p->pool.ctx = p;
    p->work = xSemaphoreCreateBinaryStatic(&p->work_memory);
    p->end = xSemaphoreCreateBinaryStatic(&p->end_memory);
#ifdef ESP_PLATFORM /* which counts stacks in bytes */
    xTaskCreateStaticPinnedToCore(
        ek_freertos_task, "edgekit", sizeof p->stack, p, uxTaskPriorityGet(NULL), p->stack, &p->task, core);
#else
    xTaskCreateStaticAffinitySet(ek_freertos_task, "edgekit", sizeof p->stack / sizeof p->stack[0], p,
        uxTaskPriorityGet(NULL), p->stack, &p->task, (UBaseType_t)1 << core);
#endif
}

#endif
