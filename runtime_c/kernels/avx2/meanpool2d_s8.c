/* int8 mean of windows. Sixteen channels advance together; the last ones may be computed twice in part.
 * @rule e e_wide @when channels >= 16 and k_h * k_w <= 16384 @order pixels 1 */
/* int8 mean of windows.
 * @as avx512/meanpool2d_s8, wasm/meanpool2d_s8, neon/meanpool2d_s8, rvv/meanpool2d_s8 */
#include "edgekit/contracts/meanpool2d_s8.h"
#include "edgekit/loops/window_sums.h"

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    const struct ek_window_sums s = {
        p->in_h, p->in_w, p->channels, p->k_h, p->k_w, p->dilation_h, p->dilation_w};
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->channels)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->channels) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                const struct ek_cells_inside inside = ek_cells_inside(top, left, &s);
                const int32_t cells = inside.rows * inside.columns;
                for (int32_t c = 0; c < p->channels; c += 16) {
                    const int32_t at = c + 16 <= p->channels ? c : p->channels - 16;
                    ek_vi sum[16 / EK_VI_LANES];
                    ek_window_sums(sum, x + at, &inside, &s);

                    const ek_vi less = ek_vi_same(-cells * p->x_zero);
                    EK_UNROLLED_FOR(4, int32_t k = 0; k < 16 / EK_VI_LANES; k++)
                        sum[k] = EK_RULE(same)(ek_vi_add(sum[k], less), p->multiplier, p->exponent);
                    ek_vi_store16_s8(y + at, sum, p->zero, p->lo, p->hi);
                }
            }
}
