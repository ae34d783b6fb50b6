/* Sums of rows of int8 by factors with Helium: what matrix products and filters have in common. */
#ifndef EDGEKIT_ROWS_MVE_H
#define EDGEKIT_ROWS_MVE_H

#include <arm_mve.h>

/* Sixteen sums. */
struct ek_mve_sums {
    int32x4_t s0;
    int32x4_t s1;
    int32x4_t s2;
    int32x4_t s3;
};

static inline void ek_mve_start_x16(struct ek_mve_sums *sums)
{
    sums->s0 = sums->s1 = sums->s2 = sums->s3 = vdupq_n_s32(0);
}

/* Adds sixteen numbers times a factor. */
static inline void ek_mve_row_x16(struct ek_mve_sums *sums, const int8_t *row, int32_t factor)
{
    sums->s0 = vmlaq_n_s32(sums->s0, vldrbq_s32(row), factor);
    sums->s1 = vmlaq_n_s32(sums->s1, vldrbq_s32(row + 4), factor);
    sums->s2 = vmlaq_n_s32(sums->s2, vldrbq_s32(row + 8), factor);
    sums->s3 = vmlaq_n_s32(sums->s3, vldrbq_s32(row + 12), factor);
}

/* The same of some of four numbers. */
static inline int32x4_t ek_mve_row_x4(int32x4_t sum, const int8_t *row, int32_t factor, mve_pred16_t lanes)
{
    return vmlaq_n_s32(sum, vldrbq_z_s32(row, lanes), factor);
}

#endif
