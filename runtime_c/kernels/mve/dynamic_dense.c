/* Fully connected layer of a row that was quantized in this run, with Helium: see dynamic_rows_mve.h.
 * @for W=s8 C=f32 @when group >= inputs or group % 16 == 0 and (inputs + 15) // 16 * 16 % group == 0
 * @pack w: O/4! I/16! o4 i16 @pack scale: O/4! I o4 @pack b: O/4! o4
 * @scratch max(1, ((inputs % 16 + 15) // 16) * ((inputs + 15) // 16 * 16))
 * @work products 2, calls, padded outputs, padded products, paired outputs, positions, scratch */
/* Scales in f16.
 * @as mve/dynamic_dense.s8_f16 C=f16 s8f32x4=s8f16x4
 * @work products 2, padded outputs, padded products, positions, scratch, weights */
/* Scales in bf16.
 * @as mve/dynamic_dense.s8_bf16 C=bf16 s8f32x4=s8bf16x4 @work products 2 */
/* Weights of 4 bits, scales in f32.
 * @as mve/dynamic_dense.s4_f32 W=s4 s8f32x4=s4f32x4 @without when
 * @when group >= inputs or group % 32 == 0 and (inputs + 31) // 32 * 32 % group == 0
 * @pack w: O/4! I/32! o4 i32(2x16) : u4
 * @scratch max(1, ((inputs % 32 + 31) // 32) * ((inputs + 31) // 32 * 32)) @work products 2 */
/* Weights of 4 bits, scales in f16.
 * @as mve/dynamic_dense.s4_f16 C=f16 s8f32x4=s4f16x4 like mve/dynamic_dense.s4_f32
 * @work products 2, calls, outputs, padded products, positions, products by 32 outputs */
/* Weights of 4 bits, scales in bf16.
 * @as mve/dynamic_dense.s4_bf16 C=bf16 s8f32x4=s4bf16x4 like mve/dynamic_dense.s4_f32 @work products 2 */
#include "edgekit/contracts/dynamic_dense.h"
#include "edgekit/simd/cortex_m/dynamic_rows_mve.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const float *s, const EK_W *w, const EK_C *scale,
    const float *b, float *y, int8_t *copies, const struct EK_STRUCT *p)
{
    const int32_t blocks = (p->inputs + ek_s8f32x4_block - 1) / ek_s8f32x4_block,
                  whole = blocks * ek_s8f32x4_block;
    const int32_t group = p->group < p->inputs ? p->group / ek_s8f32x4_block : blocks;
    struct ek_mve_rows row = {w, scale, b, y, y, x, x, blocks, group, p->outputs, 0, 0};
    for (int32_t r = 0; r < p->rows; r++, row.y0 += p->outputs) {
        row.x0 = ek_mve_whole_row(x + r * p->inputs, p->inputs, whole, copies);
        row.s0 = s[r];
        ek_s8f32x4_row(&row);
    }
    ek_clamp_each(y, p->rows * p->outputs, p->lo, p->hi);
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, s, w, scale, b, y, (int8_t *)scratch, p);
}
