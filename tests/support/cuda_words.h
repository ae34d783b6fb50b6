/* What nvcc knows of itself: for clang without CUDA's headers, and for a processor, whose threads of a block take
 * turns at barriers. */
#define __launch_bounds__(threads)
#define memcpy __builtin_memcpy

#ifdef __CUDA__
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#include <__clang_cuda_builtin_vars.h>
#define FROM_THE_LIBRARY extern "C" __device__
FROM_THE_LIBRARY int __mulhi(int, int);
FROM_THE_LIBRARY unsigned __umulhi(unsigned, unsigned);
FROM_THE_LIBRARY int __clz(int);
FROM_THE_LIBRARY int __dp4a(int, int, int);
FROM_THE_LIBRARY float sqrtf(float);
FROM_THE_LIBRARY float floorf(float);
FROM_THE_LIBRARY float fabsf(float);
FROM_THE_LIBRARY float rintf(float);
__device__ void __syncthreads() __asm__("llvm.nvvm.barrier0");
#else
#include <math.h>
#include <ucontext.h>
#define __device__ static
#define __global__
#define __shared__ static
#define __restrict__
static struct words {
    unsigned x, y;
} threadIdx, blockIdx, gridDim;

__device__ inline int __mulhi(int a, int b)
{
    return (int)(((long long)a * b) >> 32);
}
__device__ inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)(((unsigned long long)a * b) >> 32);
}
__device__ inline int __clz(int a)
{
    return a ? __builtin_clz((unsigned)a) : 32;
}
__device__ inline int __dp4a(int a, int b, int total)
{
    for (int i = 0; i < 32; i += 8) {
        total += (signed char)(a >> i) * (signed char)(b >> i);
    }
    return total;
}

enum { LARGEST_BLOCK = 128, STACK = 64 * 1024 };
static struct thread {
    ucontext_t context;
    bool is_done;
    char stack[STACK];
} threads[LARGEST_BLOCK];
static ucontext_t scheduler;
static const void *job;
static void (*call_job)(const void *);

static void __syncthreads()
{
    swapcontext(&threads[threadIdx.x].context, &scheduler);
}

static void thread_of_a_block()
{
    call_job(job);
    threads[threadIdx.x].is_done = true;
}

/* All threads of all blocks; those of a block run in turns from barrier to barrier. */
template <class Job> static void launch(words grid, unsigned threads_of_block, const Job &work)
{
    job = &work;
    call_job = [](const void *it) { (*(const Job *)it)(); };
    gridDim = grid;
    for (unsigned number = 0; number < grid.x * grid.y; number++) {
        blockIdx = {number % grid.x, number / grid.x};
        for (unsigned i = 0; i < threads_of_block; i++) {
            getcontext(&threads[i].context);
            threads[i].context.uc_stack.ss_sp = threads[i].stack;
            threads[i].context.uc_stack.ss_size = STACK;
            threads[i].context.uc_link = &scheduler;
            threads[i].is_done = false;
            makecontext(&threads[i].context, thread_of_a_block, 0);
        }
        for (bool all_done = false; !all_done;) {
            all_done = true;
            for (unsigned i = 0; i < threads_of_block; i++) {
                if (!threads[i].is_done) {
                    threadIdx.x = i;
                    swapcontext(&scheduler, &threads[i].context);
                    all_done = all_done && threads[i].is_done;
                }
            }
        }
    }
}
#endif

template <class T> __device__ inline T min(T a, T b)
{
    return b < a ? b : a;
}
template <class T> __device__ inline T max(T a, T b)
{
    return a < b ? b : a;
}
