/* Pairs from frequencies of real numbers. */
#include "edgekit/contracts/irfft_merge.h"

#include "edgekit/math/fft_fixed.h"

/* Half of x. */
EK_INLINE EK_S EK_FN_halved(const EK_S x)
{
    return EK_STORE_T(EK_MATH_S(fft_divide)(x, 2));
}

/* Number k and its mirror. */
EK_INLINE void EK_FN_pair(const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, const EK_T *EK_RESTRICT w,
    EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT mirror)
{
    const EK_S a_re = EK_FN_halved(a[0]), a_im = EK_FN_halved(a[1]);
    const EK_S b_re = EK_FN_halved(b[0]), b_im = EK_FN_halved(EK_STORE_T(-(EK_S)b[1]));
    const EK_S re = a_re + b_re, im = a_im + b_im;
    const EK_S d_re = EK_STORE_T(a_re - b_re), d_im = EK_STORE_T(a_im - b_im);
    const EK_S t_re = EK_STORE_T(EK_MATH_S(fft_round)(d_re * w[0] - d_im * w[1]));
    const EK_S t_im = EK_STORE_T(EK_MATH_S(fft_round)(d_re * w[1] + d_im * w[0]));
    y[0] = EK_STORE_T(re + t_re);
    y[1] = EK_STORE_T(im + t_im);
    mirror[0] = EK_STORE_T(re - t_re);
    mirror[1] = EK_STORE_T(t_im - im);
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT w, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t n = p->points;
    for (int32_t row = 0; row < p->rows; row++, x += 2 * n + 2, y += 2 * n) {
        const EK_S first = x[0], last = x[2 * n];
        y[0] = EK_STORE_T(EK_FN_halved(EK_STORE_T(first + last)));
        y[1] = EK_STORE_T(EK_FN_halved(EK_STORE_T(first - last)));
        for (int32_t k = 1; k <= n / 2; k++)
            EK_FN_pair(x + 2 * k, x + 2 * (n - k), w + 2 * (k - 1), y + 2 * k, y + 2 * (n - k));
    }
}
