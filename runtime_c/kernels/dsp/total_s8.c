/* int8 sum or mean of dimensions with DSP instructions: see pool_dsp.h. Eight results that lie side by side advance
 * together.
 * @when x_n[4] == 1 @work calls, inputs, outputs */
#include "edgekit/contracts/total_s8.h"

/* The sums of `count` results, 1 to 8: sums of 256 cells fit into 16 bits. */
static EK_SHARED void EK_FN_sums(
    const int8_t *x, int32_t *sums, const int32_t count, const struct EK_STRUCT *p)
{
    int32_t part[8];
    struct ek_cells cells = {1, 0, 0, p->x_r[4]};
    for (int32_t i = 0; i < 8; i++)
        sums[i] = 0;
    for (int32_t r0 = 0; r0 < p->r[0]; r0++)
        for (int32_t r1 = 0; r1 < p->r[1]; r1++)
            for (int32_t r2 = 0; r2 < p->r[2]; r2++)
                for (int32_t r3 = 0; r3 < p->r[3]; r3++) {
                    const int8_t *row = x + r0 * p->x_r[0] + r1 * p->x_r[1] + r2 * p->x_r[2] + r3 * p->x_r[3];
                    for (int32_t left_over = p->r[4]; left_over > 0; left_over -= 256) {
                        cells.columns = left_over < 256 ? left_over : 256;
                        if (count >= 8)
                            ek_totals(&cells, row, part, 8);
                        else
                            ek_totals(&cells, row, part, count);
                        for (int32_t i = 0; i < 8; i++)
                            sums[i] += part[i];
                        row += 256 * p->x_r[4];
                    }
                }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, int8_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t zeros = p->r[0] * p->r[1] * p->r[2] * p->r[3] * p->r[4] * p->x_zero;
    int32_t sums[8];
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++) {
                    const int8_t *from =
                        x + i0 * p->x_n[0] + i1 * p->x_n[1] + i2 * p->x_n[2] + i3 * p->x_n[3];
                    for (int32_t left_over = p->n[4]; left_over > 0; left_over -= 8, from += 8) {
                        EK_FN_sums(from, sums, left_over, p);
                        for (int32_t i = 0; i < 8 && i < left_over; i++) {
                            const int32_t acc = sums[i] - zeros;
                            *y++ = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
                        }
                    }
                }
}
