/* Normalization of rows by their size with a scalar FPU: four sums, each product is fused with its addition.
 * @for T=f32 */
#include "edgekit/contracts/rms_norm.h"

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT scale, EK_T *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        float a = 0, b = 0, c = 0, d = 0;
        int32_t i = 0;
        for (; i + 4 <= p->n; i += 4) {
            a = __builtin_fmaf(x[i], x[i], a);
            b = __builtin_fmaf(x[i + 1], x[i + 1], b);
            c = __builtin_fmaf(x[i + 2], x[i + 2], c);
            d = __builtin_fmaf(x[i + 3], x[i + 3], d);
        }
        for (; i < p->n; i++)
            a = __builtin_fmaf(x[i], x[i], a);
        const float mean = ((a + b) + (c + d)) / (float)p->n;
        const float inverse = 1 / ek_sqrt_f32(mean + p->epsilon);
        EK_UNROLLED_FOR(4, i = 0; i < p->n; i++)
            y[i] = x[i] * inverse * scale[i];
    }
}
