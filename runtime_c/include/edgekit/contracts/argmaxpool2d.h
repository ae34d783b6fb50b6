/* y[n][h][w][c] = the place of the first largest cell of a window of x: its n, h, w, c times place_..., added up. */
#ifndef EDGEKIT_ARGMAXPOOL2D_H
#define EDGEKIT_ARGMAXPOOL2D_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t batch;
    int32_t in_h;
    int32_t in_w;
    int32_t channels;
    int32_t out_h;
    int32_t out_w;
    int32_t k_h;
    int32_t k_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t place_n;
    int32_t place_h;
    int32_t place_w;
    int32_t place_c;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, int64_t *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
