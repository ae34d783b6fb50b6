/* A library that says it is OpenCL: it counts what it is given, computes nothing, and fails where FAKE_FAILS says. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct object {
    size_t size;
    unsigned char *data;
};

static int fails(const char *function)
{
    const char *const wanted = getenv("FAKE_FAILS");
    return wanted && !strcmp(wanted, function);
}

static void tell(const char *event)
{
    fprintf(stderr, "%s\n", event);
}

static struct object *made(const char *function, size_t size, int32_t *error)
{
    if (error)
        *error = fails(function) ? -5 : 0;
    if (fails(function))
        return NULL;
    struct object *const o = (struct object *)calloc(1, sizeof *o);
    o->size = size;
    o->data = (unsigned char *)calloc(1, size + 1);
    return o;
}

static int32_t released(void *object)
{
    struct object *const o = (struct object *)object;
    free(o->data);
    free(o);
    return 0;
}

EXPORT int32_t clGetPlatformIDs(uint32_t n, void **platforms, uint32_t *count)
{
    (void)n;
    platforms[0] = (void *)1;
    *count = 1;
    return fails("GetPlatformIDs") ? -1001 : 0;
}

EXPORT int32_t clGetDeviceIDs(void *platform, uint64_t kind, uint32_t n, void **devices, uint32_t *count)
{
    const char *const own = getenv("FAKE_KIND");
    (void)platform, (void)n, (void)count;
    if (!(kind & (uint64_t)(own ? atoi(own) : 4)))
        return -1;
    devices[0] = (void *)2;
    return 0;
}

EXPORT int32_t clGetDeviceInfo(void *device, uint32_t what, size_t size, void *value, size_t *needed)
{
    const char *text = what == 0x102D   ? getenv("FAKE_DRIVER")
                       : what == 0x1030 ? getenv("FAKE_EXTENSIONS")
                                        : "fake";
    text = text ? text : "none";
    (void)device;
    if (needed)
        *needed = strlen(text) + 1;
    if (value)
        snprintf((char *)value, size, "%s", text);
    return 0;
}

EXPORT void *clCreateContext(
    const void *a, uint32_t n, void *const *d, const void *f, void *u, int32_t *error)
{
    (void)a, (void)n, (void)d, (void)f, (void)u;
    return made("CreateContext", 0, error);
}

EXPORT void *clCreateCommandQueue(void *context, void *device, uint64_t properties, int32_t *error)
{
    (void)context, (void)device, (void)properties;
    return made("CreateCommandQueue", 0, error);
}

EXPORT void *clCreateProgramWithSource(
    void *context, uint32_t n, const char *const *text, const size_t *sizes, int32_t *error)
{
    (void)context, (void)n, (void)text, (void)sizes;
    tell("source");
    return made("CreateProgramWithSource", 0, error);
}

EXPORT void *clCreateProgramWithBinary(void *context, uint32_t n, void *const *devices, const size_t *sizes,
    const unsigned char *const *data, int32_t *status, int32_t *error)
{
    (void)context, (void)n, (void)devices;
    tell(sizes[0] == 6 && !memcmp(data[0], "binary", 6) ? "binary" : "broken binary");
    if (status)
        *status = 0;
    return made("CreateProgramWithBinary", 0, error);
}

EXPORT int32_t clBuildProgram(
    void *program, uint32_t n, void *const *devices, const char *options, const void *f, void *u)
{
    (void)program, (void)n, (void)devices, (void)f, (void)u;
    if (strstr(options, "-DEK"))
        tell(strstr(options, "-DEK"));
    if (fails("dot") && strstr(options, "-DEK"))
        return -11;
    if (fails("crash"))
        abort();
    return fails("BuildProgram") ? -11 : 0;
}

EXPORT int32_t clGetProgramInfo(void *program, uint32_t what, size_t size, void *value, size_t *needed)
{
    (void)program, (void)size, (void)needed;
    if (what == 0x1165) {
        const size_t bytes = 6;
        memcpy(value, &bytes, sizeof bytes);
    } else
        memcpy(*(unsigned char **)value, "binary", 6);
    return 0;
}

EXPORT void *clCreateKernel(void *program, const char *name, int32_t *error)
{
    (void)program, (void)name;
    return made("CreateKernel", 0, error);
}

EXPORT int32_t clSetKernelArg(void *kernel, uint32_t i, size_t size, const void *value)
{
    (void)kernel, (void)i, (void)size, (void)value;
    return fails("SetKernelArg") ? -51 : 0;
}

EXPORT void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *data, int32_t *error)
{
    (void)context;
    struct object *const o = made("CreateBuffer", size, error);
    if (o && flags & 1 << 5)
        memcpy(o->data, data, size); /* reads all that is said to be there */
    return o;
}

EXPORT int32_t clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t n, const size_t *offset,
    const size_t *items, const size_t *group, uint32_t waits, const void *wait, void **event)
{
    (void)queue, (void)kernel, (void)n, (void)offset, (void)waits, (void)wait;
    if (event)
        *event = (void *)3;
    return fails("EnqueueNDRangeKernel") || *items % *group ? -36 : 0;
}

EXPORT int32_t clEnqueueWriteBuffer(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
    const void *data, uint32_t waits, const void *wait, void **event)
{
    struct object *const o = (struct object *)buffer;
    (void)queue, (void)blocking, (void)waits, (void)wait, (void)event;
    if (offset + size > o->size)
        return -30;
    memcpy(o->data + offset, data, size);
    return fails("EnqueueWriteBuffer") ? -36 : 0;
}

EXPORT int32_t clEnqueueReadBuffer(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
    void *data, uint32_t waits, const void *wait, void **event)
{
    struct object *const o = (struct object *)buffer;
    (void)queue, (void)blocking, (void)waits, (void)wait;
    if (event)
        *event = (void *)3;
    if (offset + size > o->size)
        return -30;
    memcpy(data, o->data + offset, size);
    return fails("EnqueueReadBuffer") ? -36 : 0;
}

EXPORT int32_t clEnqueueMarkerWithWaitList(void *queue, uint32_t waits, const void *wait, void **event)
{
    (void)queue, (void)waits, (void)wait, (void)event;
    return 0;
}

EXPORT int32_t clFlush(void *queue)
{
    (void)queue;
    return fails("Flush") ? -36 : 0;
}

EXPORT int32_t clFinish(void *queue)
{
    (void)queue;
    return fails("Finish") ? -36 : 0;
}

EXPORT int32_t clReleaseMemObject(void *object)
{
    return released(object);
}

EXPORT int32_t clReleaseKernel(void *object)
{
    return released(object);
}

EXPORT int32_t clReleaseProgram(void *object)
{
    return released(object);
}

EXPORT int32_t clReleaseCommandQueue(void *object)
{
    return released(object);
}

EXPORT int32_t clReleaseContext(void *object)
{
    return released(object);
}
