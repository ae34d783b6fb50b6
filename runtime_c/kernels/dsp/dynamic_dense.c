/* Fully connected layer of rows that were quantized in this run, with DSP instructions and an FPU: see
 * dynamic_rows_dsp.h.
 * @for W=s8 C=f32 @when (group % 16 == 0 or group == inputs) and group <= 512 and least_weight > -128
 * @pack w: O/4! I/16! i16/2(021346578a9bcedf) o4/2 i2 o2 : carry s8 @pack scale: O/4! I o4
 * @pack b: O/4! o4 @scratch 2 * ((inputs + 15) // 16 * 16) + 20 * ((inputs + group - 1) // group)
 * @work products 2, calls, inputs, padded outputs, padded products, positions */
/* Scales in f16.
 * @as dsp/dynamic_dense.s8_f16 C=f16 s8f32=s8f16
 * @work products 2, padded outputs, padded products, positions, scratch */
/* Scales in bf16.
 * @as dsp/dynamic_dense.s8_bf16 C=bf16 s8f32=s8bf16 @work products 2 */
/* Weights of 4 bits, scales in f32.
 * @as dsp/dynamic_dense.s4_f32 W=s4 s8f32=s4f32 @without when least_weight > -128
 * @pack w: O/4! I/16! i16(021346578a9bcedf) o4 : excess u4 @work products 2 */
/* Weights of 4 bits, scales in f16.
 * @as dsp/dynamic_dense.s4_f16 C=f16 s8f32=s4f16 like dsp/dynamic_dense.s4_f32
 * @work products 2, calls, padded outputs, padded products, positions, products by 64 outputs */
/* Weights of 4 bits, scales in bf16.
 * @as dsp/dynamic_dense.s4_bf16 C=bf16 s8f32=s4bf16 like dsp/dynamic_dense.s4_f32 @work products 2 */
#include "edgekit/contracts/dynamic_dense.h"
#include "edgekit/simd/cortex_m/dynamic_rows_dsp.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const float *s, const EK_W *w, const EK_C *scale,
    const float *b, float *y, int32_t *numbers, const struct EK_STRUCT *p)
{
    struct ek_dynamic_row row = {w, scale, b, y, numbers, 0, p->outputs, 0};
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, row.y += p->outputs) {
        int32_t *end = numbers;
        for (int32_t at = 0; at < p->inputs; at += p->group) {
            const int32_t left = p->inputs - at;
            end = ek_group_of_row(x + at, left < p->group ? left : p->group, end, ek_s8f32_offset);
        }
        row.end = end;
        row.s = s[r];
        ek_s8f32_row(&row);
    }
    ek_clamp_each(y, p->rows * p->outputs, p->lo, p->hi);
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, s, w, scale, b, y, (int32_t *)(void *)scratch, p);
}
