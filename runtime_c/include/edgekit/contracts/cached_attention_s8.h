/* y[h][i] = sum over j of w[j] v[g][j], where w = softmax over j of s (q[h][i] . k[g][j]), for j = 0 .. at[i], and
 * g = h / repeat. Rows of q, k and v are integers beside a scale of each row. `scale` is s log2(e) 2^15: scores are
 * whole numbers, and so are weights. Rows of k and v are positions, and those outside of 0 .. keys - 1 are clamped. With a
 * window, j is one of the last positions up to at[i], and position j is in row j % keys (see cache.h).
 * @split heads: q queries * size, q_scale queries, k keys * size each repeat, k_scale keys each repeat, v keys * values each repeat, v_scale keys each repeat, y queries * values */
#ifndef EDGEKIT_CACHED_ATTENTION_S8_H
#define EDGEKIT_CACHED_ATTENTION_S8_H

#include "edgekit/cache.h"
#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/cached_attention.h"
    float scale;
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT q, const float *EK_RESTRICT q_scale,
    const int8_t *EK_RESTRICT k, const float *EK_RESTRICT k_scale, const int8_t *EK_RESTRICT v,
    const float *EK_RESTRICT v_scale, const EK_I *EK_RESTRICT at, float *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
