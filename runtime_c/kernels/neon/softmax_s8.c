/* int8 softmax. Exponentials are looked up one by one and kept; shares are computed eight at a time.
 * @scratch 2 * n */
/* int8 softmax.
 * @as neon32/softmax_s8 */
#include "edgekit/contracts/softmax_s8.h"

#include <arm_neon.h>

EK_INLINE int32_t EK_FN_largest(const int8_t *x, const int32_t n)
{
    int8x16_t most = vdupq_n_s8(x[0]);
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        most = vmaxq_s8(most, vld1q_s8(x + i));
    int8_t lane[16];
    vst1q_s8(lane, most);
    int32_t largest = lane[0];
    for (int32_t l = 1; l < 16 && n >= 16; l++)
        largest = lane[l] > largest ? lane[l] : largest;
    for (; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    return largest;
}

EK_KERNEL void EK_FN(
    const int8_t *x, const uint16_t *e, int8_t *y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    uint16_t *kept = (uint16_t *)(void *)scratch;
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        const int32_t most = EK_FN_largest(x, p->n);
        uint32_t sum = 0, bits = 0;
        for (int32_t i = 0; i < p->n; i++)
            sum += kept[i] = e[most - x[i]];
        while (sum >> bits >> 16)
            bits++;
        const uint32_t reciprocal = 0x80000000u / ((sum + (1u << bits >> 1)) >> bits);
        const uint32_t down = bits > 8 ? bits - 8 : 0, shift = bits > 8 ? 31 : 23 + bits;
        const int32x4_t drop = vdupq_n_s32(-(int32_t)down), round = vdupq_n_s32(-(int32_t)shift);
        const uint32x4_t factor = vdupq_n_u32(reciprocal);
        int32_t i = 0;
        for (; i + 8 <= p->n; i += 8) {
            const uint16x8_t eight = vld1q_u16(kept + i);
            const uint32x4_t u = vshlq_u32(vmulq_u32(vmovl_u16(vget_low_u16(eight)), factor), drop);
            const uint32x4_t v = vshlq_u32(vmulq_u32(vmovl_u16(vget_high_u16(eight)), factor), drop);
            const uint16x8_t shares =
                vcombine_u16(vqmovn_u32(vrshlq_u32(u, round)), vqmovn_u32(vrshlq_u32(v, round)));
            vst1_s8(y + i, vreinterpret_s8_u8(veor_u8(vqmovn_u16(shares), vdup_n_u8(128))));
        }
        for (; i < p->n; i++) {
            const uint32_t share = kept[i] * reciprocal >> down;
            const int32_t v = (int32_t)((share + (1u << (shift - 1))) >> shift) - 128;
            y[i] = (int8_t)(v > 127 ? 127 : v);
        }
    }
}
