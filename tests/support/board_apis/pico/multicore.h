/* What pico.h uses of the Pico SDK, by POSIX threads: a second core, and a FIFO of eight words to each core. */
#ifndef MULTICORE_STAND_IN_H
#define MULTICORE_STAND_IN_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct stand_in_fifo {
    uint32_t words[8];
    int count;
};

static pthread_mutex_t stand_in_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stand_in_change = PTHREAD_COND_INITIALIZER;
static struct stand_in_fifo stand_in_fifos[2]; /* to core 0, and to core 1 */
static pthread_t stand_in_core1;
static void (*stand_in_entry)(void);

static inline int stand_in_core(void)
{
    return stand_in_entry && pthread_equal(pthread_self(), stand_in_core1);
}

static inline void multicore_fifo_push_blocking(uint32_t word)
{
    pthread_mutex_lock(&stand_in_mutex);
    struct stand_in_fifo *const fifo = &stand_in_fifos[!stand_in_core()];
    while (fifo->count == 8)
        pthread_cond_wait(&stand_in_change, &stand_in_mutex);
    fifo->words[fifo->count++] = word;
    pthread_cond_broadcast(&stand_in_change);
    pthread_mutex_unlock(&stand_in_mutex);
}

static inline uint32_t multicore_fifo_pop_blocking(void)
{
    pthread_mutex_lock(&stand_in_mutex);
    struct stand_in_fifo *const fifo = &stand_in_fifos[stand_in_core()];
    while (fifo->count == 0)
        pthread_cond_wait(&stand_in_change, &stand_in_mutex);
    const uint32_t word = fifo->words[0];
    fifo->count--;
    for (int i = 0; i < fifo->count; i++)
        fifo->words[i] = fifo->words[i + 1];
    pthread_cond_broadcast(&stand_in_change);
    pthread_mutex_unlock(&stand_in_mutex);
    return word;
}

static inline void *stand_in_main(void *unused)
{
    pthread_mutex_lock(&stand_in_mutex); /* until it is known which thread this is */
    pthread_mutex_unlock(&stand_in_mutex);
    stand_in_entry();
    return unused;
}

static inline void multicore_launch_core1_with_stack(
    void (*entry)(void), uint32_t *stack_bottom, size_t stack_size_bytes)
{
    pthread_mutex_lock(&stand_in_mutex);
    stand_in_entry = entry;
    if (!stack_bottom || stack_size_bytes < 1024
        || pthread_create(&stand_in_core1, NULL, stand_in_main, NULL))
        abort();
    pthread_mutex_unlock(&stand_in_mutex);
}

#endif
