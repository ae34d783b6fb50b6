/* Windows of float kernels for RVV. */
#ifndef EDGEKIT_WINDOW_RVV_H
#define EDGEKIT_WINDOW_RVV_H

#include "edgekit/simd/riscv/vectors_rvv.h"

/* How many outputs are side by side in a block of packed weights. */
#define EK_BLOCK_RVV 64

/* A window: `rows` times `runs` times `cells` elements of x. */
struct ek_window_rvv {
    int32_t rows;
    int32_t runs;
    int32_t cells;
    int32_t row_step; /* elements of x */
    int32_t run_step;
    int32_t cell_step;
    int32_t taps; /* weights of an output in a block, */
    int32_t first_tap; /* of which those before this one are for rows outside of the image */
    int32_t tap_weights; /* elements of w from one tap to the next; 0: blocks of packed weights */
    int32_t outputs;
    int32_t kind;
    float lo;
    float hi;
};

#endif
