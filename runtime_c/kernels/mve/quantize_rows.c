/* Rows as int8, each over its own range, with Helium: see quantize_rows_mve.h. Rows without a normal range, and of numbers
 * below 2^-100, are rounded one by one.
 * @work calls, outputs, positions */
#include "edgekit/contracts/quantize_rows.h"
#include "edgekit/math/bits.h"
#include "edgekit/simd/cortex_m/quantize_rows_mve.h"

/* Vectors, which compilers would make, take subnormal numbers for 0. */
EK_COMPACT void EK_FN_one_by_one(const float *x, int8_t *y, const int32_t n, const float factor)
{
    for (int32_t i = 0; i < n; i++) {
        float v = x[i];
        __asm volatile("" : "+t"(v));
        v = v * factor;
        y[i] = (int8_t)(uint8_t)(ek_bits_f32(v + 12582912.0f) & 0xFFu);
    }
}

EK_KERNEL void EK_FN(
    const float *EK_RESTRICT x, int8_t *EK_RESTRICT y, float *EK_RESTRICT scale, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        const uint32_t most = ek_mve_largest_magnitude(x, p->n), exponent = most >> 24;
        const float m = ek_from_bits_f32(most >> 1), factor = 127.0f / m;
        if (exponent > 26 && exponent < 255)
            ek_mve_rounded_row(x, y, p->n, factor);
        else
            EK_FN_one_by_one(x, y, p->n, factor);
        scale[r] = m / 127.0f;
    }
}
