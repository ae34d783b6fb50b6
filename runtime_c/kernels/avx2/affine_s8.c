/* int8 sum or difference of rows: see affine_s8.h.
 * @when sa[5] == 1 and sb[5] == 1 */
/* int8 sum or difference of rows, sixteen at a time: see affine_s8.h.
 * @as avx512/affine_s8 x8=x16
 * @when sa[5] == 1 and sb[5] == 1 */
#include "edgekit/contracts/affine_s8.h"
#include "edgekit/loops/rows.h"
#include "edgekit/simd/x86/rules_x86.h"

/* Four vectors of results. */
EK_INLINE void EK_FN_vectors(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    ek_x8_ints z[4];
    EK_UNROLLED_FOR(32, int32_t k = 0; k < 4; k++) {
        const ek_x8_ints u = ek_x8_times(ek_x8_widened(a + k * EK_X8_LANES), ek_x8_same(p->first));
        const ek_x8_ints v = ek_x8_times(ek_x8_widened(b + k * EK_X8_LANES), ek_x8_same(p->second));
        z[k] = ek_x8_shifted(ek_x8_add(ek_x8_add(u, ek_x8_same(p->constant)), v), p->shift);
    }
    ek_x8_store_all(y, ek_x8_packed(z[0], z[1], z[2], z[3], 0, p->lo, p->hi));
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
