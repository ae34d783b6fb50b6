#ifndef TASK_STAND_IN_H
#define TASK_STAND_IN_H

#include <stdlib.h>

#include "FreeRTOS.h"

static struct {
    TaskFunction_t function;
    void *parameters;
} stand_in_task;

static inline void *stand_in_main(void *unused)
{
    (void)unused;
    stand_in_task.function(stand_in_task.parameters);
    return NULL;
}

static inline UBaseType_t uxTaskPriorityGet(TaskHandle_t task)
{
    return task ? 0 : 1;
}

/* Stacks are in words of StackType_t, but for ESP-IDF, whose words are bytes. */
static inline TaskHandle_t stand_in_create(TaskFunction_t function, const char *name, uint32_t depth,
    void *parameters, UBaseType_t priority, StackType_t *stack, StaticTask_t *task)
{
    stand_in_task.function = function;
    stand_in_task.parameters = parameters;
    if (!name || depth * sizeof *stack < 1024 || priority != 1 || !stack
        || pthread_create(task, NULL, stand_in_main, NULL))
        abort();
    return task;
}

#ifdef ESP_PLATFORM
static inline TaskHandle_t xTaskCreateStaticPinnedToCore(TaskFunction_t function, const char *name,
    uint32_t depth, void *parameters, UBaseType_t priority, StackType_t *stack, StaticTask_t *task,
    BaseType_t core)
{
    return core == 1 ? stand_in_create(function, name, depth, parameters, priority, stack, task) : NULL;
}
#else
static inline TaskHandle_t xTaskCreateStaticAffinitySet(TaskFunction_t function, const char *name,
    uint32_t depth, void *parameters, UBaseType_t priority, StackType_t *stack, StaticTask_t *task,
    UBaseType_t cores)
{
    return cores == 2 ? stand_in_create(function, name, depth, parameters, priority, stack, task) : NULL;
}
#endif

#endif
