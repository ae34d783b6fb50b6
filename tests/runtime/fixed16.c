/* The functions of fixed16.h over arrays. */
#include "edgekit/math/fixed16.h"

#include <stddef.h>

#ifdef __cplusplus
#define EXPORT extern "C"
#else
#define EXPORT
#endif
EXPORT void map_logistic(const int16_t *x, int16_t *y, size_t n);
EXPORT void map_tanh(const int16_t *x, const int8_t *bits, int16_t *y, size_t n);

void map_logistic(const int16_t *x, int16_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (int16_t)ek_logistic_s16(x[i]);
}

void map_tanh(const int16_t *x, const int8_t *bits, int16_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (int16_t)ek_tanh_s16(x[i], bits[i]);
}
