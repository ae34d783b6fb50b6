/* Winograd's algorithm F(4, 3) on vectors of floats: polynomials at 0, +-p, +-q and infinity, where p^2 = 1/2 and
 * q^2 = 2. What is done to weights is done offline. */
#ifndef EDGEKIT_WINOGRAD_F32_H
#define EDGEKIT_WINOGRAD_F32_H

#include "edgekit/types.h"

#define EK_WINOGRAD_P 0.70710678118654752f
#define EK_WINOGRAD_Q 1.4142135623730950f

/* Six cells become their six points. */
EK_INLINE void ek_winograd_enter(ek_vf x[6])
{
    const ek_vf p = ek_vf_set(EK_WINOGRAD_P), q = ek_vf_set(EK_WINOGRAD_Q);
    const ek_vf two = ek_vf_set(-2.0f), half = ek_vf_set(-0.5f), both = ek_vf_set(-2.5f);
    const ek_vf first = ek_vf_fma(both, x[2], ek_vf_add(x[0], x[4]));
    const ek_vf last = ek_vf_fma(both, x[3], ek_vf_add(x[1], x[5]));
    const ek_vf even_p = ek_vf_fma(two, x[2], x[4]), odd_p = ek_vf_mul(p, ek_vf_fma(two, x[1], x[3]));
    const ek_vf even_q = ek_vf_fma(half, x[2], x[4]), odd_q = ek_vf_mul(q, ek_vf_fma(half, x[1], x[3]));
    x[0] = first;
    x[1] = ek_vf_add(even_p, odd_p);
    x[2] = ek_vf_sub(even_p, odd_p);
    x[3] = ek_vf_add(even_q, odd_q);
    x[4] = ek_vf_sub(even_q, odd_q);
    x[5] = last;
}

/* Products at six points become four sums. */
EK_INLINE void ek_winograd_leave(ek_vf m[6])
{
    const ek_vf p = ek_vf_set(EK_WINOGRAD_P), q = ek_vf_set(EK_WINOGRAD_Q);
    const ek_vf half = ek_vf_set(0.5f), two = ek_vf_set(2.0f);
    const ek_vf even_p = ek_vf_add(m[1], m[2]), odd_p = ek_vf_mul(p, ek_vf_sub(m[1], m[2]));
    const ek_vf even_q = ek_vf_add(m[3], m[4]), odd_q = ek_vf_mul(q, ek_vf_sub(m[3], m[4]));
    m[0] = ek_vf_add(m[0], ek_vf_add(even_p, even_q));
    m[1] = ek_vf_add(odd_p, odd_q);
    m[2] = ek_vf_fma(half, even_p, ek_vf_add(even_q, even_q));
    m[3] = ek_vf_fma(half, odd_p, ek_vf_fma(two, odd_q, m[5]));
}

#endif
