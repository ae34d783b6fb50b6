/* int8 sum or difference.
 * @work inputs */
#include "edgekit/contracts/add_s8.h"

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++) {
                        const int8_t *row_a = a + p->a0 + i0 * p->sa[0] + i1 * p->sa[1] + i2 * p->sa[2]
                                              + i3 * p->sa[3] + i4 * p->sa[4];
                        const int8_t *row_b = b + p->b0 + i0 * p->sb[0] + i1 * p->sb[1] + i2 * p->sb[2]
                                              + i3 * p->sb[3] + i4 * p->sb[4];
                        for (int32_t i = 0; i < p->n[5]; i++) {
                            const int32_t u = row_a[i * p->sa[5]], v = row_b[i * p->sb[5]];
                            const int32_t wide_u = (u - p->a_zero) * (1 << 20),
                                          wide_v = (v - p->b_zero) * (1 << 20);
                            const int32_t sum =
                                ek_requantize_tfl(wide_u, p->a_multiplier, p->a_exponent)
                                + p->sign * ek_requantize_tfl(wide_v, p->b_multiplier, p->b_exponent);
                            *y++ = ek_clamp_s8(
                                p->zero + ek_requantize_tfl(sum, p->multiplier, p->exponent), p->lo, p->hi);
                        }
                    }
}
