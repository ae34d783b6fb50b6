/* Vectors of floats for NEON of 64 bits. */
#ifndef EDGEKIT_F32_NEON_H
#define EDGEKIT_F32_NEON_H

#include "edgekit/simd/neon/f32x4_neon.h"

#define EK_VF_LANES 4
/* How many vectors of outputs kernels take at once, and pixels for so many: what registers can hold. */
#define EK_VF_BLOCKS 4
#define EK_VF_PIXELS(blocks) 4
/* How many cells a load brings, for products by a lane of them, and how many a turn is for. */
#define EK_VF_CELLS 4
#define EK_VF_TAPS(pixels) 8
/* How many columns products with transposed matrices take at once. */
#define EK_VF_COLUMNS 4
/* How many pixels have all of their outputs before the next, so that results may overlap inputs. */
#define EK_VF_TOGETHER 4
/* Sums are not split. */
#define EK_VF_SPLIT 1
#define EK_VF_HIDE(p) (void)(p)

/* a * b[k] + c, for a k that compilers know */
EK_INLINE ek_vf ek_vf_fma_lane(const ek_vf a, const ek_vf b, const int32_t k, const ek_vf c)
{
    return k == 0   ? vfmaq_laneq_f32(c, a, b, 0)
           : k == 1 ? vfmaq_laneq_f32(c, a, b, 1)
           : k == 2 ? vfmaq_laneq_f32(c, a, b, 2)
                    : vfmaq_laneq_f32(c, a, b, 3);
}

/* The sums of the elements of each, of `count` vectors that exist of four. */
EK_INLINE void ek_vf_store_totals(float *y, const int32_t count, const ek_vf *v)
{
    ek_vf_store(y, count, vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3])));
}

#endif
