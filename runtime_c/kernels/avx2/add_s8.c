/* int8 sum or difference of rows: see add_s8.h.
 * @when sa[5] == 1 and sb[5] == 1 and a_exponent <= 0 and b_exponent <= 0 and exponent <= 0 */
/* int8 sum or difference of rows, sixteen at a time: see add_s8.h.
 * @as avx512/add_s8 x8=x16
 * @when sa[5] == 1 and sb[5] == 1 and a_exponent <= 0 and b_exponent <= 0 and exponent <= 0 */
#include "edgekit/contracts/add_s8.h"
#include "edgekit/loops/rows.h"
#include "edgekit/simd/x86/rules_x86.h"

/* Numbers of an operand, on the common scale. */
EK_INLINE ek_x8_ints EK_FN_wide(const int8_t *x, const int32_t zero, const struct ek_x8_scales *s)
{
    const ek_x8_ints centred = ek_x8_add(ek_x8_widened(x), ek_x8_same(-zero));
    return ek_x8_by_tfl(ek_x8_times(centred, ek_x8_same(1 << 20)), s);
}

/* Four vectors of results. */
EK_INLINE void EK_FN_vectors(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    const struct ek_x8_scales s = ek_x8_scale(p->a_multiplier, p->a_exponent);
    const struct ek_x8_scales t = ek_x8_scale(p->b_multiplier, p->b_exponent);
    const struct ek_x8_scales r = ek_x8_scale(p->multiplier, p->exponent);
    ek_x8_ints z[4];
    for (int32_t k = 0; k < 4; k++) {
        const ek_x8_ints u = EK_FN_wide(a + k * EK_X8_LANES, p->a_zero, &s);
        const ek_x8_ints v = EK_FN_wide(b + k * EK_X8_LANES, p->b_zero, &t);
        z[k] = ek_x8_by_tfl(ek_x8_add(u, ek_x8_times(v, ek_x8_same(p->sign))), &r);
    }
    ek_x8_store_all(y, ek_x8_packed(z[0], z[1], z[2], z[3], p->zero, p->lo, p->hi));
}
/* One row of `size` elements; y may be a or b. */
EK_INLINE void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t size, const struct EK_STRUCT *p)
{
    int32_t i = 0;
    for (; i + 4 * EK_X8_LANES <= size; i += 4 * EK_X8_LANES)
        EK_FN_vectors(a + i, b + i, y + i, p);
    if (i < size) {
        int8_t rest[3][4 * EK_X8_LANES] = {{0}};
        (void)__builtin_memcpy(rest[0], a + i, (size_t)(size - i));
        (void)__builtin_memcpy(rest[1], b + i, (size_t)(size - i));
        EK_FN_vectors(rest[0], rest[1], rest[2], p);
        (void)__builtin_memcpy(y + i, rest[2], (size_t)(size - i));
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
