/* Gates of recurrent layers of integers with NEON, four numbers at a time: see gates.h. */
#ifndef EDGEKIT_GATES_NEON_H
#define EDGEKIT_GATES_NEON_H

#include "edgekit/loops/gates.h"
#include "edgekit/simd/neon/s32_neon.h"

typedef ek_vi ek_neon_ints;
#define EK_NEON_LANES 4

/* Two numbers of a table anywhere. */
typedef int32_t ek_neon_two __attribute__((aligned(2), may_alias));

#define ek_neon_load ek_vi_load
#define ek_neon_same ek_vi_same
#define ek_neon_add ek_vi_add
#define ek_neon_times ek_vi_mul
#define ek_neon_shifted ek_vi_shifted

static inline int32x4_t ek_neon_bounded(const int32x4_t a, const int32_t lo, const int32_t hi)
{
    return vminq_s32(vmaxq_s32(a, vdupq_n_s32(lo)), vdupq_n_s32(hi));
}
static inline int32x4_t ek_neon_magnitude(const int32x4_t a)
{
    return vabsq_s32(a);
}
static inline int32x4_t ek_neon_signed(const int32x4_t y, const int32x4_t x)
{
    const int32x4_t sign = vshrq_n_s32(x, 31);
    return vsubq_s32(veorq_s32(y, sign), sign);
}
/* Both numbers of the table at once, and what each counts. */
static inline int32x4_t ek_neon_between(const int16_t *table, const int32x4_t a, const int32_t bits)
{
    const int32x4_t i = ek_neon_shifted(a, bits);
    const int16x4_t part = vmovn_s32(vandq_s32(a, vdupq_n_s32((1 << bits) - 1)));
    const int16x4_t left = vsub_s16(vdup_n_s16((int16_t)(1 << bits)), part);
    int32x4_t both = vdupq_n_s32(*(const ek_neon_two *)(const void *)(table + vgetq_lane_s32(i, 0)));
    both = vsetq_lane_s32(*(const ek_neon_two *)(const void *)(table + vgetq_lane_s32(i, 1)), both, 1);
    both = vsetq_lane_s32(*(const ek_neon_two *)(const void *)(table + vgetq_lane_s32(i, 2)), both, 2);
    both = vsetq_lane_s32(*(const ek_neon_two *)(const void *)(table + vgetq_lane_s32(i, 3)), both, 3);
    return vmlal_s16(vmull_s16(vmovn_s32(both), left), vshrn_n_s32(both, 16), part);
}
static inline int32x4_t ek_neon_s16(const int16_t *p, const int32_t count)
{
    int16_t some[4] = {0};
    for (int32_t i = 0; count < 4 && i < count; i++)
        some[i] = p[i];
    return vmovl_s16(vld1_s16(count < 4 ? some : p));
}
static inline int32x4_t ek_neon_s8(const int8_t *p, const int32_t count)
{
    int8_t some[8] = {0};
    for (int32_t i = 0; i < 4 && i < count; i++)
        some[i] = p[i];
    return vmovl_s16(vget_low_s16(vmovl_s8(vld1_s8(some))));
}
static inline void ek_neon_store_s16(int16_t *p, const int32x4_t y, const int32_t count)
{
    int16_t some[4];
    vst1_s16(count < 4 ? some : p, vmovn_s32(y));
    for (int32_t i = 0; count < 4 && i < count; i++)
        p[i] = some[i];
}
static inline void ek_neon_store_s8(int8_t *p, const int32x4_t y, const int32_t count)
{
    const int16x4_t half = vmovn_s32(y);
    int8_t some[8];
    vst1_s8(some, vmovn_s16(vcombine_s16(half, half)));
    if (count == 4)
        __builtin_memcpy(p, some, 4);
    else
        for (int32_t i = 0; i < count; i++)
            p[i] = some[i];
}

#define EK_ONE(name) ek_neon_##name
#include "edgekit/loops/gates_lanes.h"
#undef EK_ONE

#endif
