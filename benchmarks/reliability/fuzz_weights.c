/* libFuzzer on weights that a library `net` is given by a pointer: bytes of a file, an update or a radio. What passes the
 * check is taken for a run, in memory of exactly the sizes that the header states. */
#include "net.h"

#include <stdlib.h>
#include <string.h>

static uint32_t word(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void set(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* The CRC-32 of zlib, a bit at a time, over all but its own place. */
static uint32_t sum(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        if (i >= 20 && i < 24)
            continue;
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void *room(size_t size)
{
    void *at = NULL;
    if (posix_memalign(&at, 64, size ? size : 1))
        abort();
    return at;
}

static void run(const uint8_t *weights)
{
    float *x = room(NET_X_SIZE * sizeof *x), *y = room(NET_Y_SIZE * sizeof *y);
    void *arena = room(NET_ARENA_SIZE);
    for (int i = 0; i < NET_X_SIZE; i++)
        x[i] = (float)i / 8 - 1;
    net_run(x, y, weights, arena);
    free(arena);
    free(y);
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const int how = data[0];
    size -= 1;
    uint8_t *const weights = room(size);
    memcpy(weights, data + 1, size);
    if (how & 1 && size >= NET_WEIGHTS_SIZE) /* the right sum, which no fuzzer guesses */
        set(weights + 20, sum(weights, NET_WEIGHTS_SIZE));
    const int found = net_weights_check(weights, (uint32_t)size);
    if (found < 0 || found > NET_WEIGHTS_DAMAGED)
        abort();
    if (found == 0) {
        if (size < NET_WEIGHTS_SIZE || word(weights + 20) != sum(weights, NET_WEIGHTS_SIZE))
            abort();
        run(weights);
    }
    free(weights);
    return 0;
}
