/* Compares the float math with libm of the next precision: scan_<name>_f32 over ranges of bit patterns,
 * scan_<name>_f64 and pair_<name>_<type> over given values. Each adds to a struct worst. */
#include <math.h>
#include <stddef.h>

#include "edgekit/math/math_f32.h"
#include "edgekit/math/math_f64.h"
#include "math_functions.h"

struct worst {
    double ulp; /* the largest error, in units of the last place of the true result */
    double at[2]; /* the argument it was seen at */
    double wrong[2]; /* the last argument whose result has another sign, or is NaN or is not */
    int64_t wrongs;
};

static double sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double least(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
}

static double most(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
}

static long double sigmoidl(long double x)
{
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

static long double rsqrtl(long double x)
{
    return 1 / sqrtl(x);
}

static long double leastl(long double x, long double y)
{
    return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
}

static long double mostl(long double x, long double y)
{
    return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
}

/* Beyond the largest float both count as the float that would come next, so that an overflow is an error of
 * 1 ULP when the true result is the largest float, and of none when the true result overflows. */
static void judge(struct worst *w, double error, int wrong, double a, double b)
{
    if (wrong) {
        w->wrongs++;
        w->wrong[0] = a;
        w->wrong[1] = b;
    } else if (error > w->ulp) {
        w->ulp = error;
        w->at[0] = a;
        w->at[1] = b;
    }
}

static void judge_f32(struct worst *w, float got, double want, double a, double b)
{
    const double beyond = 340282366920938463463374607431768211456.0; /* 2^128 */
    const int wrong = isnan(got) != isnan(want) || (!isnan(got) && !signbit(got) != !signbit(want));
    const double g = fabs(got) < beyond ? fabs((double)got) : beyond;
    const double t = fabs(want) < beyond ? fabs(want) : beyond;
    const int32_t exponent = (int32_t)(ek_bits_f64(t) >> 52) - 1023 - 23;
    const double ulp = ek_pow2_f64(exponent < -149 ? -149 : exponent);
    judge(w, isnan(got) ? 0 : fabs(g - t) / ulp, wrong, a, b);
}

static void judge_f64(struct worst *w, double got, long double want, double a, double b)
{
    const long double beyond = ldexpl(1, 1024);
    const int wrong = isnan(got) != isnan(want) || (!isnan(got) && !signbit(got) != !signbit(want));
    const long double g = isinf(got) ? beyond : fabsl(got);
    const long double t = fabsl(want) < beyond ? fabsl(want) : beyond;
    int exponent;
    frexpl(t, &exponent);
    judge(w, isnan(got) ? 0 : (double)(fabsl(g - t) / ldexpl(1, exponent < -1021 ? -1074 : exponent - 53)),
        wrong, a, b);
}

#define SCAN_F32(name, reference)                                                                            \
    void scan_##name##_f32(uint32_t first, uint32_t stride, size_t n, struct worst *w)                       \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++, first += stride) {                                                    \
            const float x = ek_from_bits_f32(first);                                                         \
            judge_f32(w, ek_##name##_f32(x), reference(x), x, 0);                                            \
        }                                                                                                    \
    }

#define SCAN_F64(name, reference)                                                                            \
    void scan_##name##_f64(const double *x, size_t n, struct worst *w)                                       \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                     \
            judge_f64(w, ek_##name##_f64(x[i]), reference##l(x[i]), x[i], 0);                                \
        }                                                                                                    \
    }

#define PAIR_F32(name, reference)                                                                            \
    void pair_##name##_f32(const float *a, const float *b, size_t n, struct worst *w)                        \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                     \
            judge_f32(w, ek_##name##_f32(a[i], b[i]), reference(a[i], b[i]), a[i], b[i]);                    \
        }                                                                                                    \
    }

#define PAIR_F64(name, reference)                                                                            \
    void pair_##name##_f64(const double *a, const double *b, size_t n, struct worst *w)                      \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                     \
            judge_f64(w, ek_##name##_f64(a[i], b[i]), reference##l(a[i], b[i]), a[i], b[i]);                 \
        }                                                                                                    \
    }

UNARY(SCAN_F32)
UNARY(SCAN_F64)
BINARY(PAIR_F32)
BINARY(PAIR_F64)
