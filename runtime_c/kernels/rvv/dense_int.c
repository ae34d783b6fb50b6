/* Fully connected layer of int8. Outputs of up to three rows advance together, as many as eight vector registers hold: see
 * gemm_rvv.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @pack w: O/64 I o64 @order rows 32 3
 * @count blocks: (outputs + 63) // 64
 * @count tiles: (rows + 2) // 3
 * @count weight vectors: tiles * blocks * inputs
 * @count results: rows * blocks
 * @count results by tfl: results * (rule != "e")
 * @work products by 64 outputs 0.185, results 62.4, results by tfl 162, weight vectors 10.1 */
/* Results of 16 bits.
 * @as rvv/dense_int.s8_s16 Y=s16 @without order @rule e e_wide */
/* Fully connected layer of int8 with several rows. Outputs of up to six rows advance together.
 * @as rvv/dense_int.rows4 m8=m4 @order rows 16 6
 * @count blocks: (outputs + 31) // 32
 * @count tiles: (rows + 5) // 6
 * @work calls 9.77, products by 32 outputs 0.193, results 38.9, results by tfl 65.8, weight vectors 8 */
#include "edgekit/contracts/dense_int.h"

/* The results of `vl` outputs of a row from number `o` on. */
EK_INLINE void EK_FN_finish(const ek_m8_sums sums, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    EK_Y *y, const int32_t o, const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    if (sizeof(EK_Y) == 1)
        ek_m8_finish((int8_t *)y + o, EK_RULE(m8)(sums, m, e, o, vl), zero, lo, hi, vl);
    else
        ek_m8_finish_s16((int16_t *)y + o, EK_RULE(m8)(sums, m, e, o, vl), zero, lo, hi, vl);
}

#define EK_FN_add(k, s)                                                                                      \
    if (rows > (k))                                                                                          \
        s = ek_m8_add(s, x[i + (k) * inputs], v, vl);
#define EK_FN_store(k, s)                                                                                    \
    if (rows > (k))                                                                                          \
        EK_FN_finish(s, m, e, y + (k) * outputs, o, vl, p);

/* `vl` outputs from number `o` on of some rows. Weights are those of a block of `width` outputs. */
EK_INLINE void EK_FN_tile(const int8_t *x, const int8_t *EK_RESTRICT w, const int32_t width,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y,
    const int32_t o, const int32_t rows, const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t inputs = p->inputs, outputs = p->outputs;
    ek_m8_sums s0 = ek_m8_load(b + o, vl), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0,
               s8 = s0, s9 = s0, s10 = s0, s11 = s0;
    EK_UNROLLED_FOR(4, int32_t i = 0; i < inputs; i++) {
        const ek_m8_weights v = ek_m8_widen(w, vl);
        w += width;
        EK_EACH_PIXEL(EK_FN_add)
    }
    EK_EACH_PIXEL(EK_FN_store)
}

/* All outputs of some rows. */
EK_INLINE void EK_FN_rows(const int8_t *x, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const int32_t rows,
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
    const int32_t rows = ek_tile_pixels(p->rows, EK_M8_PIXELS), whole = p->rows / rows * rows;
    int32_t r = 0;
    for (; r < whole; r += rows)
        EK_FN_rows(x + r * p->inputs, w, b, m, e, y + r * p->outputs, rows, p);
    if (EK_IS_COMPACT)
        for (; r < p->rows; r++)
            EK_FN_rows(x + r * p->inputs, w, b, m, e, y + r * p->outputs, 1, p);
    else if (whole < p->rows)
        EK_FN_rows(x + whole * p->inputs, w, b, m, e, y + whole * p->outputs, p->rows - whole, p);
}
