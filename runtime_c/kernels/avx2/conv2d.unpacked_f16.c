/* Convolution of many pixels with weights of f16. The weights of a part of the outputs are widened once, and not anew
 * for each few pixels, which takes longer than with bf16.
 * @for T=f32 W=f16 B=f32
 * @when out_h * out_w >= 32
 * @pack w: G O/{24 if out_c == 24 * groups else 16}!8 H W I o{24 if out_c == 24 * groups else 16}
 * @scratch (96 if out_c == 24 * groups else 64) * k_h * k_w * (in_c // groups)
 * @split pixels >= 8
 * @split out_h >= 8 + (k_h - 1) * dilation_h */
#include "edgekit/contracts/conv2d.h"

EK_INLINE void EK_FN_part(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, float *wide,
    const int32_t outputs, const struct ek_image_f32 *s)
{
    const int32_t lanes = (outputs + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
    const int32_t size = s->k_h * s->k_w * s->depth * lanes;
    EK_UNROLLED_FOR(4, int32_t i = 0; i < size; i += EK_VF_LANES)
        ek_vf_store(wide + i, EK_VF_LANES, ek_vf_weights(w, i, EK_F16_KIND));
    ek_image_part_f32(x, (const uint8_t *)wide, b, 0, y, outputs, s);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups, taps = p->k_h * p->k_w * depth;
    const int32_t part = outputs == 3 * EK_VF_LANES ? outputs : EK_VF_PART, whole = outputs / part * part;
    const int32_t tiled = (outputs + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES * taps;
    const struct ek_image_f32 s = {p->in_h, p->in_w, depth, p->step_h, p->step_w, p->step_c, p->out_h,
        p->out_w, p->out_c, p->k_h, p->k_w, p->stride_h, p->stride_w, p->pad_top, p->pad_left, p->dilation_h,
        p->dilation_w, EK_F32_KIND, p->lo, p->hi};
    float *wide = (float *)(void *)scratch;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        for (int32_t g = 0; g < p->groups; g++) {
            const EK_T *from = x + g * depth * p->step_c;
            const EK_W *weights = w + g * tiled;
            for (int32_t o = g * outputs; o < g * outputs + whole; o += part, weights += part * taps)
                EK_FN_part(from, weights, b + o, y + o, wide, part, &s);
            if (whole < outputs)
                EK_FN_part(from, weights, b + g * outputs + whole, y + g * outputs + whole, wide,
                    outputs - whole, &s);
        }
}
