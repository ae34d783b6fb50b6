/* Fully connected layer of rows that were quantized in this run: see dynamic_rows_rvv.h.
 * @for W=s8 @pack w: O/64 I o64 @pack scale: O/64 I o64 @split outputs/64 */
/* Weights of 4 bits.
 * @as rvv/dynamic_dense.nibbles W=s4 @when inputs % 2 == 0 and group % 2 == 0
 * @pack w: O/64! I/2! o64 i2 : +8 u4 */
#include "edgekit/contracts/dynamic_dense.h"

/* As many outputs of a row as vectors hold, of a block of weights that is `width` outputs wide. */
EK_INLINE void EK_FN_outputs(const int8_t *EK_RESTRICT x, const float s, const uint8_t *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y, const int32_t width,
    const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t step = EK_KIND_W == EK_S4_KIND ? EK_DR_OUTPUTS : width; /* those of 4 bits are filled up */
    vfloat32m8_t total = ek_fm8_set(0, vl);
    for (int32_t start = 0; start < p->inputs; start += p->group, scale += width) {
        const int32_t left = p->inputs - start, count = left < p->group ? left : p->group;
        const vint32m8_t sum =
            ek_dr_products(__riscv_vmv_v_x_i32m8(0, vl), x + start, w, count, step, EK_KIND_W, vl);
        const vfloat32m8_t factor = ek_fm8_weights((const uint8_t *)(const void *)scale, EK_KIND_C, vl);
        total = __riscv_vfadd(total, __riscv_vfmul(factor, __riscv_vfcvt_f_x_v_f32m8(sum, vl), vl), vl);
        w += EK_KIND_W == EK_S4_KIND ? count * step / 2 : count * step;
    }
    total = __riscv_vfadd(__riscv_vfmul(total, s, vl), ek_fm8_load(b, vl), vl);
    __riscv_vse32(y, __riscv_vfmin(__riscv_vfmax(total, p->lo, vl), p->hi, vl), vl);
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t groups = (p->inputs + p->group - 1) / p->group;
    for (int32_t o = 0; o < p->outputs; o += EK_DR_OUTPUTS) {
        const int32_t width = p->outputs - o < EK_DR_OUTPUTS ? p->outputs - o : EK_DR_OUTPUTS;
        const uint8_t *const of_w = (const uint8_t *)w + o * p->inputs / (EK_KIND_W == EK_S4_KIND ? 2 : 1);
        size_t vl;
        for (int32_t at = 0; at < width; at += (int32_t)vl) {
            vl = ek_fm8_count(width - at);
            for (int32_t r = 0; r < p->rows; r++)
                EK_FN_outputs(x + r * p->inputs, s[r], of_w + at, scale + o * groups + at, b + o + at,
                    y + r * p->outputs + o + at, width, vl, p);
        }
    }
}
