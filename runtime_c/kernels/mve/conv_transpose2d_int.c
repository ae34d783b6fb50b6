/* Transposed convolution of int8 with Helium: see gemm_mve.h. Results whose places leave the same rest by the
 * strides, a phase, add up the same taps: each phase is a convolution, of which the windows of two pixels are
 * gathered. What weights make of the zero point of x comes off the biases first, phase by phase.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when (groups == 1 or out_c // groups % 4 == 0) and (most_exponent <= 0 or least_exponent > 32)
 * @when dilation_h == 1 and dilation_w == 1 and k_h >= stride_h and k_w >= stride_w
 * @pack w: phases {stride_h}x{stride_w} G O/4! HWI/16! o4 hwi16 @pack b: O/4! o4 @pack m: O/4! o4
 * @pack e: O/4! o4
 * @scratch 32 * ((((k_h - 1) // stride_h + 1) * ((k_w - 1) // stride_w + 1) * (in_c // groups) + 15) // 16)
 * @scratch + (out_c // groups + 3) // 4 * 16
 * @work calls, outputs, padded outputs, padded products, parted window lines, positions, weights
 * @work whole line blocks */
#include "edgekit/contracts/conv_transpose2d_int.h"

/* Of a phase: its first taps, and the place in y of the first of its results. */
struct EK_FN_phase {
    int32_t i;
    int32_t j;
    int32_t top;
    int32_t left;
};

/* The window of the result at row h, column v of y. */
static EK_SHARED void EK_FN_gather(int8_t *to, const int8_t *x, const int32_t h, const int32_t v,
    const struct EK_FN_phase *phase, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, first = (v + p->pad_left - phase->j) / p->stride_w;
    int32_t row = (h + p->pad_top - phase->i) / p->stride_h;
    for (int32_t i = phase->i; i < p->k_h; i += p->stride_h, row--) {
        int32_t column = first;
        for (int32_t j = phase->j; j < p->k_w; j += p->stride_w, column--, to += depth)
            if (row >= 0 && row < p->in_h && column >= 0 && column < p->in_w)
                ek_mve_copy(to, x + (row * p->in_w + column) * p->in_c, depth);
            else
                ek_mve_fill(to, p->in_zero, depth);
    }
}

/* The results of a phase in the outputs of a group. */
static EK_SHARED void EK_FN_results(const int8_t *x, int8_t *window, int8_t *y,
    const struct EK_FN_phase *phase, struct ek_two_pixels *two, const struct EK_STRUCT *p)
{
    int8_t *const other = window + 16 * two->blocks;
    int32_t waiting = 0;
    for (int32_t h = phase->top; h < p->out_h; h += p->stride_h)
        for (int32_t v = phase->left; v < p->out_w; v += p->stride_w) {
            int8_t *const to = y + (h * p->out_w + v) * p->out_c;
            EK_FN_gather(waiting ? other : window, x, h, v, phase, p);
            two->y1 = to;
            two->x1 = waiting ? other : window;
            /* An odd pixel is computed twice, and written to the same place. */
            if (!waiting)
                two->y0 = to;
            waiting = !waiting;
            if (!waiting)
                EK_RULE(two_pixels)(two);
        }
    if (waiting)
        EK_RULE(two_pixels)(two);
}

/* The first place from 0 on that leaves the same rest as `rest`. */
EK_INLINE int32_t EK_FN_first(const int32_t rest, const int32_t stride)
{
    return rest >= 0 ? rest % stride : stride - 1 - (-1 - rest) % stride;
}

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, int32_t *biases, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups, padded = (outputs + 3) / 4 * 4;
    int8_t *const window = (int8_t *)(biases + padded);
    for (int32_t i = 0; i < p->stride_h; i++)
        for (int32_t j = 0; j < p->stride_w; j++) {
            const int32_t high = (p->k_h - i + p->stride_h - 1) / p->stride_h;
            const int32_t wide = (p->k_w - j + p->stride_w - 1) / p->stride_w;
            const int32_t blocks = (high * wide * depth + 15) / 16;
            const struct EK_FN_phase phase = {
                i, j, EK_FN_first(i - p->pad_top, p->stride_h), EK_FN_first(j - p->pad_left, p->stride_w)};
            for (int32_t g = 0; g < p->groups; g++) {
                struct ek_two_pixels two = {biases, m + g * padded, y, y, window, window,
                    EK_RULE(exponents_at)(e, g * padded), blocks, w, p->zero, outputs, p->lo, p->hi};
                ek_mve_fill(window, p->in_zero, 16 * blocks);
                for (int32_t o = 0; o < padded; o += 4, w += 64 * blocks)
                    vstrwq_s32(biases + o,
                        vsubq_s32(vldrwq_s32(b + g * padded + o), ek_mve_dot_1x4(window, w, blocks)));
                for (int32_t n = 0; n < p->batch; n++)
                    EK_FN_results(x + n * p->in_h * p->in_w * p->in_c + g * depth, window,
                        y + n * p->out_h * p->out_w * p->out_c + g * outputs, &phase, &two, p);
            }
        }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (int32_t *)(void *)scratch, p);
}
