/* Fully connected layer of what was quantized in this run: see dynamic_rows_rvv.h.
 * @pack w: O/64 I o64 @split outputs/64 */
#include "edgekit/contracts/dynamic_quantize_dense.h"

/* As many outputs of all rows as vectors hold, of a block of weights that is `width` outputs wide. */
EK_INLINE void EK_FN_outputs(const int8_t *EK_RESTRICT x, const float x_scale, const int32_t x_zero,
    const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT sums, const float *EK_RESTRICT scale,
    const float *EK_RESTRICT b, float *EK_RESTRICT y, const int32_t width, const size_t vl,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs) {
        vint32m8_t sum = __riscv_vmul(__riscv_vle32_v_i32m8(sums, vl), -x_zero, vl);
        sum = ek_dr_products(sum, x, (const uint8_t *)w, p->inputs, width, EK_S8_KIND, vl);
        const vfloat32m8_t factor = __riscv_vfmul(ek_fm8_load(scale, vl), x_scale, vl);
        const vfloat32m8_t product = __riscv_vfmul(factor, __riscv_vfcvt_f_x_v_f32m8(sum, vl), vl);
        __riscv_vse32(y, __riscv_vfadd(product, ek_fm8_load(b, vl), vl), vl);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT x_scale,
    const int8_t *EK_RESTRICT x_zero, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->outputs; o += EK_DR_OUTPUTS) {
        const int32_t width = p->outputs - o < EK_DR_OUTPUTS ? p->outputs - o : EK_DR_OUTPUTS;
        size_t vl;
        for (int32_t at = 0; at < width; at += (int32_t)vl) {
            vl = ek_fm8_count(width - at);
            EK_FN_outputs(x, *x_scale, *x_zero, w + o * p->inputs + at, sums + o + at, scale + o + at,
                b + o + at, y + o + at, width, vl, p);
        }
    }
}
