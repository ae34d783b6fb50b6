/* int8 sum or difference: see affine_s8.h. Sixteen numbers that lie side by side, or one for all of b, advance together.
 * This is for factors of 16 bits.
 * @when -32768 <= first and first <= 32767
 * @when -32768 <= second and second <= 32767
 * @when sa[5] == 1
 * @when sb[5] in (0, 1) */
/* As affine_s8.contiguous.c, for factors of 32 bits.
 * @as neon/affine_s8.contiguous_s32 s16=s32
 * @when sa[5] == 1
 * @when sb[5] in (0, 1) */
/* int8 sum or difference: see affine_s8.h. This is for factors of 16 bits.
 * @as neon32/affine_s8.contiguous
 * @when -32768 <= first and first <= 32767
 * @when -32768 <= second and second <= 32767
 * @when sa[5] == 1
 * @when sb[5] in (0, 1) */
/* As affine_s8.contiguous.c, for factors of 32 bits.
 * @as neon32/affine_s8.contiguous_s32 s16=s32
 * @when sa[5] == 1
 * @when sb[5] in (0, 1) */
#include "edgekit/contracts/affine_s8.h"
#include "edgekit/loops/rows.h"

EK_INLINE int32x4_t EK_FN_four(const int16x4_t a, const int16x4_t b, const struct EK_STRUCT *p)
{
    const int32x4_t sum = ek_s16_affine(vdupq_n_s32(p->constant), a, p->first, b, p->second);
    return vshlq_s32(sum, vdupq_n_s32(-p->shift));
}

EK_INLINE int8x16_t EK_FN_sixteen(const int8x16_t a, const int8x16_t b, const struct EK_STRUCT *p)
{
    const int16x8_t a0 = vmovl_s8(vget_low_s8(a)), a1 = vmovl_s8(vget_high_s8(a));
    const int16x8_t b0 = vmovl_s8(vget_low_s8(b)), b1 = vmovl_s8(vget_high_s8(b));
    return ek_finish_neon(EK_FN_four(vget_low_s16(a0), vget_low_s16(b0), p),
        EK_FN_four(vget_high_s16(a0), vget_high_s16(b0), p),
        EK_FN_four(vget_low_s16(a1), vget_low_s16(b1), p),
        EK_FN_four(vget_high_s16(a1), vget_high_s16(b1), p), 0, p->lo, p->hi);
}

/* A row of any length. What is less than sixteen goes through memory of its own. */
EK_INLINE void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t n, const struct EK_STRUCT *p)
{
    const int8x16_t same = vdupq_n_s8(b[0]);
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        vst1q_s8(y + i, EK_FN_sixteen(vld1q_s8(a + i), p->sb[5] ? vld1q_s8(b + i) : same, p));
    if (i < n) {
        int8_t last_a[16] = {0}, last_b[16] = {0};
        ek_copy_neon(last_a, a + i, n - i);
        if (p->sb[5])
            ek_copy_neon(last_b, b + i, n - i);
        ek_store_neon(y + i, EK_FN_sixteen(vld1q_s8(last_a), p->sb[5] ? vld1q_s8(last_b) : same, p), n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
