/* Fully connected layer of int8. Outputs of a row advance together, as many as eight vector registers hold: see
 * gemm_rvv.h.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @pack w: O/64 I o64
 * @order rows 32 */
/* Fully connected layer of int8 with several rows. Outputs of four rows advance together.
 * @as rvv/dense_int.rows m8=m4
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when rows >= 4
 * @order rows 16 4 */
#include "edgekit/contracts/dense_int.h"

/* The results of `vl` outputs of a row from number `o` on. */
EK_INLINE void EK_FN_finish(const ek_m8_sums sums, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *y, const int32_t o, const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    ek_m8_finish(y + o, EK_RULE(m8)(sums, m, e, o, vl), zero, lo, hi, vl);
}

/* `vl` outputs from number `o` on of one row or of four. Weights are those of a block of `width` outputs. */
EK_INLINE void EK_FN_tile(const int8_t *x, const int8_t *EK_RESTRICT w, const int32_t width,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *y,
    const int32_t o, const int32_t rows, const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t inputs = p->inputs, outputs = p->outputs;
    ek_m8_sums s0 = ek_m8_load(b + o, vl), s1 = s0, s2 = s0, s3 = s0;
    EK_UNROLLED_FOR(4, int32_t i = 0; i < inputs; i++) {
        const ek_m8_weights v = ek_m8_widen(w, vl);
        w += width;
        s0 = ek_m8_add(s0, x[i], v, vl);
        if (rows > 1) {
            s1 = ek_m8_add(s1, x[i + inputs], v, vl);
            s2 = ek_m8_add(s2, x[i + 2 * inputs], v, vl);
            s3 = ek_m8_add(s3, x[i + 3 * inputs], v, vl);
        }
    }
    EK_FN_finish(s0, m, e, y, o, vl, p);
    if (rows > 1) {
        EK_FN_finish(s1, m, e, y + outputs, o, vl, p);
        EK_FN_finish(s2, m, e, y + 2 * outputs, o, vl, p);
        EK_FN_finish(s3, m, e, y + 3 * outputs, o, vl, p);
    }
}

EK_INLINE void EK_FN_rows(const int8_t *x, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *y, const int32_t rows,
    const struct EK_STRUCT *p)
{
    for (int32_t block = 0; block < p->outputs; block += 64) {
        const int32_t left_over = p->outputs - block, width = left_over < 64 ? left_over : 64;
        for (int32_t o = 0, vl = 0; o < width; o += vl) {
            vl = (int32_t)ek_m8_count(width - o);
            EK_FN_tile(x, w + block * p->inputs + o, width, b, m, e, y, block + o, rows, (size_t)vl, p);
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    int32_t r = 0;
    for (; EK_M8_PIXELS > 3 && r + 4 <= p->rows; r += 4)
        EK_FN_rows(x + r * p->inputs, w, b, m, e, y + r * p->outputs, 4, p);
    for (; r < p->rows; r++)
        EK_FN_rows(x + r * p->inputs, w, b, m, e, y + r * p->outputs, 1, p);
}
