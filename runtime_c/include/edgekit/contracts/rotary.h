/* Rotary position embedding: heads of positions are turned by angles, pair by pair, where a pair is number i of both halves of
 * a head, a = x[i] and b = x[half + i]:
 *   y[i] = a cos[i] - b sin[i], y[half + i] = b cos[second + i] + a sin[second + i]
 * y may be x.
 * @split heads: x 2 * half * positions * repeat, y 2 * half * positions * repeat
 * @split positions: x 2 * half * repeat, cosine half + second, sine half + second, y 2 * half * repeat */
#ifndef EDGEKIT_ROTARY_H
#define EDGEKIT_ROTARY_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t heads;
    int32_t positions; /* of each head */
    int32_t repeat; /* heads of a position that lie side by side */
    int32_t half; /* numbers in half a head */
    int32_t second; /* 0: halves share their angles; half: each has its own, one behind the other */
};

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT cosine, const EK_T *EK_RESTRICT sine, EK_T *y,
    const struct EK_STRUCT *p);

#endif
