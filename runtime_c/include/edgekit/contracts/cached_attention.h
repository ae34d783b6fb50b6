/* y[h][i] = sum over j of w[j] v[g][j], where w = softmax over j of scale (q[h][i] . k[g][j]), for j = 0 .. at[i], and
 * g = h / repeat: rows of k and v are positions, and those outside of 0 .. keys - 1 are clamped. With a window, j is one of
 * the last positions up to at[i], and position j is in row j % keys (see cache.h).
 * @split heads: q queries * size, k keys * size each repeat, v keys * values each repeat, y queries * values */
#ifndef EDGEKIT_CACHED_ATTENTION_H
#define EDGEKIT_CACHED_ATTENTION_H

#include "edgekit/cache.h"
#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/cached_attention.h"
    EK_T_ACC scale; /* log2(e) times that of scores: weights are powers of 2 */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT q, const EK_T *EK_RESTRICT k, const EK_T *EK_RESTRICT v,
    const EK_I *EK_RESTRICT at, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
