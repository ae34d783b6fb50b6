/* Images at positions known at run time. The cells around a position and their weights are found once, then used for
 * all channels. */
#include "edgekit/contracts/grid_sample.h"

/* Fold what is outside of the borders back inside, as often as it takes. */
EK_INLINE EK_T_ACC EK_FN_reflect(const EK_T_ACC x, const EK_T_ACC low, const EK_T_ACC high)
{
    const EK_T_ACC span = high - low;
    EK_T_ACC turn;
    if (x >= low && x <= high)
        return x;
    turn = span > 0 ? EK_MATH_T(fmod)(x < low ? low - x : x - high, 2 * span) : 0;
    turn = turn < span ? turn : 2 * span - turn;
    return x < low ? low + turn : high - turn;
}

/* Keys' cubic kernel at distances from 0 to 1, and from 1 to 2. */
EK_INLINE EK_T_ACC EK_FN_near(const EK_T_ACC d)
{
    const EK_T_ACC a = (EK_T_ACC)-0.75;
    return ((a + 2) * d - (a + 3)) * d * d + 1;
}

EK_INLINE EK_T_ACC EK_FN_far(const EK_T_ACC d)
{
    const EK_T_ACC a = (EK_T_ACC)-0.75;
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* The cells of a dimension of size n that a position is made of, and their weights. */
EK_INLINE void EK_FN_taps(
    const EK_T_ACC position, const int32_t n, int32_t *cells, EK_T_ACC *weights, const struct EK_STRUCT *p)
{
    const EK_T_ACC last = (EK_T_ACC)(n - 1);
    const EK_T_ACC low = p->align ? 0 : (EK_T_ACC)-0.5, high = p->align ? last : last + (EK_T_ACC)0.5;
    EK_T_ACC at = p->align ? (position + 1) / 2 * last : ((position + 1) * (EK_T_ACC)n - 1) / 2;
    EK_T_ACC floor, f;
    if (p->taps == 1)
        at = EK_MATH_T(round_even)(at);
    if (p->padding == 2)
        at = EK_FN_reflect(at, low, high);
    at = at > -4 ? (at < last + 4 ? at : last + 4) : -4; /* farther away all is the same; NaN is there */
    floor = EK_MATH_T(floor)(at);
    f = at - floor;
    if (p->taps == 1) {
        weights[0] = 1;
    } else if (p->taps == 2) {
        weights[0] = 1 - f;
        weights[1] = f;
    } else {
        weights[0] = EK_FN_far(f + 1);
        weights[1] = EK_FN_near(f);
        weights[2] = EK_FN_near(1 - f);
        weights[3] = EK_FN_far(2 - f);
    }
    for (int32_t t = 0; t < p->taps; t++) {
        int32_t cell = (int32_t)floor + t - (p->taps == 4);
        if (p->padding == 2)
            cell = (int32_t)EK_FN_reflect((EK_T_ACC)cell, low, high);
        else if (p->padding == 0 && (cell < 0 || cell >= n))
            weights[t] = 0;
        cells[t] = cell < 0 ? 0 : cell < n ? cell : n - 1;
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T_ACC *EK_RESTRICT grid, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t image = p->size[0] * p->size[1] * p->size[2] * p->channels;
    for (int32_t n = 0; n < p->batch; n++, x += image)
        for (int32_t i = 0; i < p->points; i++, grid += p->spatial, y += p->channels) {
            int32_t cells[3][4] = {{0}, {0}, {0}}, used = 0, offsets[64];
            EK_T_ACC weights[3][4] = {{1}, {1}, {1}}, products[64];
            for (int32_t d = 0; d < p->spatial; d++)
                EK_FN_taps(grid[d], p->size[2 - d], cells[2 - d], weights[2 - d], p);
            for (int32_t a = 0; a < (p->spatial > 2 ? p->taps : 1); a++)
                for (int32_t b = 0; b < (p->spatial > 1 ? p->taps : 1); b++)
                    for (int32_t c = 0; c < p->taps; c++, used++) {
                        const int32_t row = cells[0][a] * p->size[1] + cells[1][b];
                        offsets[used] = (row * p->size[2] + cells[2][c]) * p->channels;
                        products[used] = weights[0][a] * weights[1][b] * weights[2][c];
                    }
            for (int32_t c = 0; c < p->channels; c++) {
                EK_T_ACC sum = 0;
                for (int32_t k = 0; k < used; k++)
                    sum += products[k] * EK_LOAD_T(x[offsets[k] + c]);
                y[c] = EK_STORE_T(sum);
            }
        }
}
