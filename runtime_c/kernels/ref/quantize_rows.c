/* Rows as int8, each over its own range. Magnitudes are compared as integers: NaN is larger than all.
 * @work calls, inputs, positions, rest cells */
#include "edgekit/contracts/quantize_rows.h"
#include "edgekit/math/bits.h"

EK_KERNEL void EK_FN(
    const float *EK_RESTRICT x, int8_t *EK_RESTRICT y, float *EK_RESTRICT scale, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        uint32_t most = 0;
        EK_UNROLLED_FOR(4, int32_t i = 0; i < p->n; i++) {
            const uint32_t magnitude = ek_bits_f32(x[i]) & 0x7FFFFFFFu;
            most = magnitude > most ? magnitude : most;
        }
        const float m = ek_from_bits_f32(most), factor = 127.0f / m;
        EK_UNROLLED_FOR(4, int32_t i = 0; i < p->n; i++) {
            /* The low byte of a float that counts in ones, and has room for a sign. */
            const float v = x[i] * factor, shifted = v + 12582912.0f;
            y[i] = (int8_t)(uint8_t)(ek_bits_f32(shifted) & 0xFFu);
        }
        scale[r] = m / 127.0f;
    }
}
