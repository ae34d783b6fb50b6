/* int8 product of rows, or of a row and a number. Four vectors advance together.
 * @rule e e_wide tfl @when sa[5] == 1 and sb[5] in (0, 1) and (rule != "tfl" or exponent <= 14) */
/* int8 product of rows.
 * @as avx512/mul_s8, wasm/mul_s8, rvv/mul_s8
 * @as neon/mul_s8.contiguous, neon32/mul_s8.contiguous @without when rule != "tfl" or exponent <= 14 */
#include "edgekit/contracts/mul_s8.h"
#include "edgekit/loops/rows.h"

EK_INLINE void EK_FN_vectors(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    ek_vi u[4], v[4];
    ek_vi_load_s8(u, a, p->a_zero);
    ek_vi_load_s8(v, b, p->b_zero);
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        u[k] = EK_RULE(same)(ek_vi_mul(u[k], v[k]), p->multiplier, p->exponent);
    ek_vi_store_s8(y, u, p->zero, p->lo, p->hi);
}

/* A row of `n` numbers; y may be a or b, of which one number may be for all. */
EK_VI_SHARED void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t n, const struct EK_STRUCT *given)
{
    const struct EK_STRUCT copy = *given, *const p = &copy; /* y might be anywhere */
    int8_t rest[2][4 * EK_VI_LANES] = {{0}}, same[4 * EK_VI_LANES];
    int32_t i = 0;
    for (int32_t k = 0; k < 4 * EK_VI_LANES; k++)
        same[k] = b[0];
    for (; i + 4 * EK_VI_LANES <= n; i += 4 * EK_VI_LANES)
        EK_FN_vectors(a + i, p->sb[5] ? b + i : same, y + i, p);
    if (i < n) {
        ek_vi_copy_s8(rest[0], a + i, n - i);
        if (p->sb[5])
            ek_vi_copy_s8(same, b + i, n - i);
        EK_FN_vectors(rest[0], same, rest[1], p);
        ek_vi_copy_s8(y + i, rest[1], n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
