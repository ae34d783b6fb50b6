/* Sums of cells with Helium, and eight results at once. */
#ifndef EDGEKIT_WINDOW_CELLS_MVE_H
#define EDGEKIT_WINDOW_CELLS_MVE_H

#include <arm_mve.h>

#include "edgekit/loops/window_cells.h"

/* The sums of eight channels from `from` on, of which there are `count`, over at most 256 cells. */
static EK_SHARED int16x8_t ek_mve_total(const struct ek_cells *cells, const int8_t *from, int32_t count)
{
    const mve_pred16_t lanes = vctp16q((uint32_t)count);
    int16x8_t total = vdupq_n_s16(0);
    for (int32_t i = cells->rows; i > 0; i--, from += cells->down) {
        const int8_t *cell = from;
        for (int32_t j = cells->columns; j > 0; j--, cell += cells->right)
            total = vaddq_s16(total, vldrbq_z_s16(cell, lanes));
    }
    return total;
}

/* The sums of four channels from `from` on, each with that of n cells more. */
static inline int32x4_t ek_mve_sums_with(
    int32x4_t sums, const int8_t *from, int32_t n, int32_t right, const mve_pred16_t lanes)
{
    for (; n > 0; n--, from += right)
        sums = vaddq_s32(sums, vldrbq_z_s32(from, lanes));
    return sums;
}

/* Stores the nearest int8 to eight numbers: the even ones and the odd ones, each with `zero` more. */
static inline void ek_mve_store_halves(
    int8_t *y, int32x4_t even, int32x4_t odd, int32_t zero, mve_pred16_t lanes)
{
    int16x8_t both = vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);
    both = vqaddq_n_s16(both, (int16_t)zero);
    vstrbq_p_s16(y, vreinterpretq_s16_s8(vqmovnbq_s16(vreinterpretq_s8_s16(both), both)), lanes);
}

/* Rule E for sums less `zeros`, even where products leave 32 bits: what saturates is beyond int8. */
static EK_SHARED void ek_mve_scale_total(
    int8_t *y, int16x8_t total, int32_t zeros, int32_t m, int32_t shift, int32_t zero, int32_t count)
{
    const int32_t up = shift < 33 ? 33 - shift : 0;
    const int32x4_t down = vdupq_n_s32(32 - shift - up), factor = vdupq_n_s32(m);
    int32x4_t even = vsubq_n_s32(vmovlbq_s16(total), zeros), odd = vsubq_n_s32(vmovltq_s16(total), zeros);
    even = vrshlq_s32(vmulhq_s32(vqshlq_r_s32(even, up), factor), down);
    odd = vrshlq_s32(vmulhq_s32(vqshlq_r_s32(odd, up), factor), down);
    ek_mve_store_halves(y, even, odd, zero, vctp16q((uint32_t)count));
}

/* Halves of the quotient are rounded away from zero; the reciprocal is exact for sums of 16 bits. */
static EK_SHARED void ek_mve_divide_total(int8_t *y, int16x8_t total, int32_t divisor, int32_t count)
{
    const uint32x4_t reciprocal = vdupq_n_u32(INT32_MAX / (uint32_t)divisor + 1);
    const uint16x8_t size = vreinterpretq_u16_s16(vabsq_s16(total));
    const uint16x8_t sum = vaddq_n_u16(size, (uint16_t)(divisor / 2));
    const uint32x4_t even = vmulhq_u32(vshllbq_n_u16(sum, 1), reciprocal);
    const uint32x4_t odd = vmulhq_u32(vshlltq_n_u16(sum, 1), reciprocal);
    const int16x8_t mean = vreinterpretq_s16_u16(vmovntq_u32(vreinterpretq_u16_u32(even), odd));
    const int16x8_t result = vnegq_m_s16(mean, mean, vcmpltq_n_s16(total, 0));
    vstrbq_p_s16(y, result, vctp16q((uint32_t)count));
}

#endif
