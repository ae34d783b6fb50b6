/* Sums of products of bytes on small Cortex-M. */
#ifndef EDGEKIT_DOT4_THUMB_H
#define EDGEKIT_DOT4_THUMB_H

#include "edgekit/types.h"

/* Adds the products of all cells, whole fours, with the weights of four outputs; w holds four of
 * each cell. */
static EK_SHARED void ek_four_sums(const uint8_t *x, const uint8_t *end, const uint8_t *w, uint32_t *sums)
{
    uint32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    for (; x != end; x += 4, w += 16) {
        uint32_t cell = x[0];
        s0 += cell * w[0];
        s1 += cell * w[1];
        s2 += cell * w[2];
        s3 += cell * w[3];
        cell = x[1];
        s0 += cell * w[4];
        s1 += cell * w[5];
        s2 += cell * w[6];
        s3 += cell * w[7];
        cell = x[2];
        s0 += cell * w[8];
        s1 += cell * w[9];
        s2 += cell * w[10];
        s3 += cell * w[11];
        cell = x[3];
        s0 += cell * w[12];
        s1 += cell * w[13];
        s2 += cell * w[14];
        s3 += cell * w[15];
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

#endif
