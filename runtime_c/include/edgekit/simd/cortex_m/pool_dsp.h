/* Windows of int8 images with DSP instructions: the cells of a window that lie inside the image, four channels of them at
 * a time. */
#ifndef EDGEKIT_POOL_DSP_H
#define EDGEKIT_POOL_DSP_H

#include "edgekit/loops/window_cells.h"
#include "edgekit/simd/cortex_m/copies_dsp.h"

/* The first `count` of four bytes; the others are 0. */
static inline uint32_t ek_load_bytes(const int8_t *from, const int32_t count)
{
    uint32_t word = 0;
    if (count >= 4)
        __builtin_memcpy(&word, from, 4);
    else
        for (int32_t i = 0; i < count; i++)
            word |= (uint32_t)(uint8_t)from[i] << 8 * i;
    return word;
}

static inline void ek_store_bytes(int8_t *to, uint32_t word, const int32_t count)
{
    if (count >= 4)
        __builtin_memcpy(to, &word, 4);
    else
        for (int32_t i = 0; i < count; i++, word >>= 8)
            to[i] = (int8_t)(word & 255);
}

/* *most becomes the larger of each two of four bytes. %0 the largest so far, %1 differences, of which only the flags count:
 * one for each byte says whether sel takes that of %0 or of %2, the other bytes. */
static inline void ek_raise_bytes(uint32_t *most, const uint32_t bytes)
{
    uint32_t difference;
    __asm("ssub8 %1, %0, %2\n"
          "sel %0, %0, %2"
        : "+r"(*most), "=&r"(difference)
        : "r"(bytes));
}

/* The largest of at least one byte. */
static EK_SHARED int32_t ek_largest_byte(const int8_t *x, int32_t count)
{
    uint32_t most = (uint32_t)(*x & 255) * 0x01010101u;
    for (; count >= 4; count -= 4, x += 4)
        ek_raise_bytes(&most, ek_load_bytes(x, 4));
    for (; count > 0; count--)
        ek_raise_bytes(&most, (uint32_t)(*x++ & 255) * 0x01010101u);
    ek_raise_bytes(&most, most >> 16);
    ek_raise_bytes(&most, most >> 8);
    return (int8_t)(most & 255);
}

/* Adds bytes 0 and 2 to the halves of the first of two sums, bytes 1 and 3 to those of the second. %0 and %1
 * are the sums, %2 the bytes. */
static inline void ek_add_bytes(uint32_t *sums, const uint32_t bytes)
{
    __asm("sxtab16 %0, %0, %2\n"
          "sxtab16 %1, %1, %2, ror #8"
        : "+&r"(sums[0]), "+r"(sums[1])
        : "r"(bytes));
}

/* Raises eight bytes to the largest of their channels, from `from` on; there are `count`. */
static inline void ek_largest(
    const struct ek_cells *cells, const int8_t *from, uint32_t *most, const int32_t count)
{
    for (int32_t i = cells->rows; i > 0; i--, from += cells->down) {
        const int8_t *cell = from;
        for (int32_t j = cells->columns; j > 0; j--, cell += cells->right) {
            ek_raise_bytes(most, ek_load_bytes(cell, count));
            if (count > 4)
                ek_raise_bytes(most + 1, ek_load_bytes(cell + 4, count - 4));
        }
    }
}

/* The sums of the same, of at most 256 cells. */
static inline void ek_totals(
    const struct ek_cells *cells, const int8_t *from, int32_t *total, const int32_t count)
{
    uint32_t sums[4] = {0, 0, 0, 0};
    for (int32_t i = cells->rows; i > 0; i--, from += cells->down) {
        const int8_t *cell = from;
        for (int32_t j = cells->columns; j > 0; j--, cell += cells->right) {
            ek_add_bytes(sums, ek_load_bytes(cell, count));
            if (count > 4)
                ek_add_bytes(sums + 2, ek_load_bytes(cell + 4, count - 4));
        }
    }
    for (int32_t i = 0; i < 4; i += 2, total += 4) {
        total[0] = (int16_t)(sums[i] & 0xFFFF);
        total[1] = (int16_t)(sums[i + 1] & 0xFFFF);
        total[2] = (int32_t)sums[i] >> 16;
        total[3] = (int32_t)sums[i + 1] >> 16;
    }
}

/* Adds up to 256 cells, `right` elements apart, to the sums of eight channels. */
static inline void ek_add_cells(const int8_t *from, int32_t cells, int32_t right, int32_t *y)
{
    uint32_t sums[4] = {0, 0, 0, 0};
    for (; cells > 0; cells--, from += right) {
        ek_add_bytes(sums, ek_load_bytes(from, 4));
        ek_add_bytes(sums + 2, ek_load_bytes(from + 4, 4));
    }
    for (int32_t i = 0; i < 4; i += 2, y += 4) {
        y[0] += (int16_t)(sums[i] & 0xFFFF);
        y[1] += (int16_t)(sums[i + 1] & 0xFFFF);
        y[2] += (int32_t)sums[i] >> 16;
        y[3] += (int32_t)sums[i + 1] >> 16;
    }
}

#endif
