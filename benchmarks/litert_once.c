/* Runs a TFLite file by LiteRT's C interface with one thread and XNNPACK: once to settle, and once more between two
 * markers, between which an emulator counts. Arguments: the shared library, the model. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

__attribute__((noinline)) void ek_begin(void)
{
    __asm volatile("" ::: "memory");
}

__attribute__((noinline)) void ek_end(void)
{
    __asm volatile("" ::: "memory");
}

/* The functions that are called, as tensorflow/lite/c/c_api.h declares them; structs are known by address only. */
static void *(*model_from_file)(const char *path);
static void *(*options_create)(void);
static void (*options_set_threads)(void *options, int32_t threads);
static void (*options_add_delegate)(void *options, void *delegate);
static void *(*delegate_create)(const void *options);
static void *(*interpreter_create)(const void *model, const void *options);
static int (*allocate_tensors)(void *interpreter);
static void *(*input_tensor)(const void *interpreter, int32_t index);
static int (*invoke)(void *interpreter);
static void *(*tensor_data)(const void *tensor);
static size_t (*tensor_size)(const void *tensor);
static int (*tensor_type)(const void *tensor);

static const struct {
    void *to;
    const char *name;
} functions[] = {
    {&model_from_file, "TfLiteModelCreateFromFile"},
    {&options_create, "TfLiteInterpreterOptionsCreate"},
    {&options_set_threads, "TfLiteInterpreterOptionsSetNumThreads"},
    {&options_add_delegate, "TfLiteInterpreterOptionsAddDelegate"},
    {&delegate_create, "TfLiteXNNPackDelegateCreate"},
    {&interpreter_create, "TfLiteInterpreterCreate"},
    {&allocate_tensors, "TfLiteInterpreterAllocateTensors"},
    {&input_tensor, "TfLiteInterpreterGetInputTensor"},
    {&invoke, "TfLiteInterpreterInvoke"},
    {&tensor_data, "TfLiteTensorData"},
    {&tensor_size, "TfLiteTensorByteSize"},
    {&tensor_type, "TfLiteTensorType"},
};

/* The same numbers as `edgekit bench` takes. */
static void fill(void *data, int is_float, size_t bytes)
{
    const size_t n = is_float ? bytes / 4 : bytes;
    for (size_t i = 0; i < n; i++) {
        if (is_float)
            ((float *)data)[i] = (float)(i * 37 % 101) / 50.0f - 1.0f;
        else
            ((int8_t *)data)[i] = (int8_t)(i * 37 % 101);
    }
}

int main(int argc, char **argv)
{
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library)
        return fprintf(stderr, "%s\n", argc == 3 ? dlerror() : "usage: litert_once LIBRARY MODEL"), 2;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!(*(void **)functions[i].to = dlsym(library, functions[i].name)))
            return fprintf(stderr, "%s\n", dlerror()), 2;
    void *options = options_create(), *delegate = delegate_create(NULL);
    if (!delegate)
        return fprintf(stderr, "no XNNPACK\n"), 3;
    options_set_threads(options, 1);
    options_add_delegate(options, delegate);
    void *interpreter = interpreter_create(model_from_file(argv[2]), options);
    if (!interpreter || allocate_tensors(interpreter))
        return fprintf(stderr, "LiteRT does not take this model\n"), 3;
    void *x = input_tensor(interpreter, 0);
    fill(tensor_data(x), tensor_type(x) == 1, tensor_size(x));
    if (invoke(interpreter))
        return 3;
    ek_begin();
    const int failed = invoke(interpreter);
    ek_end();
    return failed ? 3 : 0;
}
