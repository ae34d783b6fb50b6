/* The rules of fixed.h over arrays: map_<rule>(a, b, c, y, n). Uses no libc. */
#include <stddef.h>

#define __ARM_ARCH_ISA_THUMB 1 /* as on Cortex-M0+, which has products of 32 bits alone */

#include "edgekit/math/fixed.h"
#include "edgekit/math/inverse_sqrt.h"
#include "edgekit/simd/cortex_m/fixed_thumb.h"

#define MAP(name, type, expression)                                                                          \
    void map_##name(const type *a, const int32_t *b, const int32_t *c, int32_t *y, size_t n);                \
    void map_##name(const type *a, const int32_t *b, const int32_t *c, int32_t *y, size_t n)                 \
    {                                                                                                        \
        (void)b, (void)c;                                                                                    \
        for (size_t i = 0; i < n; i++)                                                                       \
            y[i] = expression;                                                                               \
    }

MAP(e, int32_t, ek_requantize_e(a[i], b[i], c[i]))
MAP(e_wide, int32_t, ek_requantize_e_wide(a[i], b[i], c[i]))
MAP(e_long, int64_t, ek_requantize_e_long(a[i], b[i], c[i]))
MAP(tfl, int32_t, ek_requantize_tfl(a[i], b[i], c[i]))
MAP(once, int32_t, ek_requantize_once(a[i], b[i], c[i]))
MAP(shift_away, int32_t, ek_shift_away(a[i], c[i]))
MAP(high_product, int32_t, ek_high_product(a[i], b[i]))
MAP(product_above, int32_t, ek_product_above(a[i], b[i], c[i]))
MAP(leading_zeros, int32_t, ek_leading_zeros((uint32_t)a[i]))
MAP(reciprocal, int32_t, ek_reciprocal_of_one_plus(a[i]))
MAP(inverse_sqrt, int32_t, ek_inverse_sqrt(a[i]))
MAP(inverse_sqrt_exponent, int32_t, ek_inverse_sqrt_exponent(a[i]))
MAP(clamp_s8, int32_t, ek_clamp_s8(a[i], b[i], c[i]))
MAP(clamp_s32, int32_t, ek_clamp_s32(a[i], b[i], c[i]))
