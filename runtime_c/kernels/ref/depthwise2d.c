/* Depthwise convolution. Sixteen channels of a pixel advance together.
 * @also depthwise2d_scaled @pack w: H W O I @order pixels 16
 * @work border cells, clamped outputs, odd outputs, outputs, parted window lines
 * @work products beside 16-vectors, products by 32 outputs, tap 4-vectors */
#include "edgekit/contracts/depthwise2d.h"

/* `width` channels of one pixel, from channel `first` on. */
EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT s, ) EK_T *EK_RESTRICT y, const int32_t top, const int32_t left,
    const int32_t first, const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t multiplier = p->out_c / p->in_c;
    EK_T_ACC sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = EK_LOAD_B(b[first + o]);
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            if (column < 0 || column >= p->in_w)
                continue;
            const EK_T *cell = x + (row * p->in_w + column) * p->in_c;
            const EK_W *weights = w + (i * p->k_w + j) * p->out_c + first;
            if (multiplier == 1) {
                EK_SIDE_BY_SIDE
                for (int32_t o = 0; o < width; o++)
                    sum[o] += EK_LOAD_T(cell[first + o]) * EK_LOAD_W(weights[o]);
            } else {
                EK_SIDE_BY_SIDE
                for (int32_t o = 0; o < width; o++)
                    sum[o] += EK_LOAD_T(cell[(first + o) / multiplier]) * EK_LOAD_W(weights[o]);
            }
        }
    }
    for (int32_t o = 0; o < width; o++) {
        EK_IF_SCALE(sum[o] *= EK_LOAD_B(s[first + o]);)
        const EK_T_ACC v = sum[o];
        y[first + o] = EK_STORE_T(v < p->lo ? p->lo : v > p->hi ? p->hi : v);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->out_c) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                int32_t o = 0;
                for (; o + 16 <= p->out_c; o += 16)
                    EK_FN_block(x, w, b, EK_IF_SCALE(scale, ) y, top, left, o, 16, p);
                if (o < p->out_c)
                    EK_FN_block(x, w, b, EK_IF_SCALE(scale, ) y, top, left, o, p->out_c - o, p);
            }
}
