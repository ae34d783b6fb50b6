/* Transposed convolution of integers. Each result gathers the cells that reach it; sixteen outputs of a pixel advance
 * together.
 * @pack w: G O/16 H W I o16
 * @work calls, inputs, output windows, outputs, padded products, positions, products beside 16-vectors
 * @work products by 16-vectors */
#include "edgekit/contracts/conv_transpose2d_int.h"

/* Adds up `width` outputs of the pixel that is `down` and `right` of where the window of cell 0, 0 starts; their weights
 * start at element `first`. */
EK_INLINE void EK_FN_sum(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, EK_S *EK_RESTRICT sum,
    const int32_t first, const int32_t down, const int32_t right, const int32_t width,
    const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t below = down - i * p->dilation_h, row = below / p->stride_h;
        if (below < 0 || below % p->stride_h != 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t beside = right - j * p->dilation_w, column = beside / p->stride_w;
            if (beside < 0 || beside % p->stride_w != 0 || column >= p->in_w)
                continue;
            const EK_X *cell = x + (row * p->in_w + column) * p->in_c;
            const int32_t at = first + (i * p->k_w + j) * depth * width;
            for (int32_t c = 0; c < depth; c++) {
                const int32_t v = cell[c] - p->in_zero;
                EK_SIDE_BY_SIDE
                for (int32_t o = 0; o < width; o++)
                    sum[o] += v * EK_AT_W(w, at + c * width + o);
            }
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t cells = p->k_h * p->k_w * depth;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++) {
                const int32_t down = h + p->pad_top, right = v + p->pad_left;
                for (int32_t g = 0; g < p->groups; g++)
                    for (int32_t first = 0; first < outputs; first += 16) {
                        const int32_t left_over = outputs - first, at = g * outputs + first;
                        const EK_X *from = x + g * depth;
                        EK_S sum[16];
                        const int32_t width = left_over < 16 ? left_over : 16;
                        for (int32_t o = 0; o < width; o++)
                            sum[o] = b[at + o];
                        if (width == 16)
                            EK_FN_sum(from, w, sum, at * cells, down, right, 16, p);
                        else
                            EK_FN_sum(from, w, sum, at * cells, down, right, width, p);
                        for (int32_t k = 0; k < width; k++) {
                            const EK_S acc = sum[k];
                            const int32_t o = at + k;
                            *y++ = EK_STORE_Y(ek_clamp_s32(p->zero + EK_EXPR, p->lo, p->hi));
                        }
                    }
            }
}
