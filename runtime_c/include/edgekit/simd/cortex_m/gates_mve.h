/* Gates of recurrent layers of integers with Helium, four numbers at a time: see gates.h. */
#ifndef EDGEKIT_GATES_MVE_H
#define EDGEKIT_GATES_MVE_H

#include "edgekit/loops/gates.h"
#include "edgekit/simd/cortex_m/mve.h"

typedef int32x4_t ek_mve_ints;
#define EK_MVE_LANES 4
#define EK_MVE_ROWS 4

static inline int32x4_t ek_mve_load(const int32_t *p)
{
    return vldrwq_s32(p);
}
static inline int32x4_t ek_mve_same(const int32_t x)
{
    return vdupq_n_s32(x);
}
static inline int32x4_t ek_mve_add(const int32x4_t a, const int32x4_t b)
{
    return vaddq_s32(a, b);
}
static inline int32x4_t ek_mve_times(const int32x4_t a, const int32x4_t b)
{
    return vmulq_s32(a, b);
}
/* a >> shift. */
static inline int32x4_t ek_mve_shifted(const int32x4_t a, const int32_t shift)
{
    return vshlq_r_s32(a, -shift);
}
static inline int32x4_t ek_mve_bounded(const int32x4_t a, const int32_t lo, const int32_t hi)
{
    return vminq_s32(vmaxq_s32(a, vdupq_n_s32(lo)), vdupq_n_s32(hi));
}
static inline int32x4_t ek_mve_magnitude(const int32x4_t a)
{
    return vabsq_s32(a);
}
static inline int32x4_t ek_mve_signed(const int32x4_t y, const int32x4_t x)
{
    return vnegq_m_s32(y, y, vcmpltq_n_s32(x, 0));
}
static inline int32x4_t ek_mve_between(const int16_t *table, const int32x4_t a, const int32_t bits)
{
    const uint32x4_t i = vreinterpretq_u32_s32(ek_mve_shifted(a, bits));
    const int32x4_t from = vldrhq_gather_shifted_offset_s32(table, i);
    const int32x4_t rise = vsubq_s32(vldrhq_gather_shifted_offset_s32(table + 1, i), from);
    const int32x4_t part = vandq_s32(a, vdupq_n_s32((1 << bits) - 1));
    return vaddq_s32(vshlq_r_s32(from, bits), vmulq_s32(rise, part));
}
static inline int32x4_t ek_mve_s8(const int8_t *p, const int32_t count)
{
    return count < 4 ? vldrbq_z_s32(p, vctp32q((uint32_t)count)) : vldrbq_s32(p);
}
static inline int32x4_t ek_mve_s16(const int16_t *p, const int32_t count)
{
    return count < 4 ? vldrhq_z_s32(p, vctp32q((uint32_t)count)) : vldrhq_s32(p);
}
static inline void ek_mve_store_s8(int8_t *p, const int32x4_t y, const int32_t count)
{
    if (count < 4)
        vstrbq_p_s32(p, y, vctp32q((uint32_t)count));
    else
        vstrbq_s32(p, y);
}
static inline void ek_mve_store_s16(int16_t *p, const int32x4_t y, const int32_t count)
{
    if (count < 4)
        vstrhq_p_s32(p, y, vctp32q((uint32_t)count));
    else
        vstrhq_s32(p, y);
}

#define EK_ONE(name) ek_mve_##name
#include "edgekit/loops/gates_lanes.h"

/* The state in whole blocks of sixteen numbers: copied to `room` where it ends within one. */
EK_INLINE const int8_t *ek_mve_read(const int8_t *h, int16_t *room, const int32_t size)
{
    int8_t *const copy = (int8_t *)room;
    if (size % 16 == 0)
        return h;
    for (int32_t i = 0; i < size; i += 16)
        vstrbq_s8(copy + i, vldrbq_z_s8(h + i, vctp8q((uint32_t)(size - i))));
    return copy;
}

/* What state h adds to four sums of gate k. Rule E keeps upper words of products: small shifts move sums up, within 32
 * bits. Each gate has whole blocks of four rows. */
EK_INLINE void ek_mve_sums(const struct ek_gates *g, const int8_t *h, const int32_t k, const int32_t first,
    const int32_t left, int32_t *sum)
{
    const int32_t row = k * ((g->size + 3) / 4 * 4) + first, blocks = (g->size + 15) / 16;
    const int32x4_t products = ek_mve_dot_1x4(h, g->r + row * 16 * blocks, blocks);
    const int32x4_t acc = vaddq_s32(products, vldrwq_s32(g->b + row)), m = vldrwq_s32(g->m + row);
    (void)left;
    vstrwq_s32(sum, g->shift > 32 ? vrshlq_n_s32(vmulhq_s32(acc, m), 32 - g->shift)
                                  : vrmulhq_s32(vshlq_r_s32(acc, 32 - g->shift), m));
}

#define EK_STATE(name) ek_mve_##name
#define EK_ROWS EK_MVE_ROWS
#define EK_WIDTH EK_MVE_LANES
#include "edgekit/loops/gates_sums.h"
#undef EK_ONE
#undef EK_STATE
#undef EK_ROWS
#undef EK_WIDTH

#endif
