/* Copy of bytes that are side by side, by words: sixteen bytes a turn.
 * @for T=s8 @when x[5] == 1 and y[5] == 1 and n[5] >= 4
 * @work calls, long row blocks, positions, short row cells */
#include "edgekit/contracts/copy.h"

static EK_SHARED void EK_FN_row(const int8_t *x, int8_t *y, int32_t n)
{
    for (; n >= 16; n -= 16, x += 16, y += 16) {
        uint32_t first, second, third, fourth;
        __builtin_memcpy(&first, x, 4);
        __builtin_memcpy(&second, x + 4, 4);
        __builtin_memcpy(&third, x + 8, 4);
        __builtin_memcpy(&fourth, x + 12, 4);
        __builtin_memcpy(y, &first, 4);
        __builtin_memcpy(y + 4, &second, 4);
        __builtin_memcpy(y + 8, &third, 4);
        __builtin_memcpy(y + 12, &fourth, 4);
    }
    for (; n >= 4; n -= 4, x += 4, y += 4) {
        uint32_t word;
        __builtin_memcpy(&word, x, 4);
        __builtin_memcpy(y, &word, 4);
    }
    for (int32_t i = 0; i < n; i++)
        y[i] = x[i];
}

EK_KERNEL void EK_FN(const EK_T *x, EK_T *y, const struct EK_STRUCT *p)
{
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++)
                        EK_FN_row(x + p->x0 + i0 * p->x[0] + i1 * p->x[1] + i2 * p->x[2] + i3 * p->x[3]
                                      + i4 * p->x[4],
                            y + p->y0 + i0 * p->y[0] + i1 * p->y[1] + i2 * p->y[2] + i3 * p->y[3]
                                + i4 * p->y[4],
                            p->n[5]);
}
