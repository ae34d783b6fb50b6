/* y[i] = a[i] + b[i]: see map2.h. Four at a time also where y is a or b, for which compilers do one at a time. */
#include "edgekit/map2.h"

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p)
{
    const float *a = pa + p->a0, *b = pb + p->b0;
    float *y = py + p->y0;
    int32_t i = 0;
    if (p->sa == 1 && p->sb == 1)
        for (; i + 4 <= p->n; i += 4)
            vst1q_f32(y + i, vaddq_f32(ek_f32_load4(a + i), ek_f32_load4(b + i)));
    for (; i < p->n; i++)
        y[i] = a[i * p->sa] + b[i * p->sb];
}
