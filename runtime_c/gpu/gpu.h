/* A model on a GPU: what a host says and hears. The library of OpenCL is looked for at run time; without
 * one, or without a device, models run on the CPU and say why. */
#ifndef EDGEKIT_GPU_H
#define EDGEKIT_GPU_H

#include <stddef.h>
#include <stdint.h>

enum ek_gpu_status {
    EK_GPU_OK = 0,
    EK_GPU_NO_LIBRARY, /* there is no OpenCL */
    EK_GPU_NO_DEVICE, /* it has no device that may be used */
    EK_GPU_NO_MEMORY, /* on the device or here */
    EK_GPU_NOT_BUILT, /* the driver does not compile the kernels */
    EK_GPU_CRASHED, /* an earlier process did not survive the first use: see `store` */
    EK_GPU_WRONG, /* the self-test found other results than those of the CPU */
    EK_GPU_LOST, /* the device or its driver failed at work */
    EK_GPU_ON_CPU, /* device memory is asked of a model that runs on the CPU */
    EK_GPU_BAD_ARGUMENT /* only some of context, device and queue; no stream, or one of another model */
};

/* All zero is a good start. */
struct ek_gpu_config {
    /* The caller's cl_context, cl_device_id and cl_command_queue, in order of execution: all, or none. */
    void *context, *device, *queue;
    const char *library; /* file of OpenCL; NULL: what it is usually called */
    int allow_cpu_device; /* OpenCL on a CPU is slower than the library without it: for tests */
    int no_fallback; /* 1: no GPU is an error; 0: the model runs on the CPU then */
    int self_test; /* 1: results are compared with those of the CPU first */
    /* Compiled kernels are kept in this folder, or by these functions, or not at all. `load` returns how many bytes there
     * are, 0 for none, and fills in as many as fit. `store` of no bytes removes them. A key is a file name. Before its
     * first use of a driver a model leaves a mark there, and removes it afterwards: where one is found, the driver did
     * not survive, and the model stays on the CPU until the mark is removed. */
    const char *cache_folder;
    size_t (*load)(void *user, const char *key, void *data, size_t size);
    void (*store)(void *user, const char *key, const void *data, size_t size);
    void *user;
};

#endif
