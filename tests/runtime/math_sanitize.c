/* Calls everything with every kind of argument, for a build with sanitizers. */
#include <stdio.h>

#include "math_maps.c"
#include "small_floats.c"

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

#define CALL_1(name, reference)                                                                              \
    map_##name##_f32(x, y, COUNT);                                                                           \
    map_##name##_f64(xd, yd, COUNT);                                                                         \
    calls += 2;
#define CALL_2(name, reference)                                                                              \
    map_##name##_f32(x, z, y, COUNT);                                                                        \
    map_##name##_f64(xd, zd, yd, COUNT);                                                                     \
    calls += 2;
#define WIDEN(type, codes)                                                                                   \
    map_##type##_to_f32(codes, y, COUNT);                                                                    \
    calls++;
#define NARROW(name, from, codes)                                                                            \
    map_##name(from, codes, COUNT);                                                                          \
    calls++;

enum { COUNT = 65536 };

int main(void)
{
    static float x[COUNT], y[COUNT], z[COUNT];
    static double xd[COUNT], yd[COUNT], zd[COUNT];
    static uint16_t codes16[COUNT];
    static uint8_t codes8[COUNT];
    int calls = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        /* All leading halves; the rest 0, all ones or random. */
        const uint64_t rest = i % 3u == 0u ? 0u : i % 3u == 1u ? ~(uint64_t)0 : random_bits();
        x[i] = ek_from_bits_f32(i << 16 | (uint32_t)(rest & 0xFFFFu));
        xd[i] = ek_from_bits_f64((uint64_t)i << 48 | (rest & 0xFFFFFFFFFFFFu));
        z[i] = ek_from_bits_f32((uint32_t)(random_bits() >> 32));
        zd[i] = ek_from_bits_f64(random_bits());
        codes16[i] = (uint16_t)i;
        codes8[i] = (uint8_t)i;
    }
    UNARY(CALL_1)
    BINARY(CALL_2)
    WIDEN(f16, codes16)
    WIDEN(bf16, codes16)
    WIDEN(f8e4m3fn, codes8)
    WIDEN(f8e4m3fnuz, codes8)
    WIDEN(f8e5m2, codes8)
    WIDEN(f8e5m2fnuz, codes8)
    WIDEN(f4e2m1, codes8)
    WIDEN(f6e2m3, codes8)
    WIDEN(f6e3m2, codes8)
    WIDEN(f8e8m0, codes8)
    NARROW(f32_to_f16, x, codes16)
    NARROW(f32_to_bf16, x, codes16)
    NARROW(f64_to_f16, xd, codes16)
    NARROW(f64_to_bf16, xd, codes16)
    NARROW(f32_to_f8e4m3fn_saturated, x, codes8)
    NARROW(f32_to_f8e4m3fnuz_free, x, codes8)
    NARROW(f32_to_f8e5m2_saturated, x, codes8)
    NARROW(f32_to_f8e5m2fnuz_free, x, codes8)
    NARROW(f32_to_f4e2m1, x, codes8)
    NARROW(f32_to_f6e2m3, x, codes8)
    NARROW(f32_to_f6e3m2, x, codes8)
    NARROW(f32_to_f8e8m0_up_saturated, x, codes8)
    NARROW(f32_to_f8e8m0_nearest_free, x, codes8)
    printf("called %d functions %d times\n", calls, COUNT);
    return 0;
}
