/* y[h][i] = sum over j of w[j] v[g][j], where w = softmax over j of c(inner (q[h][i] . k[g][j])) + bias[h] of the distance
 * at[i] - j, for j = 0 .. at[i], and g = h / repeat. With a cap c(x) = cap tanh(x), without one it is x (soft-capping).
 * A distance beyond the last bias has that one, and continues in steps of the last difference (ALiBi has two biases of a
 * head, 0 and the slope). Rows of k and v are positions, and those outside of 0 .. keys - 1 are clamped. With a window, j
 * is one of the last positions up to at[i], and position j is in row j % keys (see cache.h).
 * @split heads: q queries * size, k keys * size each repeat, v keys * values each repeat, bias distances, y queries * values */
#ifndef EDGEKIT_CACHED_ATTENTION_BIAS_H
#define EDGEKIT_CACHED_ATTENTION_BIAS_H

#include "edgekit/cache.h"
#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/cached_attention.h"
    int32_t distances; /* biases of each head */
    EK_T_ACC inner; /* of products, before the cap */
    EK_T_ACC cap; /* 0: none */
    EK_T_ACC scale; /* log2(e): weights are powers of 2 */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT q, const EK_T *EK_RESTRICT k, const EK_T *EK_RESTRICT v,
    const EK_I *EK_RESTRICT at, const EK_T *EK_RESTRICT bias, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
