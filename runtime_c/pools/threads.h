/* A pool of threads for <model>_run_parallel: POSIX threads, those of Windows, or workers. Include this in one file:
 *
 *     static struct ek_threads threads;
 *     ek_threads_start(&threads, 4);              the caller is one of the four
 *     digits_run_parallel(image, scores, arena, &threads.pool);
 *     ek_threads_stop(&threads);
 *
 * Threads are made at the start only. Between layers they spin EK_THREADS_SPINS times at most, then they sleep until there
 * is work. One pool serves one caller at a time.
 *
 * In WebAssembly JavaScript makes the threads: workers with the same memory and a stack each, which call ek_threads_work.
 * The main thread of a page must not sleep, and spins until the last part is done: `end.may_sleep` tells the others. */
#ifndef EDGEKIT_THREADS_H
#define EDGEKIT_THREADS_H

#include "edgekit/pool.h"

#ifdef _WIN32
#include <windows.h>
#elif !defined(__wasm__)
#include <pthread.h>
#endif

/* Linux: the threads keep off the processor that starts them, if they may use others (affinity). Some kernels, those of small
 * virtual machines among them, leave a thread for many milliseconds on the processor of the caller, who waits for it. */
#ifndef EK_THREADS_APART
#define EK_THREADS_APART 1
#endif
#if defined(__linux__) && EK_THREADS_APART
#include <sys/syscall.h>
#include <unistd.h>
#ifndef __cplusplus
extern long syscall(long number, ...); /* which standard C hides */
#endif
#endif

#ifndef EK_THREADS_MAX
#define EK_THREADS_MAX 64
#endif
#ifndef EK_THREADS_SPINS
#define EK_THREADS_SPINS 200000
#endif

#ifdef _WIN32
typedef HANDLE ek_thread;
typedef SRWLOCK ek_mutex;
typedef CONDITION_VARIABLE ek_condition;
#define EK_LOCK(mutex) AcquireSRWLockExclusive(mutex)
#define EK_UNLOCK(mutex) ReleaseSRWLockExclusive(mutex)
#define EK_WAIT(condition, mutex) SleepConditionVariableSRW(condition, mutex, INFINITE, 0)
#define EK_WAKE(condition) WakeAllConditionVariable(condition)
#elif defined(__wasm__)
typedef int32_t ek_thread, ek_mutex;
typedef struct {
    int32_t woken, may_sleep;
} ek_condition;
#define EK_LOCK(mutex) ek_lock(mutex)
#define EK_UNLOCK(mutex) __atomic_store_n(mutex, 0, __ATOMIC_SEQ_CST)
#define EK_WAIT(condition, mutex) ek_wait(condition, mutex)
#define EK_WAKE(condition) ek_wake(condition)
static inline void ek_lock(ek_mutex *mutex)
{
    while (__atomic_exchange_n(mutex, 1, __ATOMIC_SEQ_CST))
        ; /* it is never held for long */
}
static inline void ek_wake(ek_condition *condition)
{
    __atomic_fetch_add(&condition->woken, 1, __ATOMIC_SEQ_CST);
    __builtin_wasm_memory_atomic_notify(&condition->woken, 0xFFFFFFFF);
}
static inline void ek_wait(ek_condition *condition, ek_mutex *mutex)
{
    const int32_t woken = __atomic_load_n(&condition->woken, __ATOMIC_SEQ_CST);
    EK_UNLOCK(mutex);
    if (condition->may_sleep)
        __builtin_wasm_memory_atomic_wait32(&condition->woken, woken, -1);
    EK_LOCK(mutex);
}
#else
typedef pthread_t ek_thread;
typedef pthread_mutex_t ek_mutex;
typedef pthread_cond_t ek_condition;
#define EK_LOCK(mutex) pthread_mutex_lock(mutex)
#define EK_UNLOCK(mutex) pthread_mutex_unlock(mutex)
#define EK_WAIT(condition, mutex) pthread_cond_wait(condition, mutex)
#define EK_WAKE(condition) pthread_cond_broadcast(condition)
#endif

#if defined(_MSC_VER) && !defined(__clang__)
typedef volatile LONG ek_atomic;
#define EK_ATOMIC_GET(at) InterlockedCompareExchange(at, 0, 0)
#define EK_ATOMIC_SET(at, value) InterlockedExchange(at, value)
#define EK_ATOMIC_ADD(at, value) InterlockedExchangeAdd(at, value)
#define EK_ATOMIC_SWAP(at, old, value) (InterlockedCompareExchange(at, value, old) == (old))
#define EK_PAUSE() YieldProcessor()
#else
typedef int32_t ek_atomic;
#define EK_ATOMIC_GET(at) __atomic_load_n(at, __ATOMIC_SEQ_CST)
#define EK_ATOMIC_SET(at, value) __atomic_store_n(at, value, __ATOMIC_SEQ_CST)
#define EK_ATOMIC_ADD(at, value) __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST)
#define EK_ATOMIC_SWAP(at, old, value) ek_atomic_swap(at, old, value)
static inline int ek_atomic_swap(int32_t *at, int32_t old, int32_t value)
{
    return __atomic_compare_exchange_n(at, &old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#if defined(__i386__) || defined(__x86_64__)
/* Not pause: in a virtual machine many of them in a row hand the processor to another one. */
#define EK_PAUSE() __asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop")
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
#define EK_PAUSE() __asm__ volatile("yield")
#else
#define EK_PAUSE() (void)0
#endif
#endif

struct ek_threads {
    struct ek_pool pool;
    void (*part)(void *job, int32_t index); /* these three change while all parts are done */
    void *job;
    int32_t all; /* what `done` will be then */
    ek_atomic ticket; /* 65536 times the number of parts, and the next one to be taken */
    uint8_t apart[64]; /* in another cache line */
    ek_atomic done; /* parts that have returned, of all runs: the caller only reads it */
    ek_atomic is_waiting; /* the caller sleeps until all parts are done */
    ek_atomic sleeping; /* threads that sleep until there is work */
    ek_atomic is_over;
    ek_mutex mutex;
    ek_condition work, end;
    int32_t threads; /* without the caller's */
    uint32_t processor; /* that started them */
    ek_thread thread[EK_THREADS_MAX];
};

static inline int ek_threads_has_work(struct ek_threads *t)
{
    const int32_t ticket = EK_ATOMIC_GET(&t->ticket);
    return (ticket & 0xFFFF) < ticket >> 16;
}

/* Takes parts until none is left. A thread that comes late with the ticket of an earlier layer finds another one there,
 * or the same: then that part is to be done as well. */
static inline void ek_threads_take(struct ek_threads *t)
{
    for (;;) {
        const int32_t ticket = EK_ATOMIC_GET(&t->ticket), index = ticket & 0xFFFF, parts = ticket >> 16;
        if (index >= parts)
            return;
        if (!EK_ATOMIC_SWAP(&t->ticket, ticket, ticket + 1))
            continue;
        const int32_t others = (int32_t)((uint32_t)t->all - 1);
        t->part(t->job, index);
        if (EK_ATOMIC_ADD(&t->done, 1) == others && EK_ATOMIC_GET(&t->is_waiting)) {
            EK_LOCK(&t->mutex);
            EK_WAKE(&t->end);
            EK_UNLOCK(&t->mutex);
        }
    }
}

static inline void ek_threads_work(struct ek_threads *t)
{
    for (;;) {
        for (int32_t spins = 0; spins < EK_THREADS_SPINS && !ek_threads_has_work(t); spins++)
            EK_PAUSE();
        if (!ek_threads_has_work(t)) {
            EK_LOCK(&t->mutex);
            EK_ATOMIC_ADD(&t->sleeping, 1);
            while (!ek_threads_has_work(t) && !EK_ATOMIC_GET(&t->is_over))
                EK_WAIT(&t->work, &t->mutex);
            EK_ATOMIC_ADD(&t->sleeping, -1);
            EK_UNLOCK(&t->mutex);
            if (EK_ATOMIC_GET(&t->is_over))
                return;
        }
        ek_threads_take(t);
    }
}

static inline void ek_threads_run(void *ctx, void (*part)(void *job, int32_t index), void *job, int32_t parts)
{
    struct ek_threads *const t = (struct ek_threads *)ctx;
    const int32_t all = (int32_t)((uint32_t)t->all + (uint32_t)parts - 1);
    t->part = part;
    t->job = job;
    t->all = all;
    EK_ATOMIC_SET(&t->ticket, parts * 65536 + 1);
    if (EK_ATOMIC_GET(&t->sleeping)) {
        EK_LOCK(&t->mutex);
        EK_WAKE(&t->work);
        EK_UNLOCK(&t->mutex);
    }
    part(job, 0); /* that of the caller in each layer: what it writes is in its cache for the next one */
    ek_threads_take(t);
    for (int32_t spins = 0; spins < EK_THREADS_SPINS && EK_ATOMIC_GET(&t->done) != all; spins++)
        EK_PAUSE();
    if (EK_ATOMIC_GET(&t->done) != all) {
        EK_LOCK(&t->mutex);
        EK_ATOMIC_SET(&t->is_waiting, 1);
        while (EK_ATOMIC_GET(&t->done) != all)
            EK_WAIT(&t->end, &t->mutex);
        EK_ATOMIC_SET(&t->is_waiting, 0);
        EK_UNLOCK(&t->mutex);
    }
}

/* Takes a processor out of those that this thread may use, unless it is the only one. */
static inline void ek_threads_avoid(uint32_t processor)
{
#if defined(__linux__) && EK_THREADS_APART
    enum { BITS = 8 * sizeof(unsigned long), WORDS = 1024 / BITS };
    unsigned long allowed[WORDS] = {0}, others = 0;
    if (processor >= 1024 || syscall(SYS_sched_getaffinity, 0, sizeof allowed, allowed) <= 0)
        return;
    allowed[processor / BITS] &= ~(1UL << processor % BITS);
    for (uint32_t i = 0; i < WORDS; i++)
        others |= allowed[i];
    if (others)
        (void)syscall(SYS_sched_setaffinity, 0, sizeof allowed, allowed);
#else
    (void)processor;
#endif
}

#ifdef _WIN32
static inline DWORD WINAPI ek_threads_main(LPVOID t)
#else
static inline void *ek_threads_main(void *t)
#endif
{
    ek_threads_avoid(((struct ek_threads *)t)->processor);
    ek_threads_work((struct ek_threads *)t);
    return 0;
}

#ifdef __wasm__
/* Before the first worker begins. */
static inline void ek_threads_start(struct ek_threads *t, int32_t may_sleep)
{
    t->pool.run = ek_threads_run;
    t->pool.ctx = t;
    t->work.may_sleep = 1;
    t->end.may_sleep = may_sleep;
}
#else
/* Makes so many threads less the caller's; how many there are then, with it: fewer where the system has no more. */
static inline int32_t ek_threads_start(struct ek_threads *t, int32_t threads)
{
    t->pool.run = ek_threads_run;
    t->pool.ctx = t;
    t->ticket = t->all = t->done = t->is_waiting = t->sleeping = t->is_over = 0;
    t->threads = 0;
    t->processor = UINT32_MAX;
#if defined(__linux__) && EK_THREADS_APART
    (void)syscall(SYS_getcpu, &t->processor, (void *)0, (void *)0);
#endif
#ifdef _WIN32
    InitializeSRWLock(&t->mutex);
    InitializeConditionVariable(&t->work);
    InitializeConditionVariable(&t->end);
#else
    pthread_mutex_init(&t->mutex, 0);
    pthread_cond_init(&t->work, 0);
    pthread_cond_init(&t->end, 0);
#endif
    while (t->threads < threads - 1 && t->threads < EK_THREADS_MAX) {
        ek_thread *const next = &t->thread[t->threads];
#ifdef _WIN32
        *next = CreateThread(0, 0, ek_threads_main, t, 0, 0);
        if (!*next)
            break;
#else
        if (pthread_create(next, 0, ek_threads_main, t))
            break;
#endif
        t->threads++;
    }
    return t->threads + 1;
}

/* Ends the threads; no run may be under way. */
static inline void ek_threads_stop(struct ek_threads *t)
{
    EK_LOCK(&t->mutex);
    EK_ATOMIC_SET(&t->is_over, 1);
    EK_WAKE(&t->work);
    EK_UNLOCK(&t->mutex);
    for (int32_t i = 0; i < t->threads; i++) {
#ifdef _WIN32
        WaitForSingleObject(t->thread[i], INFINITE);
        CloseHandle(t->thread[i]);
#else
        pthread_join(t->thread[i], 0);
#endif
    }
#ifndef _WIN32
    pthread_mutex_destroy(&t->mutex);
    pthread_cond_destroy(&t->work);
    pthread_cond_destroy(&t->end);
#endif
}

#endif

#endif
