/* Fully connected layer of floats: see dense.h. Sixteen outputs of up to four rows advance together.
 * @for T=f32 W=f32 B=f32
 * @pack w: O/16!4 I o16
 * @pack b: O/4! o4
 * @order rows 4 4 */
/* As dense.c, for weights of 16 bits, which are widened where they are loaded.
 * @as neon/dense.bf16 f32_fma=bf16_fma, neon32/dense.bf16 f32_fma=bf16_fma
 * @for T=f32 W=bf16 B=f32
 * @order rows 4 4 */
/* Fully connected layer of floats: see dense.h. Sixteen outputs of up to four rows advance together.
 * Subnormal numbers count as 0, as this unit has it.
 * @as neon32/dense
 * @for T=f32 W=f32 B=f32
 * @order rows 4 4 */
#include "edgekit/contracts/dense.h"

/* One to four rows, one to four blocks of outputs from output `first` on. */
EK_INLINE void EK_FN_tile(const float *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t first, const int32_t rows, const int32_t blocks,
    const struct EK_STRUCT *p)
{
    float32x4_t sum[16];
    for (int32_t k = 0; k < blocks; k++)
        for (int32_t i = 0; i < rows; i++)
            sum[4 * i + k] = vld1q_f32(b + first + 4 * k);
    ek_f32_fma_neon(x, p->inputs, 0, 1, p->inputs, w + first * p->inputs, rows, blocks, sum);
    for (int32_t i = 0; i < rows; i++, y += p->outputs)
        for (int32_t k = 0; k < blocks; k++)
            ek_f32_store_neon(y + first + 4 * k, ek_f32_clamp_neon(sum[4 * i + k], p->lo, p->hi),
                p->outputs - first - 4 * k);
}

/* All outputs of one to four rows. */
EK_INLINE void EK_FN_rows(const float *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t rows, const struct EK_STRUCT *p)
{
    int32_t o = 0;
    for (; o + 12 < p->outputs; o += 16)
        EK_FN_tile(x, w, b, y, o, rows, 4, p);
    const int32_t rest = p->outputs - o;
    if (rest > 8)
        EK_FN_tile(x, w, b, y, o, rows, 3, p);
    else if (rest > 4)
        EK_FN_tile(x, w, b, y, o, rows, 2, p);
    else if (rest > 0)
        EK_FN_tile(x, w, b, y, o, rows, 1, p);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    int32_t r = 0;
    for (; r + 4 <= p->rows; r += 4)
        EK_FN_rows(x + r * p->inputs, w, b, y + r * p->outputs, 4, p);
    for (; r < p->rows; r++)
        EK_FN_rows(x + r * p->inputs, w, b, y + r * p->outputs, 1, p);
}
