/* y[r][i] = round(x[r][i] (127 / m)) and scale[r] = m / 127, where m is the largest |x[r][i]|: rows over the range that they
 * have in this run. Halves go to even. A row of zeros has scale 0, one with NaN or an infinity no finite scale.
 * @split rows: x n, y n, scale 1 */
#ifndef EDGEKIT_QUANTIZE_ROWS_H
#define EDGEKIT_QUANTIZE_ROWS_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t n; /* elements of a row */
};

EK_KERNEL void EK_FN(
    const float *EK_RESTRICT x, int8_t *EK_RESTRICT y, float *EK_RESTRICT scale, const struct EK_STRUCT *p);

#endif
