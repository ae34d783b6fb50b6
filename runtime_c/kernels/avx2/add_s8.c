/* int8 sum or difference of rows. Four vectors advance together.
 * @when sa[5] == 1 and sb[5] == 1 and a_exponent <= 0 and b_exponent <= 0 and exponent <= 0 */
/* int8 sum or difference of rows.
 * @as avx512/add_s8, rvv/add_s8
 * @as neon/add_s8.contiguous, neon32/add_s8.contiguous @without when @when sa[5] == 1 and sb[5] == 1 */
#include "edgekit/contracts/add_s8.h"
#include "edgekit/loops/rows.h"

EK_INLINE void EK_FN_vectors(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    ek_vi u[4], v[4];
    ek_vi_load_s8(u, a, p->a_zero);
    ek_vi_load_s8(v, b, p->b_zero);
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
        const ek_vi wide_a = ek_vi_mul(u[k], ek_vi_same(1 << 20));
        const ek_vi wide_b = ek_vi_mul(v[k], ek_vi_same(1 << 20));
        const ek_vi of_a = ek_requantize_tfl_same(wide_a, p->a_multiplier, p->a_exponent);
        const ek_vi of_b = ek_requantize_tfl_same(wide_b, p->b_multiplier, p->b_exponent);
        const ek_vi sum = ek_vi_add(of_a, ek_vi_mul(of_b, ek_vi_same(p->sign)));
        u[k] = ek_requantize_tfl_same(sum, p->multiplier, p->exponent);
    }
    ek_vi_store_s8(y, u, p->zero, p->lo, p->hi);
}

/* A row of `n` numbers; y may be a or b. */
EK_VI_SHARED void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t n, const struct EK_STRUCT *given)
{
    const struct EK_STRUCT copy = *given, *const p = &copy; /* y might be anywhere */
    int32_t i = 0;
    for (; i + 4 * EK_VI_LANES <= n; i += 4 * EK_VI_LANES)
        EK_FN_vectors(a + i, b + i, y + i, p);
    if (i < n) {
        int8_t rest[3][4 * EK_VI_LANES] = {{0}};
        ek_vi_copy_s8(rest[0], a + i, n - i);
        ek_vi_copy_s8(rest[1], b + i, n - i);
        EK_FN_vectors(rest[0], rest[1], rest[2], p);
        ek_vi_copy_s8(y + i, rest[2], n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
