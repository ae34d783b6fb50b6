/* Vectors of floats for NEON of ARMv7. This unit takes and gives subnormal numbers as 0: results differ
 * from those of other targets by less than the smallest normal number there. */
#ifndef EDGEKIT_F32_NEON32_H
#define EDGEKIT_F32_NEON32_H

#include "edgekit/simd/neon/f32x4_neon.h"

#define EK_VF_LANES 4
/* How many vectors of outputs kernels take at once, and pixels for so many: what registers can hold. */
#define EK_VF_BLOCKS 4
#define EK_VF_PIXELS(blocks) 2
/* How many columns products with transposed matrices take at once. */
#define EK_VF_COLUMNS 2
/* Several cells of two pixels do not fit: compilers load all of them first. */
#define EK_VF_TAPS(pixels) ((pixels) == 1 ? 4 : 1)
/* How many pixels have all of their outputs before the next, so that results may overlap inputs. */
#define EK_VF_TOGETHER 2
/* Sums are not split. */
#define EK_VF_SPLIT 1
#define EK_VF_HIDE(p) (void)(p)

/* The sums of the elements of each, of `count` vectors that exist of two. */
EK_INLINE void ek_vf_store_totals(float *y, const int32_t count, const ek_vf *v)
{
    const float32x2_t a = vadd_f32(vget_low_f32(v[0]), vget_high_f32(v[0]));
    const float32x2_t b = vadd_f32(vget_low_f32(v[1]), vget_high_f32(v[1])), both = vpadd_f32(a, b);
    y[0] = vget_lane_f32(both, 0);
    if (count > 1)
        y[1] = vget_lane_f32(both, 1);
}

#endif
