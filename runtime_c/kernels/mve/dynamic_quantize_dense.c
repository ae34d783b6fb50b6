/* Fully connected layer of what was quantized in this run, with Helium: two rows, or one, and four outputs at once, see
 * ek_mve_sums_2x4.
 * @pack w: O/4! I/16! o4 i16 @pack sums: O/4! o4 @pack scale: O/4! o4 @pack b: O/4! o4
 * @work calls, padded outputs, padded products, paired outputs, paired products */
#include "edgekit/contracts/dynamic_quantize_dense.h"
#include "edgekit/simd/cortex_m/mve.h"

/* Results of four sums, of which `left` are written. */
EK_INLINE void EK_FN_store(const int32x4_t sum, const int32x4_t start, const float32x4_t factor,
    const float32x4_t b, float *y, const int32_t left)
{
    const float32x4_t product = vmulq_f32(factor, vcvtq_f32_s32(vaddq_s32(sum, start)));
    vstrwq_p_f32(y, vaddq_f32(product, b), vctp32q((uint32_t)left));
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT x_scale,
    const int8_t *EK_RESTRICT x_zero, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t step = (p->inputs + 15) / 16 * 64;
    for (int32_t o = 0; o < p->outputs; o += 4, w += step) {
        const int32x4_t start = vmulq_n_s32(vldrwq_s32(sums + o), -*x_zero);
        const float32x4_t factor = vmulq_n_f32(vldrwq_f32(scale + o), *x_scale), bias = vldrwq_f32(b + o);
        const int8_t *from = x;
        float *to = y + o;
        for (int32_t r = 0; r < p->rows; r += 2) {
            const int32_t two = r + 1 < p->rows;
            const int8_t *const other = from + p->inputs;
            int32x4_t sum0, sum1;
            ek_mve_sums_2x4(from, other, w, p->inputs, two, &sum0, &sum1);
            EK_FN_store(sum0, start, factor, bias, to, p->outputs - o);
            if (two)
                EK_FN_store(sum1, start, factor, bias, to + p->outputs, p->outputs - o);
            from = other + p->inputs;
            to += 2 * p->outputs;
        }
    }
}
