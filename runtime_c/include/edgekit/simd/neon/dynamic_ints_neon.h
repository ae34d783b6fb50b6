/* Sums of rows that were quantized in this run, by NEON of both widths: vectors of four. */
#ifndef EDGEKIT_DYNAMIC_INTS_NEON_H
#define EDGEKIT_DYNAMIC_INTS_NEON_H

#include "edgekit/simd/neon/f32x4_neon.h"

#define EK_DR_BLOCK 16 /* outputs */
/* What weights have more. */
#define EK_DR_OFFSET(kind) ((kind) == EK_S4_KIND ? 8 : 0)

typedef int32x4_t ek_dr_ints;

EK_INLINE ek_dr_ints ek_dr_same(const int32_t x)
{
    return vdupq_n_s32(x);
}

EK_INLINE ek_vf ek_dr_reals(const ek_dr_ints sum)
{
    return vcvtq_f32_s32(sum);
}

/* a + the bits of b, which are integers. */
EK_INLINE ek_dr_ints ek_dr_more(const ek_dr_ints a, const ek_vf b)
{
    return vaddq_s32(a, vreinterpretq_s32_f32(b));
}

#endif
