/* Per-channel amplitude normalization (PCAN). */
#include "edgekit/contracts/pcan.h"

EK_INLINE int16_t EK_FN_gain(const uint32_t noise, const int16_t *EK_RESTRICT gains)
{
    int32_t bits = 0;
    if (noise <= 2)
        return gains[noise];
    for (uint32_t rest = noise; rest; rest >>= 1)
        bits++;
    const uint32_t aligned = bits < 11 ? noise << (11 - bits) : noise >> (bits - 11);
    const int32_t f = (int32_t)(aligned & 1023u);
    const int16_t *const g = gains + 4 * bits - 6;
    const int32_t slope = ((g[2] * f) >> 5) + g[1] * 32;
    const int32_t steep = (int32_t)((uint32_t)slope * (uint32_t)f + (1u << 14)) >> 15;
    return (int16_t)(steep + g[0]);
}

EK_KERNEL void EK_FN(const uint32_t *x, const uint32_t *noise, const int16_t *EK_RESTRICT gains, uint32_t *y,
    const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const uint32_t gain = (uint32_t)EK_FN_gain(noise[i], gains);
        const uint32_t snr = (uint32_t)(((uint64_t)x[i] * gain) >> p->snr_shift);
        y[i] = snr < 2u << 12 ? (snr * snr) >> 20 : (snr >> 6) - 64u;
    }
}
