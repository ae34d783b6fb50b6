/* Fully connected layer of several rows that were quantized in this run, with Helium, two at a time: see
 * dynamic_rows_mve.h.
 * @for W=s8 C=f32
 * @when rows > 1 and (group >= inputs or group % 16 == 0 and (inputs + 15) // 16 * 16 % group == 0)
 * @pack w: O/4! I/16! o4 i16 @pack scale: O/4! I o4 @pack b: O/4! o4
 * @scratch max(1, 2 * ((inputs % 16 + 15) // 16) * ((inputs + 15) // 16 * 16))
 * @work products 1.8, odd outputs, padded outputs, padded products, positions, products by 32 outputs
 * @work scratch, weights */
/* Scales in f16.
 * @as mve/dynamic_dense.two_rows_s8_f16 C=f16 s8f32x4=s8f16x4
 * @work products 1.8, calls, odd outputs, outputs, paired products, positions, scratch, weights */
/* Scales in bf16.
 * @as mve/dynamic_dense.two_rows_s8_bf16 C=bf16 s8f32x4=s8bf16x4 @work products 1.8 */
/* Weights of 4 bits, scales in f32.
 * @as mve/dynamic_dense.two_rows_s4_f32 W=s4 s8f32x4=s4f32x4 @without when
 * @when (group >= inputs or group % 32 == 0 and (inputs + 31) // 32 * 32 % group == 0) and rows > 1
 * @pack w: O/4! I/32! o4 i32(2x16) : u4
 * @scratch max(1, 2 * ((inputs % 32 + 31) // 32) * ((inputs + 31) // 32 * 32)) @work products 1.8 */
/* Weights of 4 bits, scales in f16.
 * @as mve/dynamic_dense.two_rows_s4_f16 C=f16 s8f32x4=s4f16x4 like mve/dynamic_dense.two_rows_s4_f32
 * @work products 1.8, calls, inputs, outputs, padded products, paired products, positions */
/* Weights of 4 bits, scales in bf16.
 * @as mve/dynamic_dense.two_rows_s4_bf16 C=bf16 s8f32x4=s4bf16x4 like mve/dynamic_dense.two_rows_s4_f32
 * @work products 1.8 */
#include "edgekit/contracts/dynamic_dense.h"
#include "edgekit/simd/cortex_m/dynamic_rows_mve.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const float *s, const EK_W *w, const EK_C *scale,
    const float *b, float *y, int8_t *copies, const struct EK_STRUCT *p)
{
    const int32_t blocks = (p->inputs + ek_s8f32x4_block - 1) / ek_s8f32x4_block,
                  whole = blocks * ek_s8f32x4_block;
    const int32_t group = p->group < p->inputs ? p->group / ek_s8f32x4_block : blocks;
    struct ek_mve_rows rows = {w, scale, b, y, y, x, x, blocks, group, p->outputs, 0, 0};
    for (int32_t r = 0; r < p->rows; r += 2, x += 2 * p->inputs) {
        rows.x0 = ek_mve_whole_row(x, p->inputs, whole, copies);
        rows.y0 = y + r * p->outputs;
        rows.s0 = s[r];
        if (r + 1 == p->rows)
            ek_s8f32x4_row(&rows);
        else {
            rows.x1 = ek_mve_whole_row(x + p->inputs, p->inputs, whole, copies + whole);
            rows.y1 = rows.y0 + p->outputs;
            rows.s1 = s[r + 1];
            ek_s8f32x4_two_rows(&rows);
        }
    }
    ek_clamp_each(y, p->rows * p->outputs, p->lo, p->hi);
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, s, w, scale, b, y, (int8_t *)scratch, p);
}
