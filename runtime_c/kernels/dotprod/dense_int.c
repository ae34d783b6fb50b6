/* Fully connected layer of int8. Sixteen outputs of up to four rows advance together, by SDOT.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @pack w: O/16!4 I/4! o16 i4 @pack b: O/16! o16
 * @pack m: O/16! o16 @pack e: O/16! o16 @order rows 4 4 */
/* Fully connected layer of int8, results of 16 bits: sixteen outputs of up to four rows advance together, by SDOT.
 * @as dotprod/dense_int.s8_s16 Y=s16 @without order @rule e e_wide */
/* Fully connected layer of int8. Sixteen outputs of up to four rows advance together, by SMMLA.
 * @as i8mm/dense_int.batch dot=mmla @when rows > 1 @pack w: O/16!4 I/8! o16 i8 */
/* Fully connected layer of int8, results of 16 bits: sixteen outputs of up to four rows advance together, by SMMLA.
 * @as i8mm/dense_int.batch_s8_s16 Y=s16 like i8mm/dense_int.batch @without order @rule e e_wide */
/* Fully connected layer of int8. Four outputs of up to four rows advance together, by SMULL and SADALP.
 * @as neon/dense_int dot=madd @when least_weight > -128 @pack w: O/8!4 I/16! o8 i16
 * @work padded products 0.95 */
/* Fully connected layer of int8, results of 16 bits: four outputs of up to four rows advance together, by SMULL and
 * SADALP.
 * @as neon/dense_int.s8_s16 Y=s16 like neon/dense_int @without order @rule e e_wide */
/* Fully connected layer of int8 with weights of -128, product by product.
 * @as neon/dense_int.one_product dot=mads @pack w: O/8!4 I/16! o8 i16 @work padded products 1 */
#include "edgekit/contracts/dense_int.h"

/* One to four rows, one to four blocks of outputs from output `first` on. */
EK_INLINE void EK_FN_tile(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    EK_Y *EK_RESTRICT y, const int32_t first, const int32_t rows, const int32_t blocks,
    const struct EK_STRUCT *p)
{
    const int32_t padded = (p->inputs + EK_DOT_CELLS - 1) / EK_DOT_CELLS * EK_DOT_CELLS,
                  left_over = p->outputs - first;
    int32x4_t sum[16], factor[4], exponent[4];
    for (int32_t k = 0; k < blocks; k++)
        for (int32_t i = 0; i < rows; i++)
            sum[4 * i + k] = vld1q_s32(b + first + 4 * k);
    ek_dot_s8_neon(x, p->inputs, 0, 1, p->inputs, w + first * padded, rows, blocks, sum);
    for (int32_t k = 0; k < blocks; k++) {
        factor[k] = vld1q_s32(m + first + 4 * k);
        exponent[k] = EK_RULE(load)(e, first + 4 * k);
    }
    for (int32_t i = 0; i < rows; i++, y += p->outputs) {
        int32x4_t v[4];
        for (int32_t k = 0; k < 4; k++)
            v[k] = k < blocks ? EK_RULE(x4)(sum[4 * i + k], factor[k], exponent[k]) : v[0];
        ek_store_numbers_neon(y + first, v, left_over < 4 * blocks ? left_over : 4 * blocks, p->zero, p->lo,
            p->hi, sizeof(EK_Y));
    }
}

/* All outputs of one to four rows. */
EK_INLINE void EK_FN_rows(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    EK_Y *EK_RESTRICT y, const int32_t rows, const struct EK_STRUCT *p)
{
    int32_t o = 0;
    for (; o + 4 * EK_DOT_BLOCKS < p->outputs + 4; o += 4 * EK_DOT_BLOCKS)
        EK_FN_tile(x, w, b, m, e, y, o, rows, EK_DOT_BLOCKS, p);
    const int32_t rest = p->outputs - o;
    if (EK_DOT_BLOCKS > 2 && rest > 8)
        EK_FN_tile(x, w, b, m, e, y, o, rows, 3, p);
    else if (EK_DOT_BLOCKS > 2 && rest > 4)
        EK_FN_tile(x, w, b, m, e, y, o, rows, 2, p);
    else if (rest > 0)
        EK_FN_tile(x, w, b, m, e, y, o, rows, 1, p);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    int32_t r = 0;
    for (; r + 4 <= p->rows; r += 4)
        EK_FN_rows(x + r * p->inputs, w, b, m, e, y + r * p->outputs, 4, p);
    for (int32_t rest = p->rows - r; rest > 0; rest--, r++)
        EK_FN_rows(x + r * p->inputs, w, b, m, e, y + r * p->outputs, 1, p);
}
