/* Convolution. Sixteen outputs of a pixel advance together, so that compilers vectorise over them and every output is
 * still summed in the order of i, j, c.
 * @also conv2d_scaled @also conv2d_add @pack w: G O/16 H W I o16 @order pixels 16
 * @work border cells, clamped outputs, odd outputs, products beside 16-vectors, products by 16-vectors
 * @work tap 4-vectors, tap cells beside 4-vectors, window 16-vectors */
#include "edgekit/contracts/conv2d.h"

/* `width` outputs of one pixel; the window starts at row `top`, column `left` of x, which may be outside. */
EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT s, ) EK_IF_R(const EK_T *r, ) EK_T *EK_RESTRICT y, const int32_t top,
    const int32_t left, const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    EK_T_ACC sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = EK_LOAD_B(b[o]);
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            if (column < 0 || column >= p->in_w)
                continue;
            const EK_T *cell = x + row * p->step_h + column * p->step_w;
            const EK_W *weights = w + (i * p->k_w + j) * depth * width;
            for (int32_t c = 0; c < depth; c++) {
                EK_SIDE_BY_SIDE
                for (int32_t o = 0; o < width; o++)
                    sum[o] += EK_LOAD_T(cell[c * p->step_c]) * EK_LOAD_W(weights[c * width + o]);
            }
        }
    }
    for (int32_t o = 0; o < width; o++) {
        EK_IF_SCALE(sum[o] *= EK_LOAD_B(s[o]);)
        EK_IF_R(sum[o] += EK_LOAD_T(r[o]);)
        const EK_T_ACC v = sum[o];
        y[o] = EK_STORE_T(v < p->lo ? p->lo : v > p->hi ? p->hi : v);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_IF_R(const EK_T *r, ) EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t cells = p->k_h * p->k_w * depth;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                for (int32_t g = 0; g < p->groups; g++, y += outputs) {
                    const EK_T *from = x + g * depth * p->step_c;
                    const EK_W *weights = w + g * outputs * cells;
                    const EK_B *bias = b + g * outputs;
                    EK_IF_SCALE(const EK_B *scales = scale + g * outputs;)
                    int32_t o = 0;
                    for (; o + 16 <= outputs; o += 16)
                        EK_FN_block(from, weights + o * cells, bias + o,
                            EK_IF_SCALE(scales + o, ) EK_IF_R(r + o, ) y + o, top, left, 16, p);
                    if (o < outputs)
                        EK_FN_block(from, weights + o * cells, bias + o,
                            EK_IF_SCALE(scales + o, ) EK_IF_R(r + o, ) y + o, top, left, outputs - o, p);
                    EK_IF_R(r += outputs;)
                }
            }
}
