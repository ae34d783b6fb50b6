/* Normalization of rows by their size with a scalar FPU. The sum advances in sixteen lanes, which are registers, and each
 * product is one VMLA, which rounds before it adds: results have the bits of portable C.
 * @for T=f32 @work calls, inputs, positions, rest cells */
#include "edgekit/contracts/rms_norm.h"
#include "edgekit/simd/cortex_m/rms_norm_vfp.h"

EK_INLINE float EK_FN_squares(const float *x, const int32_t n)
{
    const int32_t before = (n - 1) / 16;
    const float *end = x + before * 16;
    float last[16], sum;
    if (n % 16) { /* squares of 0 change nothing */
        for (int32_t i = 0; i < 16; i++)
            last[i] = 0;
        for (int32_t i = 0; i < n % 16; i++)
            last[i] = end[i];
        end = last;
    }
    ek_sum_of_squares(x, before, end, &sum);
    return sum;
}

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT scale, EK_T *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++) {
        const float mean = EK_FN_squares(x, p->n) / (float)p->n;
        const float inverse = 1 / ek_sqrt_f32(mean + p->epsilon);
        const float *s = scale;
        int32_t left = p->n;
        for (; left >= 8; left -= 8)
            ek_normalize_eight(&x, &s, &y, inverse);
        for (; left > 0; left--)
            *y++ = *x++ * inverse * *s++;
    }
}
