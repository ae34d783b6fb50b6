#ifndef SEMPHR_STAND_IN_H
#define SEMPHR_STAND_IN_H

#include <errno.h>

#include "FreeRTOS.h"

static inline SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t *memory)
{
    return sem_init(memory, 0, 0) ? NULL : memory;
}

static inline BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore)
{
    return sem_post(semaphore) == 0;
}

static inline BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks)
{
    (void)ticks;
    while (sem_wait(semaphore))
        if (errno != EINTR)
            return 0;
    return pdTRUE;
}

#endif
