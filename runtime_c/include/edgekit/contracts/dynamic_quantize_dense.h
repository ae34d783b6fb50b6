/* y[r][o] = (x_scale[0] scale[o]) (sum over i of (x[r][i] - x_zero[0]) w[o][i]) + b[o]: a fully connected layer of what was
 * quantized in this run, as a whole. sums[o] is the sum of w[o][i]. Sums of products are integers. Floats are rounded after
 * each operation.
 * @split rows: x inputs, y outputs
 * @split outputs/16 of columns: w packed, sums packed, scale packed, b packed, y 1 */
#ifndef EDGEKIT_DYNAMIC_QUANTIZE_DENSE_H
#define EDGEKIT_DYNAMIC_QUANTIZE_DENSE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t inputs;
    int32_t outputs;
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT x_scale,
    const int8_t *EK_RESTRICT x_zero, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
