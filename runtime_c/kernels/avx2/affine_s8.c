/* int8 sum or difference of rows, or of a row and a number. Four vectors advance together.
 * @when sa[5] == 1 and sb[5] in (0, 1) */
/* int8 sum or difference of rows.
 * @as avx512/affine_s8, wasm/affine_s8, rvv/affine_s8 */
/* int8 sum or difference of rows, for factors of 16 bits.
 * @as neon/affine_s8.contiguous s32=s16, neon32/affine_s8.contiguous s32=s16
 * @when -32768 <= first and first <= 32767 and -32768 <= second and second <= 32767 @work outputs 1.95 */
/* int8 sum or difference of rows, for factors of 32 bits.
 * @as neon/affine_s8.contiguous_s32, neon32/affine_s8.contiguous_s32 @work outputs 2.31 */
#include "edgekit/contracts/affine_s8.h"
#include "edgekit/loops/rows.h"

EK_INLINE void EK_FN_vectors(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    ek_vi u[4], v[4];
    ek_vi_load_s8(u, a, 0);
    ek_vi_load_s8(v, b, 0);
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
        const ek_vi of_a = ek_vi_add(ek_vi_mul(u[k], ek_s32_factor(p->first)), ek_vi_same(p->constant));
        const ek_vi of_b = ek_vi_mul(v[k], ek_s32_factor(p->second));
        u[k] = ek_vi_shifted(ek_vi_add(of_a, of_b), p->shift);
    }
    ek_vi_store_s8(y, u, 0, p->lo, p->hi);
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
