/* y[r][i] = scale[k][g] w[k][i] where k = index[r] and i is in group g = i / group: rows of a table of
 * integers. A negative k counts from the back; one outside of the table is clamped to 0 .. size - 1. */
#ifndef EDGEKIT_GATHER_GROUPWISE_SYMMETRIC_H
#define EDGEKIT_GATHER_GROUPWISE_SYMMETRIC_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows; /* of y */
    int32_t n; /* elements of a row */
    int32_t size; /* rows of the table */
    int32_t group; /* elements that have a scale in common; the last group of a row may be shorter */
    int32_t block; /* rows whose elements lie side by side; 1: rows lie one behind the other */
    int32_t last; /* the width of the last block, if size is no multiple of that */
    int32_t depth; /* elements of a row that lie side by side in a block */
    int32_t carry; /* 1: two rows of a block are 256 b + a in 16 bits; 0: they are as they are */
};

EK_KERNEL void EK_FN(const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale, const EK_I *EK_RESTRICT index,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
