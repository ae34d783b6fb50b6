/* Normalization of rows by their size with a scalar FPU. The sum advances in sixteen lanes, which are registers, and each
 * product is one VMLA, which rounds before it adds: results have the bits of portable C.
 * @for T=f32 */
#include "edgekit/contracts/rms_norm.h"
#include "edgekit/simd/cortex_m/vmla.h"

EK_INLINE float EK_FN_squares(const float *x, const int32_t n)
{
    float lane[16];
    int32_t i = 0;
    EK_UNROLLED_FOR(16, int32_t l = 0; l < 16; l++)
        lane[l] = 0;
    for (; i + 16 <= n; i += 16)
        EK_UNROLLED_FOR(16, int32_t l = 0; l < 16; l++)
            lane[l] = ek_vmla(lane[l], x[i + l], x[i + l]);
    if (i < n)
        EK_UNROLLED_FOR(16, int32_t l = 0; l < 15; l++)
            if (i + l < n)
                lane[l] = ek_vmla(lane[l], x[i + l], x[i + l]);
    EK_UNROLLED_FOR(16, int32_t l = 1; l < 16; l++)
        lane[0] += lane[l];
    return lane[0];
}

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT scale, EK_T *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        const float mean = EK_FN_squares(x, p->n) / (float)p->n;
        const float inverse = 1 / ek_sqrt_f32(mean + p->epsilon);
        int32_t i = 0;
        for (; i + 8 <= p->n; i += 8) { /* all loads before the stores, because y may be x */
            float part[8];
            EK_UNROLLED_FOR(8, int32_t l = 0; l < 8; l++)
                part[l] = x[i + l] * inverse * scale[i + l];
            EK_UNROLLED_FOR(8, int32_t l = 0; l < 8; l++)
                y[i + l] = part[l];
        }
        for (; i < p->n; i++)
            y[i] = x[i] * inverse * scale[i];
    }
}
