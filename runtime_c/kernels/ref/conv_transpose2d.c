/* Transposed convolution. Each result gathers the cells that reach it; sixteen outputs of a pixel advance together,
 * so that compilers vectorise over them.
 * @also conv_transpose2d_scaled @pack w: G O/16 H W I o16
 * @work calls, odd outputs, output windows, padded products, parted window lines, products by 16-vectors
 * @work tap 4-vectors, tap cells beside 4-vectors */
#include "edgekit/contracts/conv_transpose2d.h"

/* `width` outputs of the pixel that is `down` and `right` of where the window of cell 0, 0 starts. */
EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT s, ) EK_T *EK_RESTRICT y, const int32_t down, const int32_t right,
    const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    EK_T_ACC sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = EK_LOAD_B(b[o]);
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t below = down - i * p->dilation_h, row = below / p->stride_h;
        if (below < 0 || below % p->stride_h != 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t beside = right - j * p->dilation_w, column = beside / p->stride_w;
            if (beside < 0 || beside % p->stride_w != 0 || column >= p->in_w)
                continue;
            const EK_T *cell = x + (row * p->in_w + column) * p->in_c;
            const EK_W *weights = w + (i * p->k_w + j) * depth * width;
            for (int32_t c = 0; c < depth; c++) {
                const EK_T_ACC left = EK_LOAD_T(cell[c]);
                EK_SIDE_BY_SIDE
                for (int32_t o = 0; o < width; o++) {
                    const EK_T_ACC weight = EK_LOAD_W(weights[c * width + o]);
                    sum[o] += left * weight;
                }
            }
        }
    }
    for (int32_t o = 0; o < width; o++) {
        EK_IF_SCALE(sum[o] *= EK_LOAD_B(s[o]);)
        const EK_T_ACC v = sum[o];
        y[o] = EK_STORE_T(v < p->lo ? p->lo : v > p->hi ? p->hi : v);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t cells = p->k_h * p->k_w * depth;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++) {
                const int32_t down = h + p->pad_top, right = v + p->pad_left;
                for (int32_t g = 0; g < p->groups; g++, y += outputs) {
                    const EK_T *from = x + g * depth;
                    const EK_W *weights = w + g * outputs * cells;
                    const EK_B *bias = b + g * outputs;
                    EK_IF_SCALE(const EK_B *scales = scale + g * outputs;)
                    int32_t o = 0;
                    for (; o + 16 <= outputs; o += 16)
                        EK_FN_block(from, weights + o * cells, bias + o, EK_IF_SCALE(scales + o, ) y + o,
                            down, right, 16, p);
                    if (o < outputs)
                        EK_FN_block(from, weights + o * cells, bias + o, EK_IF_SCALE(scales + o, ) y + o,
                            down, right, outputs - o, p);
                }
            }
}
