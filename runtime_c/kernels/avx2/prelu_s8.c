/* int8 PRelu of rows, with a slope for each number or for all of a row. Four vectors advance together.
 * @when sa[5] == 1 and sb[5] in (0, 1) */
/* int8 PRelu of rows.
 * @as avx512/prelu_s8, wasm/prelu_s8, rvv/prelu_s8, neon/prelu_s8, neon32/prelu_s8 */
#include "edgekit/contracts/prelu_s8.h"
#include "edgekit/loops/rows.h"

EK_INLINE void EK_FN_vectors(const int8_t *a, const int16_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    ek_vi u[4];
    ek_vi_load_s8(u, a, p->a_zero);
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
        const ek_vi slopes = ek_vi_load_s16(b + k * EK_VI_LANES);
        const ek_vi factors = ek_vi_by_sign(u[k], slopes, ek_vi_same(p->positive));
        u[k] = ek_vi_add(ek_vi_mul(u[k], factors), ek_vi_same(p->constant));
        u[k] = ek_vi_shifted(u[k], p->shift);
    }
    ek_vi_store_s8(y, u, 0, p->lo, p->hi);
}

/* A row of `n` numbers; y may be a. */
EK_VI_SHARED void EK_FN_row(
    const int8_t *a, const int16_t *b, int8_t *y, const int32_t n, const struct EK_STRUCT *given)
{
    const struct EK_STRUCT copy = *given, *const p = &copy; /* y might be anywhere */
    int8_t last[2][4 * EK_VI_LANES] = {{0}};
    int16_t same[4 * EK_VI_LANES];
    int32_t i = 0;
    for (int32_t k = 0; k < 4 * EK_VI_LANES; k++)
        same[k] = b[0];
    for (; i + 4 * EK_VI_LANES <= n; i += 4 * EK_VI_LANES)
        EK_FN_vectors(a + i, p->sb[5] ? b + i : same, y + i, p);
    if (i < n) {
        ek_vi_copy_s8(last[0], a + i, n - i);
        for (int32_t k = 0; k < n - i && p->sb[5]; k++)
            same[k] = b[i + k];
        EK_FN_vectors(last[0], same, last[1], p);
        ek_vi_copy_s8(y + i, last[1], n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int16_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
