/* Grand Central Dispatch as far as gcd.h uses it, by POSIX threads: four take the calls of dispatch_apply_f. */
#ifndef DISPATCH_DISPATCH_H
#define DISPATCH_DISPATCH_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned qos_class_t;
typedef struct test_queue *dispatch_queue_t;
#define QOS_CLASS_USER_INITIATED 0x19u

struct test_calls {
    size_t count, next;
    void *context;
    void (*work)(void *context, size_t index);
};

static inline dispatch_queue_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags)
{
    (void)identifier;
    (void)flags;
    return 0;
}

static inline void *test_thread(void *of)
{
    struct test_calls *const calls = (struct test_calls *)of;
    for (;;) {
        const size_t index = __atomic_fetch_add(&calls->next, 1, __ATOMIC_SEQ_CST);
        if (index >= calls->count)
            return 0;
        calls->work(calls->context, index);
    }
}

static inline void dispatch_apply_f(
    size_t count, dispatch_queue_t queue, void *context, void (*work)(void *context, size_t index))
{
    struct test_calls calls = {count, 0, context, work};
    pthread_t threads[4];
    (void)queue;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, test_thread, &calls);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
}

#endif
