/* Programs in WebAssembly without WASI: arguments, reading, writing and the time come from whoever runs them here, by
 * four functions of the module `host`; `start` runs main and returns what that returns. */
#include <stddef.h>
#include <stdint.h>

#include "stdio.h"

/* EK_ANY_PRODUCTS: all products of bytes fit however an engine adds them. */
#if defined(__wasm_relaxed_simd__) && !defined(EK_ANY_PRODUCTS)
#include <wasm_simd128.h>

/* Are products of bytes exact, whether their second factor is unsigned or has a sign? */
static int is_exact(void)
{
    const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
        wasm_i8x16_splat(127), wasm_i8x16_splat(-1), wasm_i32x4_splat(0));
    return wasm_i32x4_extract_lane(dot, 0) == 4 * 127 * 255 || wasm_i32x4_extract_lane(dot, 0) == -4 * 127;
}
#else
static int is_exact(void)
{
    return 1;
}
#endif

#define FROM_HOST(name) __attribute__((import_module("host"), import_name(name)))

/* Bytes of the argument with this number, without a zero behind them; -1 where there is none. */
FROM_HOST("argument") int32_t host_argument(int32_t index, char *to, int32_t room);
FROM_HOST("read") int32_t host_read(void *to, int32_t size);
FROM_HOST("write") void host_write(const void *from, int32_t size);

struct bare_file {
    int32_t is_output;
};

static FILE in = {0}, out = {1};
FILE *const stdin = &in;
FILE *const stdout = &out;

size_t fread(void *data, size_t size, size_t count, FILE *file)
{
    return size && !file->is_output ? (size_t)host_read(data, (int32_t)(size * count)) / size : 0;
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file)
{
    if (!file->is_output)
        return 0;
    host_write(data, (int32_t)(size * count));
    return count;
}

int main(int argc, char **argv);

__attribute__((export_name("start"))) int32_t start(void)
{
    enum { MOST = 8, ROOM = 64, INEXACT = 9 };

    static char name[] = "program", words[MOST][ROOM];
    static char *argv[MOST + 2] = {name};
    int argc = 1;
    if (!is_exact())
        return INEXACT;
    for (; argc <= MOST; argc++) {
        char *word = words[argc - 1];
        const int32_t length = host_argument(argc - 1, word, ROOM - 1);
        if (length < 0)
            break;
        word[length] = 0;
        argv[argc] = word;
    }
    return main(argc, argv);
}
