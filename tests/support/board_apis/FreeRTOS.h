/* What freertos.h uses of FreeRTOS, by POSIX threads: names, types and meaning are those of FreeRTOS 11 and of ESP-IDF. */
#ifndef FREERTOS_STAND_IN_H
#define FREERTOS_STAND_IN_H

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

typedef int BaseType_t;
typedef unsigned UBaseType_t;
typedef uint32_t TickType_t;
typedef pthread_t StaticTask_t;
typedef StaticTask_t *TaskHandle_t;
typedef sem_t StaticSemaphore_t;
typedef sem_t *SemaphoreHandle_t;
typedef void (*TaskFunction_t)(void *);

#ifdef ESP_PLATFORM
typedef uint8_t StackType_t;
#else
typedef uint32_t StackType_t;
#endif

#define pdTRUE 1
#define portMAX_DELAY ((TickType_t)0xffffffff)

#endif
