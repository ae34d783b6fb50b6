/* What of OpenCL 1.2 is used, and where it is found: no header of it, and no library to link. */
#ifndef EDGEKIT_OPENCL_H
#define EDGEKIT_OPENCL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#define EK_CL_CALL __stdcall
#else
#include <dlfcn.h>
#define EK_CL_CALL
#endif

typedef int32_t ek_cl_int;
typedef uint32_t ek_cl_uint;
typedef uint64_t ek_cl_bits;
typedef const void *const *ek_cl_events;

#define EK_CL_DEVICE_GPU ((ek_cl_bits)1 << 2 | (ek_cl_bits)1 << 3) /* or an accelerator */
#define EK_CL_DEVICE_CPU ((ek_cl_bits)1 << 1)
#define EK_CL_DEVICE_NAME 0x102B
#define EK_CL_DEVICE_EXTENSIONS 0x1030
#define EK_CL_DRIVER_VERSION 0x102D
#define EK_CL_BINARY_SIZES 0x1165
#define EK_CL_BINARIES 0x1166
#define EK_CL_READ_WRITE 1
#define EK_CL_READ_ONLY_COPY (1 << 2 | 1 << 5)

/* The functions by name, in the order of struct ek_cl. */
#define EK_CL_FUNCTIONS(_)                                                                                   \
    _(GetPlatformIDs, ek_cl_int, (ek_cl_uint, void **, ek_cl_uint *))                                        \
    _(GetDeviceIDs, ek_cl_int, (void *, ek_cl_bits, ek_cl_uint, void **, ek_cl_uint *))                      \
    _(GetDeviceInfo, ek_cl_int, (void *, ek_cl_uint, size_t, void *, size_t *))                              \
    _(CreateContext, void *, (const void *, ek_cl_uint, void *const *, const void *, void *, ek_cl_int *))   \
    _(CreateCommandQueue, void *, (void *, void *, ek_cl_bits, ek_cl_int *))                                 \
    _(CreateProgramWithSource, void *,                                                                       \
        (void *, ek_cl_uint, const char *const *, const size_t *, ek_cl_int *))                              \
    _(CreateProgramWithBinary, void *,                                                                       \
        (void *, ek_cl_uint, void *const *, const size_t *, const unsigned char *const *, ek_cl_int *,       \
            ek_cl_int *))                                                                                    \
    _(BuildProgram, ek_cl_int, (void *, ek_cl_uint, void *const *, const char *, const void *, void *))      \
    _(GetProgramInfo, ek_cl_int, (void *, ek_cl_uint, size_t, void *, size_t *))                             \
    _(CreateKernel, void *, (void *, const char *, ek_cl_int *))                                             \
    _(SetKernelArg, ek_cl_int, (void *, ek_cl_uint, size_t, const void *))                                   \
    _(CreateBuffer, void *, (void *, ek_cl_bits, size_t, void *, ek_cl_int *))                               \
    _(EnqueueNDRangeKernel, ek_cl_int,                                                                       \
        (void *, void *, ek_cl_uint, const size_t *, const size_t *, const size_t *, ek_cl_uint,             \
            ek_cl_events, void **))                                                                          \
    _(EnqueueWriteBuffer, ek_cl_int,                                                                         \
        (void *, void *, ek_cl_uint, size_t, size_t, const void *, ek_cl_uint, ek_cl_events, void **))       \
    _(EnqueueReadBuffer, ek_cl_int,                                                                          \
        (void *, void *, ek_cl_uint, size_t, size_t, void *, ek_cl_uint, ek_cl_events, void **))             \
    _(EnqueueMarkerWithWaitList, ek_cl_int, (void *, ek_cl_uint, ek_cl_events, void **))                     \
    _(Flush, ek_cl_int, (void *))                                                                            \
    _(Finish, ek_cl_int, (void *))                                                                           \
    _(ReleaseMemObject, ek_cl_int, (void *))                                                                 \
    _(ReleaseKernel, ek_cl_int, (void *))                                                                    \
    _(ReleaseProgram, ek_cl_int, (void *))                                                                   \
    _(ReleaseCommandQueue, ek_cl_int, (void *))                                                              \
    _(ReleaseContext, ek_cl_int, (void *))

#define EK_CL_MEMBER(name, result, parameters) result(EK_CL_CALL *name) parameters;
struct ek_cl {
    void *library;
    EK_CL_FUNCTIONS(EK_CL_MEMBER)
};

#define EK_CL_TEXT(name, result, parameters) "cl" #name "\0"

static void *ek_cl_load(const char *file)
{
#ifdef _WIN32
    return (void *)LoadLibraryA(file);
#else
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
#endif
}

/* Open the library of this name, or the first of those that systems have. 0: there is none, or it lacks something. */
static int ek_cl_open(struct ek_cl *cl, const char *name)
{
    static const char usual[] =
#ifdef _WIN32
        "OpenCL.dll\0";
#elif defined(__APPLE__)
        "/System/Library/Frameworks/OpenCL.framework/OpenCL\0";
#else
        "libOpenCL.so.1\0libOpenCL.so\0libOpenCL-pixel.so\0"
        "/vendor/lib64/libOpenCL.so\0/system/vendor/lib64/libOpenCL.so\0" /* Android */
        "/vendor/lib64/egl/libGLES_mali.so\0libGLES_mali.so\0libPVROCL.so\0";
#endif
    static const char functions[] = EK_CL_FUNCTIONS(EK_CL_TEXT);
    char *member = (char *)cl + sizeof cl->library;
    cl->library = name ? ek_cl_load(name) : NULL;
    for (const char *file = usual; !name && !cl->library && *file; file += strlen(file) + 1)
        cl->library = ek_cl_load(file);
    for (const char *function = functions; cl->library && *function; function += strlen(function) + 1) {
#ifdef _WIN32
        void *const symbol = (void *)GetProcAddress((HMODULE)cl->library, function);
#else
        void *const symbol = dlsym(cl->library, function);
#endif
        if (!symbol)
            return 0;
        memcpy(member, &symbol, sizeof symbol);
        member += sizeof symbol;
    }
    return cl->library != NULL;
}

static void ek_cl_close(struct ek_cl *cl)
{
    if (cl->library)
#ifdef _WIN32
        FreeLibrary((HMODULE)cl->library);
#else
        dlclose(cl->library);
#endif
}

#endif
