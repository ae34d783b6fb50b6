/* Sums of rows that were quantized in this run, by NEON: what SDOT and SMMLA have in common. */
#ifndef EDGEKIT_DYNAMIC_SUMS_NEON_H
#define EDGEKIT_DYNAMIC_SUMS_NEON_H

#include "edgekit/simd/neon/f32_neon.h"

/* How many rows share the loads of weights. */
#define EK_DR_ROWS(kind) 4
#define EK_DR_BLOCK 16 /* outputs */
/* What weights have more. */
#define EK_DR_OFFSET(kind) ((kind) == EK_S4_KIND ? 8 : 0)
#define EK_DR_VECTORS 4

typedef int32x4_t ek_dr_ints;

EK_INLINE ek_dr_ints ek_dr_same(const int32_t x)
{
    return vdupq_n_s32(x);
}

EK_INLINE ek_vf ek_dr_reals(const ek_dr_ints sum)
{
    return vcvtq_f32_s32(sum);
}

#endif
