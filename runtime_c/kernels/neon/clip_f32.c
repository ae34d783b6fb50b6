/* y[i] = a[i], not below b and not above c: see map3.h. Four at a time also where y is a, for which compilers do one
 * at a time. */
#include "edgekit/map3.h"

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, const EK_C *pc, EK_Y *py, const struct EK_STRUCT *p)
{
    const float *a = pa + p->a0, *b = pb + p->b0, *c = pc + p->c0;
    float *y = py + p->y0;
    int32_t i = 0;
    if (p->sa == 1 && p->sb == 0 && p->sc == 0) {
        const float32x4_t lo = vdupq_n_f32(b[0]), hi = vdupq_n_f32(c[0]);
        for (; i + 4 <= p->n; i += 4) {
            const float32x4_t v = ek_f32_load4(a + i), below = vbslq_f32(vcgtq_f32(v, hi), hi, v);
            vst1q_f32(y + i, vbslq_f32(vcltq_f32(v, lo), lo, below));
        }
    }
    for (; i < p->n; i++) {
        const float v = a[i * p->sa], lo = b[i * p->sb], hi = c[i * p->sc];
        y[i] = v < lo ? lo : v > hi ? hi : v;
    }
}
