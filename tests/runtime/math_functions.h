/* The functions under test: X(name in the runtime, name in libm or in math_scan.c). */
#define UNARY(X)                                                                                             \
    X(exp, exp)                                                                                              \
    X(exp2, exp2)                                                                                            \
    X(expm1, expm1)                                                                                          \
    X(sigmoid, sigmoid)                                                                                      \
    X(tanh, tanh)                                                                                            \
    X(erf, erf)                                                                                              \
    X(sinh, sinh)                                                                                            \
    X(cosh, cosh)                                                                                            \
    X(log, log)                                                                                              \
    X(log2, log2)                                                                                            \
    X(log1p, log1p)                                                                                          \
    X(asinh, asinh)                                                                                          \
    X(acosh, acosh)                                                                                          \
    X(atanh, atanh)                                                                                          \
    X(sqrt, sqrt)                                                                                            \
    X(sqrt_portable, sqrt)                                                                                   \
    X(rsqrt, rsqrt)                                                                                          \
    X(sin, sin)                                                                                              \
    X(cos, cos)                                                                                              \
    X(tan, tan)                                                                                              \
    X(asin, asin)                                                                                            \
    X(acos, acos)                                                                                            \
    X(atan, atan)                                                                                            \
    X(floor, floor)                                                                                          \
    X(ceil, ceil)                                                                                            \
    X(trunc, trunc)                                                                                          \
    X(round_even, nearbyint)                                                                                 \
    X(fabs, fabs)

#define BINARY(X)                                                                                            \
    X(pow, pow)                                                                                              \
    X(fmod, fmod)                                                                                            \
    X(fmin, least)                                                                                           \
    X(fmax, most)
