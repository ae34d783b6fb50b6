/* Largest int8 of windows with DSP instructions: see pool_dsp.h. Four channels of a pixel advance together.
 * @for T=s8
 * @work inputs, lines, positions, products beside 16-vectors, tap cells beside 16-vectors
 * @work tap cells beside 4-vectors, whole line blocks, window 16-vectors */
#include "edgekit/contracts/pool2d.h"

static EK_SHARED void EK_FN_run(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    const uint32_t least = (uint32_t)(p->start & 255) * 0x01010101u;
    const int32_t step = p->channels, line = p->in_w * step, rest = step % 8;
    struct ek_cells cells;
    cells.down = p->dilation_h * line;
    cells.right = p->dilation_w * step;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * line)
        for (int32_t h = 0; h < p->out_h; h++) {
            int32_t top = h * p->stride_h - p->pad_top;
            cells.rows = ek_inside(&top, p->dilation_h, p->k_h, p->in_h);
            for (int32_t v = 0; v < p->out_w; v++) {
                int32_t left = v * p->stride_w - p->pad_left;
                cells.columns = ek_inside(&left, p->dilation_w, p->k_w, p->in_w);
                const int8_t *from = x + top * line + left * step;
                for (int32_t c = 0; c < step - rest; c += 8, from += 8, y += 8) {
                    uint32_t most[2] = {least, least};
                    ek_largest(&cells, from, most, 8);
                    __builtin_memcpy(y, most, 8);
                }
                if (rest > 0) {
                    uint32_t most[2] = {least, least};
                    ek_largest(&cells, from, most, rest);
                    ek_store_bytes(y, most[0], rest);
                    ek_store_bytes(y + 4, most[1], rest - 4);
                }
                y += rest;
            }
        }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
