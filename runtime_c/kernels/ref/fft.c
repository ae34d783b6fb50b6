/* Fast Fourier transforms, decimation in time with mixed radix. */
#include "edgekit/contracts/fft.h"

#include "edgekit/math/fft_fixed.h"

/* z, and w z, divided by the radix. */
EK_INLINE void EK_FN_divide(EK_T *z, const int32_t radix)
{
    z[0] = EK_STORE_T(EK_MATH_S(fft_divide)(z[0], radix));
    z[1] = EK_STORE_T(EK_MATH_S(fft_divide)(z[1], radix));
}

EK_INLINE void EK_FN_turn(EK_T *z, const EK_T *w, const int32_t radix)
{
    EK_FN_divide(z, radix);
    const EK_S re = z[0], im = z[1];
    z[0] = EK_STORE_T(EK_MATH_S(fft_round)(re * w[0] - im * w[1]));
    z[1] = EK_STORE_T(EK_MATH_S(fft_round)(re * w[1] + im * w[0]));
}

EK_INLINE EK_S EK_FN_scaled(const EK_S x, const EK_T by)
{
    return EK_STORE_T(EK_MATH_S(fft_round)(x * by));
}

/* The elements of x in the order that stages want: the digits of their places reversed. */
EK_INLINE void EK_FN_reverse(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    int32_t digit[16] = {0}, apart[16], from = 0;
    for (int32_t s = 0, step = 1; s < p->stages; step *= p->radix[s++])
        apart[s] = step;
    for (int32_t i = 0; i < p->points; i++) {
        y[2 * i] = 2 * from < p->inputs ? x[2 * from] : 0;
        y[2 * i + 1] = 2 * from + 1 < p->inputs ? x[2 * from + 1] : 0;
        for (int32_t s = p->stages - 1; s >= 0; s--) {
            from += apart[s];
            if (++digit[s] < p->radix[s])
                break;
            from -= apart[s] * p->radix[s];
            digit[s] = 0;
        }
    }
}

EK_INLINE void EK_FN_second(EK_T *a, const int32_t m)
{
    EK_T *const b = a + m;
    for (int32_t i = 0; i < 2; i++) {
        const EK_S x = a[i], y = b[i];
        a[i] = EK_STORE_T(x + y);
        b[i] = EK_STORE_T(x - y);
    }
}

EK_INLINE void EK_FN_third(EK_T *a, const EK_T sine, const int32_t m)
{
    EK_T *const b = a + m, *const c = b + m;
    EK_S rest[2];
    for (int32_t i = 0; i < 2; i++) {
        const EK_S total = EK_STORE_T((EK_S)b[i] + c[i]);
        rest[i] = EK_FN_scaled(EK_STORE_T((EK_S)b[i] - c[i]), sine);
        b[i] = EK_STORE_T(a[i] - EK_MATH_S(fft_half)(total));
        a[i] = EK_STORE_T(a[i] + total);
    }
    c[0] = EK_STORE_T(b[0] + rest[1]);
    c[1] = EK_STORE_T(b[1] - rest[0]);
    b[0] = EK_STORE_T(b[0] - rest[1]);
    b[1] = EK_STORE_T(b[1] + rest[0]);
}

EK_INLINE void EK_FN_fourth(EK_T *a, const int32_t m, const int32_t inverse)
{
    EK_T *const b = a + m, *const c = b + m, *const d = c + m;
    EK_S even[2], odd[2];
    for (int32_t i = 0; i < 2; i++) {
        const EK_S total = (EK_S)a[i] + c[i], other = (EK_S)b[i] + d[i];
        even[i] = (EK_S)a[i] - c[i];
        odd[i] = inverse ? (EK_S)d[i] - b[i] : (EK_S)b[i] - d[i];
        a[i] = EK_STORE_T(total + other);
        c[i] = EK_STORE_T(total - other);
    }
    b[0] = EK_STORE_T(even[0] + odd[1]);
    b[1] = EK_STORE_T(even[1] - odd[0]);
    d[0] = EK_STORE_T(even[0] - odd[1]);
    d[1] = EK_STORE_T(even[1] + odd[0]);
}

/* v and w: the first and the second fifth root of 1. */
EK_INLINE void EK_FN_fifth(EK_T *a, const EK_T *v, const EK_T *w, const int32_t m)
{
    EK_T *const b = a + m, *const c = b + m, *const d = c + m, *const e = d + m;
    EK_S outer[2], inner[2], one[2], two[2];
    for (int32_t i = 0; i < 2; i++) {
        const EK_S out = EK_STORE_T((EK_S)b[i] + e[i]), in = EK_STORE_T((EK_S)c[i] + d[i]);
        outer[i] = EK_STORE_T((EK_S)b[i] - e[i]);
        inner[i] = EK_STORE_T((EK_S)c[i] - d[i]);
        one[i] = a[i] + EK_FN_scaled(out, v[0]) + EK_FN_scaled(in, w[0]);
        two[i] = a[i] + EK_FN_scaled(out, w[0]) + EK_FN_scaled(in, v[0]);
        a[i] = EK_STORE_T(a[i] + (out + in));
    }
    const EK_S one_re = EK_FN_scaled(outer[1], v[1]) + EK_FN_scaled(inner[1], w[1]);
    const EK_S one_im = -EK_FN_scaled(outer[0], v[1]) - EK_FN_scaled(inner[0], w[1]);
    const EK_S two_re = EK_FN_scaled(inner[1], v[1]) - EK_FN_scaled(outer[1], w[1]);
    const EK_S two_im = EK_FN_scaled(outer[0], w[1]) - EK_FN_scaled(inner[0], v[1]);
    b[0] = EK_STORE_T(one[0] - one_re);
    b[1] = EK_STORE_T(one[1] - one_im);
    c[0] = EK_STORE_T(two[0] + two_re);
    c[1] = EK_STORE_T(two[1] + two_im);
    d[0] = EK_STORE_T(two[0] - two_re);
    d[1] = EK_STORE_T(two[1] - two_im);
    e[0] = EK_STORE_T(one[0] + one_re);
    e[1] = EK_STORE_T(one[1] + one_im);
}

/* One transform of `radix` times `size` points from as many of `size`; `apart` of them are side by side. */
EK_INLINE void EK_FN_join(EK_T *y, const EK_T *EK_RESTRICT w, const int32_t radix, const int32_t size,
    const int32_t apart, const int32_t inverse)
{
    const EK_T *const root = w + 2 * size * apart;
    for (int32_t k = 0; k < size; k++, y += 2) {
        EK_FN_divide(y, radix);
        for (int32_t q = 1; q < radix; q++)
            EK_FN_turn(y + 2 * q * size, w + 2 * q * k * apart, radix);
        if (radix == 4)
            EK_FN_fourth(y, 2 * size, inverse);
        else if (radix == 2)
            EK_FN_second(y, 2 * size);
        else if (radix == 3)
            EK_FN_third(y, root[1], 2 * size);
        else
            EK_FN_fifth(y, root, root + 2 * size * apart, 2 * size);
    }
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT w, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t row = 0; row < p->rows; row++, x += p->inputs, y += 2 * p->points) {
        EK_FN_reverse(x, y, p);
        int32_t apart = p->points, size = 1;
        for (int32_t s = p->stages - 1; s >= 0; s--) {
            const int32_t radix = p->radix[s];
            apart /= radix;
            for (int32_t i = 0; i < apart; i++)
                EK_FN_join(y + 2 * i * radix * size, w, radix, size, apart, p->inverse);
            size *= radix;
        }
    }
}
