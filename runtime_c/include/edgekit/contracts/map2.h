/* y[i] = f(a, b), element by element. A stride of 0 repeats one element.
 * @split n/64: pa sa, pb sb, py 1 */
#ifndef EDGEKIT_MAP2_H
#define EDGEKIT_MAP2_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* elements */
    int32_t sa; /* stride of a: 0 or 1, in elements */
    int32_t sb; /* stride of b: 0 or 1, in elements */
    int32_t a0; /* first element of a */
    int32_t b0; /* first element of b */
    int32_t y0; /* first element of y */
};

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p);

#endif
