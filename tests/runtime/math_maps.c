/* Every function of the float math over arrays: map_<name>_<f32 or f64>(x, y, n). Uses no libc. */
#include <stddef.h>

#include "edgekit/math/math_f32.h"
#include "edgekit/math/math_f64.h"
#include "math_functions.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAP_1(name, suffix, type)                                                                            \
    void map_##name##_##suffix(const type *x, type *y, size_t n);                                            \
    void map_##name##_##suffix(const type *x, type *y, size_t n)                                             \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                     \
            y[i] = ek_##name##_##suffix(x[i]);                                                               \
        }                                                                                                    \
    }

#define MAP_2(name, suffix, type)                                                                            \
    void map_##name##_##suffix(const type *a, const type *b, type *y, size_t n);                             \
    void map_##name##_##suffix(const type *a, const type *b, type *y, size_t n)                              \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                     \
            y[i] = ek_##name##_##suffix(a[i], b[i]);                                                         \
        }                                                                                                    \
    }

#define MAP_1_BOTH(name, reference) MAP_1(name, f32, float) MAP_1(name, f64, double)
#define MAP_2_BOTH(name, reference) MAP_2(name, f32, float) MAP_2(name, f64, double)
UNARY(MAP_1_BOTH)
BINARY(MAP_2_BOTH)

#ifdef __cplusplus
}
#endif
