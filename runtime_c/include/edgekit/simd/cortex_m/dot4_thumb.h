/* Sums of products of bytes on small Cortex-M: whole fours of outputs, sixteen at most. */
#ifndef EDGEKIT_DOT4_THUMB_H
#define EDGEKIT_DOT4_THUMB_H

#include "edgekit/types.h"

/* Where sums begin, and where they go. */
struct ek_sums {
    const int32_t *b;
    int32_t less; /* than a bias; of channels, the first one */
    int32_t *to;
    int32_t *end;
};

/* The products of one of four cells with its weights, added to the sums. */
#define EK_CELL_PRODUCTS(at)                                                                                 \
    cell = four[at];                                                                                         \
    s0 += cell * w[4 * (at)];                                                                                \
    s1 += cell * w[4 * (at) + 1];                                                                            \
    s2 += cell * w[4 * (at) + 2];                                                                            \
    s3 += cell * w[4 * (at) + 3];

/* Biases and the products of all cells, whole fours, with the weights of outputs; w holds four of each cell. */
static EK_SHARED void ek_sums_of_cells(
    const uint8_t *x, const uint8_t *end, const uint8_t *w, struct ek_sums *p)
{
    const uint32_t less = (uint32_t)p->less;
    for (const int32_t *b = p->b; p->to != p->end; b += 4, p->to += 4) {
        uint32_t s0 = (uint32_t)b[0] - less, s1 = (uint32_t)b[1] - less;
        uint32_t s2 = (uint32_t)b[2] - less, s3 = (uint32_t)b[3] - less;
        for (const uint8_t *four = x; four != end; four += 4, w += 16) {
            uint32_t cell;
            EK_CELL_PRODUCTS(0)
            EK_CELL_PRODUCTS(1)
            EK_CELL_PRODUCTS(2)
            EK_CELL_PRODUCTS(3)
        }
        p->to[0] = (int32_t)s0;
        p->to[1] = (int32_t)s1;
        p->to[2] = (int32_t)s2;
        p->to[3] = (int32_t)s3;
    }
}

/* Biases and the products of channels of cells, from p->less on, with their weights; w holds four of each cell. */
static EK_SHARED void ek_sums_of_channels(
    const int8_t **cells, const int8_t **end, const int8_t *w, struct ek_sums *p)
{
    const int32_t *b = p->b;
    for (int32_t channel = p->less; p->to != p->end; channel += 4, b += 4, p->to += 4) {
        int32_t s0 = b[0], s1 = b[1], s2 = b[2], s3 = b[3];
        for (const int8_t **at = cells; at != end; w += 4) {
            const int8_t *cell = *at++ + channel;
            s0 += cell[0] * w[0];
            s1 += cell[1] * w[1];
            s2 += cell[2] * w[2];
            s3 += cell[3] * w[3];
        }
        p->to[0] = s0;
        p->to[1] = s1;
        p->to[2] = s2;
        p->to[3] = s3;
    }
}

#endif
