/* What kernels of two operands have in common: whatever follows EK_EACH_ROW is done for each row of the result y, one
 * behind the other. */
#ifndef EDGEKIT_ROWS_H
#define EDGEKIT_ROWS_H

#include "edgekit/generic.h"

/* The element of x where the row of this turn begins. */
#define EK_ROW_AT(x, first, step)                                                                            \
    ((x) + (first) + i0 * (step)[0] + i1 * (step)[1] + i2 * (step)[2] + i3 * (step)[3] + i4 * (step)[4])

#define EK_EACH_ROW(y, p)                                                                                    \
    for (int32_t i0 = 0; i0 < (p)->n[0]; i0++)                                                               \
        for (int32_t i1 = 0; i1 < (p)->n[1]; i1++)                                                           \
            for (int32_t i2 = 0; i2 < (p)->n[2]; i2++)                                                       \
                for (int32_t i3 = 0; i3 < (p)->n[3]; i3++)                                                   \
                    for (int32_t i4 = 0; i4 < (p)->n[4]; i4++, (y) += (p)->n[5])

#endif
