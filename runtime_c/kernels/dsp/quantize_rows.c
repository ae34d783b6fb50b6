/* Rows as int8, each over its own range, four numbers at a time: see quantize_rows_dsp.h.
 * @when n % 4 == 0 @work calls, outputs, positions */
#include "edgekit/contracts/quantize_rows.h"
#include "edgekit/math/bits.h"
#include "edgekit/simd/cortex_m/quantize_rows_dsp.h"

EK_KERNEL void EK_FN(
    const float *EK_RESTRICT x, int8_t *EK_RESTRICT y, float *EK_RESTRICT scale, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        const float m = ek_from_bits_f32(ek_largest_magnitude(x, p->n / 4) >> 1), factor = 127.0f / m;
        ek_rounded_fours(x, y, p->n / 4, &factor);
        scale[r] = m / 127.0f;
    }
}
