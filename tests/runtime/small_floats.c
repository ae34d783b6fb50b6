/* The conversions of small floats over arrays: map_<name>(x, y, n). Uses no libc. */
#include <stddef.h>

#include "edgekit/math/float8.h"
#include "edgekit/math/half.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAP(name, from, to, expression)                                                                      \
    void map_##name(const from *x, to *y, size_t n);                                                         \
    void map_##name(const from *x, to *y, size_t n)                                                          \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                     \
            y[i] = expression;                                                                               \
        }                                                                                                    \
    }

MAP(f16_to_f32, ek_f16, float, ek_f16_to_f32(x[i]))
MAP(bf16_to_f32, ek_bf16, float, ek_bf16_to_f32(x[i]))
MAP(f32_to_f16, float, ek_f16, ek_f32_to_f16(x[i]))
MAP(f32_to_bf16, float, ek_bf16, ek_f32_to_bf16(x[i]))
MAP(f64_to_f16, double, ek_f16, ek_f64_to_f16(x[i]))
MAP(f64_to_bf16, double, ek_bf16, ek_f64_to_bf16(x[i]))

#define MAP_FLOAT8(type)                                                                                     \
    MAP(type##_to_f32, ek_##type, float, ek_##type##_to_f32(x[i]))                                           \
    MAP(f32_to_##type##_saturated, float, ek_##type, ek_f32_to_##type(x[i], 1))                              \
    MAP(f32_to_##type##_free, float, ek_##type, ek_f32_to_##type(x[i], 0))
MAP_FLOAT8(f8e4m3fn)
MAP_FLOAT8(f8e4m3fnuz)
MAP_FLOAT8(f8e5m2)
MAP_FLOAT8(f8e5m2fnuz)

#define MAP_FINITE(type)                                                                                     \
    MAP(type##_to_f32, ek_##type, float, ek_##type##_to_f32(x[i]))                                           \
    MAP(f32_to_##type, float, ek_##type, ek_f32_to_##type(x[i]))
MAP_FINITE(f4e2m1)
MAP_FINITE(f6e2m3)
MAP_FINITE(f6e3m2)

#define MAP_E8M0(mode, round_mode)                                                                           \
    MAP(f32_to_f8e8m0_##mode##_saturated, float, ek_f8e8m0, ek_f32_to_f8e8m0(x[i], 1, round_mode))           \
    MAP(f32_to_f8e8m0_##mode##_free, float, ek_f8e8m0, ek_f32_to_f8e8m0(x[i], 0, round_mode))
MAP(f8e8m0_to_f32, ek_f8e8m0, float, ek_f8e8m0_to_f32(x[i]))
MAP_E8M0(up, EK_ROUND_UP)
MAP_E8M0(down, EK_ROUND_DOWN)
MAP_E8M0(nearest, EK_ROUND_NEAREST)

#ifdef __cplusplus
}
#endif
