/* Dynamic quantization. */
#include "edgekit/contracts/dynamic_quantize.h"

EK_KERNEL void EK_FN(const float *EK_RESTRICT x, uint8_t *EK_RESTRICT y, float *EK_RESTRICT scale,
    uint8_t *EK_RESTRICT zero, const struct EK_STRUCT *p)
{
    float s;
    const int32_t z = ek_dynamic_range(x, p->n, &s);
    for (int32_t i = 0; i < p->n; i++)
        y[i] = (uint8_t)ek_dynamic_code(x[i], s, z);
    scale[0] = s;
    zero[0] = (uint8_t)z;
}
