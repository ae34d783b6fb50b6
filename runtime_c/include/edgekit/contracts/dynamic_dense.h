/* y[r][o] = clamp(s[r] (sum over g of scale[o][g] (sum over i in g of x[r][i] w[o][i])) + b[o], lo, hi)
 * where i is in group g = i / group: a fully connected layer of rows that were quantized in this run. Sums of products are
 * integers. Floats are rounded after each operation, and added in the order of groups, from 0 on.
 * @split rows: x inputs, s 1, y outputs
 * @split outputs/16 of columns: w packed, scale packed, b packed, y 1 */
#ifndef EDGEKIT_DYNAMIC_DENSE_H
#define EDGEKIT_DYNAMIC_DENSE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t inputs;
    int32_t outputs;
    int32_t group; /* weights that have a scale in common; the last group of a row may be shorter */
    float lo;
    float hi;
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
