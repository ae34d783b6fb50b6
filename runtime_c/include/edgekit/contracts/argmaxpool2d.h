/* y[n][h][w][c] = the place of the first largest cell of a window of x: its n, h, w, c times place_..., added up. */
#ifndef EDGEKIT_ARGMAXPOOL2D_H
#define EDGEKIT_ARGMAXPOOL2D_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/pooling.h"
    int32_t place_n;
    int32_t place_h;
    int32_t place_w;
    int32_t place_c;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, int64_t *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
