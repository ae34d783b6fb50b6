/* Transposed convolution of int8 with Helium: see conv_transpose2d_int.h. The cells that reach a pixel are found once for
 * all outputs; then four advance together, sixteen products each. What the zero point of x is times comes off at the end.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl
 * when (groups == 1 or out_c // groups % 4 == 0) and (most_exponent <= 0 or least_exponent > 32)
 * pack w: G O/4! H W I/16! o4 i16
 * pack b: O/4! o4
 * pack m: O/4! o4
 * pack e: O/4! o4
 * scratch 8 * k_h * k_w */
#include "edgekit/conv_transpose2d_int.h"

/* A cell, and where its weights start behind those of the first tap. */
struct EK_FN_tap {
    const int8_t *cell;
    int32_t w;
};

/* The taps that reach the pixel `down` and `right` of where the window of cell 0, 0 starts; how many there are. */
static EK_SHARED int32_t EK_FN_taps(
    struct EK_FN_tap *taps, const int8_t *x, int32_t down, int32_t right, const struct EK_STRUCT *p)
{
    const int32_t step = (p->in_c / p->groups + 15) / 16 * 64;
    int32_t count = 0;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t below = down - i * p->dilation_h, row = below / p->stride_h;
        if (below < 0 || below % p->stride_h != 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t beside = right - j * p->dilation_w, column = beside / p->stride_w;
            if (beside < 0 || beside % p->stride_w != 0 || column >= p->in_w)
                continue;
            taps[count].cell = x + (row * p->in_w + column) * p->in_c;
            taps[count++].w = (i * p->k_w + j) * step;
        }
    }
    return count;
}

/* Four outputs, whose weights start at w, of a group whose channels start at `from`. */
EK_INLINE int32x4_t EK_FN_four(
    const struct EK_FN_tap *taps, int32_t count, int32_t from, const int8_t *w, const struct EK_STRUCT *p)
{
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, w0 = 0, w1 = 0, w2 = 0, w3 = 0;
    for (; count > 0; count--, taps++) {
        const int8_t *cell = taps->cell + from, *four = w + taps->w;
        for (int32_t left_over = p->in_c / p->groups; left_over > 0;
            left_over -= 16, cell += 16, four += 64) {
            const int8x16_t cells = vldrbq_z_s8(cell, vctp8q((uint32_t)left_over));
            const int8x16_t q0 = vldrbq_s8(four), q1 = vldrbq_s8(four + 16);
            s0 = vmladavaq_s8(s0, cells, q0);
            w0 = vaddvaq_s8(w0, q0);
            s1 = vmladavaq_s8(s1, cells, q1);
            w1 = vaddvaq_s8(w1, q1);
            const int8x16_t q2 = vldrbq_s8(four + 32), q3 = vldrbq_s8(four + 48);
            s2 = vmladavaq_s8(s2, cells, q2);
            w2 = vaddvaq_s8(w2, q2);
            s3 = vmladavaq_s8(s3, cells, q3);
            w3 = vaddvaq_s8(w3, q3);
        }
    }
    const int32_t zero = p->in_zero;
    const int32x4_t half = vsetq_lane_s32(s1 - zero * w1, vdupq_n_s32(s0 - zero * w0), 1);
    return vsetq_lane_s32(s3 - zero * w3, vsetq_lane_s32(s2 - zero * w2, half, 2), 3);
}

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, struct EK_FN_tap *taps, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t step = p->k_h * p->k_w * ((depth + 15) / 16 * 64);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++) {
                const int32_t count = EK_FN_taps(taps, x, h + p->pad_top, v + p->pad_left, p);
                const int8_t *four = w;
                for (int32_t g = 0; g < p->groups; g++)
                    for (int32_t o = g * outputs; o < (g + 1) * outputs; o += 4, four += step) {
                        const int32_t left_over = (g + 1) * outputs - o;
                        const int32x4_t sum =
                            vaddq_s32(EK_FN_four(taps, count, g * depth, four, p), vldrwq_s32(b + o));
                        const int32x4_t result =
                            EK_RULE(x4)(sum, vldrwq_s32(m + o), EK_RULE(exponents)(e, o));
                        ek_mve_store_x4(y, result, p->zero, p->lo, p->hi, left_over);
                        y += left_over < 4 ? left_over : 4;
                    }
            }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (struct EK_FN_tap *)(void *)scratch, p);
}
