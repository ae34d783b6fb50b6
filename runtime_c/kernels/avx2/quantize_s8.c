/* Reals to int8, halves to the even integer. Four vectors advance together.
 * @for Y=s8 @when lo <= 0 and hi >= 0 */
/* Reals to int8, halves away from zero.
 * @as avx2/quantize_tfl_s8 even=away, avx512/quantize_tfl_s8 even=away, wasm/quantize_tfl_s8 even=away, rvv/quantize_tfl_s8 even=away
 * @as neon/quantize_tfl_s8 even=away */
/* Reals to int8, halves to the even integer.
 * @as avx512/quantize_s8, wasm/quantize_s8, neon/quantize_s8, rvv/quantize_s8 */
#include "edgekit/contracts/quantize.h"

EK_INLINE void EK_FN_vectors(const float *x, int8_t *y, const struct EK_STRUCT *p)
{
    ek_vi z[4];
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        z[k] = ek_even_vi(x + k * EK_VI_LANES, p->scale, (float)-p->zero); /* what is no number becomes 0 */
    ek_vi_store_s8(y, z, p->zero, p->lo, p->hi);
}

/* The last numbers, less than four vectors, go through copies: there is one loop, as code may have to be small. */
EK_VI_SHARED void EK_FN_run(const float *x, int8_t *y, const struct EK_STRUCT *given)
{
    const struct EK_STRUCT copy = *given, *const p = &copy; /* y might be anywhere */
    const int32_t rest = (int32_t)((uint32_t)p->n % (4 * EK_VI_LANES)), whole = p->n - rest;
    float numbers[4 * EK_VI_LANES] = {0};
    int8_t last[4 * EK_VI_LANES];
    for (int32_t k = 0; k < rest; k++)
        numbers[k] = x[whole + k];
    for (int32_t i = 0; i < p->n; i += 4 * EK_VI_LANES)
        EK_FN_vectors(i < whole ? x + i : numbers, i < whole ? y + i : last, p);
    if (EK_IS_COMPACT)
        EK_ROLLED_FOR(int32_t k = 0; k < rest; k++)
            y[whole + k] = last[k];
    else
        ek_vi_copy_s8(y + whole, last, rest);
}

EK_KERNEL void EK_FN(const float *x, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
