/* y[i] = f(a, b) over operands with any strides; y is dense.
 * @split n[]/64: pa sa[], pb sb[], py dense[] */
#ifndef EDGEKIT_MAP2_ND_H
#define EDGEKIT_MAP2_ND_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/broadcast.h"
};

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p);

#endif
