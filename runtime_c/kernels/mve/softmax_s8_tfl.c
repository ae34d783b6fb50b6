/* int8 softmax by TFLite's rule with Helium. Exponentials are gathered from their table, four at a time.
 * @work inputs, positions */
#include "edgekit/contracts/softmax_s8_tfl.h"

/* Four exponentials, from element i on. */
EK_INLINE int32x4_t EK_FN_four(const int8_t *x, const int32_t *e, int32_t most, int32_t i, int32_t n)
{
    const mve_pred16_t lanes = vctp32q((uint32_t)(n - i));
    const int32x4_t below = vsubq_s32(vdupq_n_s32(most), vldrbq_z_s32(x + i, lanes));
    return vldrwq_gather_shifted_offset_z_s32(e, vreinterpretq_u32_s32(below), lanes);
}

static EK_SHARED void EK_FN_row(const int8_t *x, const int32_t *e, int8_t *y, int32_t n)
{
    const int32_t most = ek_mve_largest(x, n);
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i += 4)
        sum = vaddvaq_s32(sum, vrshrq_n_s32(EK_FN_four(x, e, most, i, n), 12));
    const int32_t headroom = __builtin_clz((uint32_t)sum);
    const int32_t reciprocal =
        ek_reciprocal_of_one_plus((int32_t)(((uint32_t)sum << headroom) - 0x80000000u));
    for (int32_t i = 0; i < n; i += 4) {
        const int32x4_t share = vqrdmulhq_n_s32(EK_FN_four(x, e, most, i, n), reciprocal);
        ek_mve_store_x4(y + i, vrshlq_n_s32(share, headroom - 35), -128, -128, 127, n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *x, const int32_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n)
        EK_FN_row(x, e, y, p->n);
}
