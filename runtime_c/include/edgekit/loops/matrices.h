/* What the kernels of matrix products have in common: `matrix` is called for each of the products. */
#ifndef EDGEKIT_MATRICES_H
#define EDGEKIT_MATRICES_H

#include "edgekit/generic.h"

/* The element of x where the matrices of this turn begin. */
#define EK_MATRIX_AT(x, first, step)                                                                         \
    ((x) + (first) + i0 * (step)[0] + i1 * (step)[1] + i2 * (step)[2] + i3 * (step)[3] + i4 * (step)[4]      \
        + i5 * (step)[5])

#define EK_EACH_MATRIX_OF(p)                                                                                 \
    for (int32_t i0 = 0; i0 < (p)->n[0]; i0++)                                                               \
        for (int32_t i1 = 0; i1 < (p)->n[1]; i1++)                                                           \
            for (int32_t i2 = 0; i2 < (p)->n[2]; i2++)                                                       \
                for (int32_t i3 = 0; i3 < (p)->n[3]; i3++)                                                   \
                    for (int32_t i4 = 0; i4 < (p)->n[4]; i4++)                                               \
                        for (int32_t i5 = 0; i5 < (p)->n[5]; i5++)

#define EK_EACH_MATRIX(matrix, a, b, y, p)                                                                   \
    EK_EACH_MATRIX_OF(p)                                                                                     \
    matrix(EK_MATRIX_AT(a, (p)->a0, (p)->a_n), EK_MATRIX_AT(b, (p)->b0, (p)->b_n),                           \
        EK_MATRIX_AT(y, (p)->y0, (p)->y_n), p)

/* The same with scratch memory, which they share. */
#define EK_EACH_MATRIX_WITH(matrix, a, b, y, scratch, p)                                                     \
    EK_EACH_MATRIX_OF(p)                                                                                     \
    matrix(EK_MATRIX_AT(a, (p)->a0, (p)->a_n), EK_MATRIX_AT(b, (p)->b0, (p)->b_n),                           \
        EK_MATRIX_AT(y, (p)->y0, (p)->y_n), scratch, p)

#endif
