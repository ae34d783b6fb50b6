/* Floats one at a time, for RISC-V with a floating point unit and no vectors, under the names of vectors: sums of four
 * outputs of four pixels are registers, so that each number that is loaded has four products. */
#ifndef EDGEKIT_F32_RISCVF_H
#define EDGEKIT_F32_RISCVF_H

#include "edgekit/loops/weight_kinds.h"
#include "edgekit/math/half.h"

#define EK_VF_LANES 1
/* How many outputs kernels take at once, and pixels for so many: what registers can hold. */
#define EK_VF_BLOCKS 4
#define EK_VF_PIXELS(blocks) 4
/* How many columns products with transposed matrices take at once. */
#define EK_VF_COLUMNS 4
/* How many pixels have all of their outputs before the next, so that results may overlap inputs. */
#define EK_VF_TOGETHER 4
/* Sums are not split. */
#define EK_VF_SPLIT 1
/* One pixel has few products for a turn of a loop: it takes several cells. */
#define EK_VF_TAPS(pixels) ((pixels) == 1 ? 4 : 2)
#define EK_VF_HIDE(p) (void)(p)

typedef float ek_vf;

EK_INLINE ek_vf ek_vf_set(const float x)
{
    return x;
}

EK_INLINE ek_vf ek_vf_add(const ek_vf a, const ek_vf b)
{
    return a + b;
}

EK_INLINE ek_vf ek_vf_mul(const ek_vf a, const ek_vf b)
{
    return a * b;
}

/* a * b + c, rounded once */
EK_INLINE ek_vf ek_vf_fma(const ek_vf a, const ek_vf b, const ek_vf c)
{
    return __builtin_fmaf(a, b, c);
}

EK_INLINE ek_vf ek_vf_clamp(const ek_vf x, const float lo, const float hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

EK_INLINE ek_vf ek_vf_load(const float *x, const int32_t count)
{
    (void)count;
    return *x;
}

EK_INLINE void ek_vf_store(float *y, const int32_t count, const ek_vf v)
{
    (void)count;
    *y = v;
}

/* Weight number `at`, of this kind. */
EK_INLINE ek_vf ek_vf_weights(const void *w, const int32_t at, const int32_t kind)
{
    if (kind == EK_S8_KIND)
        return (float)((const int8_t *)w)[at];
    if (kind == EK_BF16_KIND) {
        const uint32_t bits = (uint32_t)((const uint16_t *)w)[at] << 16;
        float x;
        __builtin_memcpy(&x, &bits, sizeof x);
        return x;
    }
    if (kind == EK_F16_KIND)
        return ek_f16_to_f32(((const uint16_t *)w)[at]);
    return ((const float *)w)[at];
}

/* The first or the second one of two, `step` numbers apart. */
EK_INLINE ek_vf ek_vf_weights_of_two(
    const void *w, const int32_t at, const int32_t step, const int32_t is_second, const int32_t kind)
{
    return ek_vf_weights(w, at + is_second * step, kind);
}

EK_INLINE void ek_vf_fetch(const uint8_t *p)
{
    (void)p;
}

/* The n weights that a kernel computes with, as they are: if they are no floats, they are widened where they are loaded. */
EK_INLINE const void *ek_f32_once_vf(const void *w, const int32_t n, float **room)
{
    (void)n;
    (void)room;
    return w;
}

/* n floats, copied or 0. */
EK_INLINE void ek_copy_floats_vf(float *y, const float *x, const int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = x[i];
}

EK_INLINE void ek_zero_floats_vf(float *y, const int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = 0.0f;
}

EK_INLINE void ek_vf_store_totals(float *y, const int32_t count, const ek_vf *v)
{
    for (int32_t i = 0; i < count; i++)
        y[i] = v[i];
}

#endif
