/* y[i] = f(a), element by element. A stride of 0 repeats one element.
 * @split n/64: pa sa, py 1 */
#ifndef EDGEKIT_MAP1_H
#define EDGEKIT_MAP1_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* elements */
    int32_t sa; /* stride of a: 0 or 1, in elements */
    int32_t a0; /* first element of a */
    int32_t y0; /* first element of y */
};

EK_KERNEL void EK_FN(const EK_A *pa, EK_Y *py, const struct EK_STRUCT *p);

#endif
