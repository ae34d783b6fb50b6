/* The requantization rules with the DSP instructions of Cortex-M4, M7 and M33: in C, and in assembly for the registers that
 * functions in assembly have their sums in. */
#ifndef EDGEKIT_FIXED_DSP_H
#define EDGEKIT_FIXED_DSP_H

#include "edgekit/simd/cortex_m/copies_dsp.h"
#include "edgekit/types.h"

/* The constants of a rule for doubled sums. `e` is packed as -e - 1, so that of rule E is -shift - 1. */
static inline void ek_requantize_tfl_constants(const int8_t *e, int32_t zero, int32_t *offset, int32_t *shift)
{
    (void)e;
    *offset = 2 * zero + 1;
    *shift = 0;
}

/* The same of a rule with another name. */
#define EK_CONSTANTS_DSP(NAME, RULE)                                                                         \
    static inline void ek_requantize_##NAME##_constants(                                                     \
        const int8_t *e, int32_t zero, int32_t *offset, int32_t *shift)                                      \
    {                                                                                                        \
        ek_requantize_##RULE##_constants(e, zero, offset, shift);                                            \
    }
EK_CONSTANTS_DSP(once, tfl)

static inline void ek_requantize_e_constants(const int8_t *e, int32_t zero, int32_t *offset, int32_t *shift)
{
    *shift = -e[0] - 32;
    *offset = zero * (1 << *shift) + (1 << (*shift - 1));
}

/* Sums of weights of four bits are not doubled. */
static inline void ek_requantize_e_nibbles_constants(
    const int8_t *e, int32_t zero, int32_t *offset, int32_t *shift)
{
    *shift = -e[0] - 33;
    *offset = zero * (1 << *shift) + (1 << (*shift - 1));
}

/* (a b + 2^31) >> 32 */
static inline int32_t ek_high_word(int32_t a, int32_t b)
{
    int32_t y;
    __asm("smmulr %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* Rule E with one multiplier for all, even where products leave 32 bits. */
struct ek_scale {
    int32_t m;
    int32_t up; /* the sum goes to the left, where the shift is below 33 */
    int32_t limit; /* of the sum: what is beyond it is beyond int8 */
    int32_t offset; /* to the high word of the product */
    int32_t down;
};

static inline struct ek_scale ek_scale_e(const int32_t m, const int32_t shift, const int32_t zero)
{
    const int32_t up = shift < 33 ? 33 - shift : 0, down = shift + up - 32;
    const struct ek_scale scale = {m, up, INT32_MAX >> up, zero * (1 << down) + (1 << (down - 1)), down};
    return scale;
}

/* The high word of a product, and what is added to it. */
static inline int32_t ek_high_product_and(int32_t a, int32_t b, int32_t c)
{
    int32_t y;
    __asm("smmla %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}

/* Of a sum that does not go to the left. */
static inline int8_t ek_scaled_small_s8(int32_t sum, const struct ek_scale *p)
{
    int32_t y = ek_high_product_and(sum, p->m, p->offset) >> p->down;
    __asm("ssat %0, #8, %0" : "+r"(y) : : "cc");
    return (int8_t)y;
}

static inline int8_t ek_scaled_s8(int32_t sum, const struct ek_scale *p)
{
    const int32_t within = sum > p->limit ? p->limit : sum < -p->limit ? -p->limit : sum;
    return ek_scaled_small_s8((int32_t)((uint32_t)within << p->up), p);
}

/* a / 2, rounded down, as the nearest int8. */
static inline int8_t ek_half_s8(int32_t a)
{
    int32_t y;
    __asm("ssat %0, #8, %1, asr #1" : "=r"(y) : "r"(a) : "cc");
    return (int8_t)y;
}

/* a, as the nearest int8. */
static inline int8_t ek_nearest_s8(int32_t a)
{
    int32_t y;
    __asm("ssat %0, #8, %1" : "=r"(y) : "r"(a) : "cc");
    return (int8_t)y;
}

/* a, as the nearest int16. */
static inline int16_t ek_nearest_s16(int32_t a)
{
    int32_t y;
    __asm("ssat %0, #16, %1" : "=r"(y) : "r"(a) : "cc");
    return (int16_t)y;
}

/* Output o of a doubled sum by each rule, with the constants above. */
static inline int8_t ek_scaled_tfl_dsp(
    int32_t sum, int32_t o, const int32_t *m, const int8_t *e, int32_t offset, int32_t shift)
{
    const int32_t z = ek_high_word(sum, m[o]);
    (void)shift;
    return ek_half_s8(((z + (z >> 31)) >> e[o]) + offset);
}

static inline int8_t ek_scaled_once_dsp(
    int32_t sum, int32_t o, const int32_t *m, const int8_t *e, int32_t offset, int32_t shift)
{
    const int64_t product = (int64_t)sum * m[o];
    const int32_t z = (int32_t)(product >> 32);
    (void)shift;
    return ek_half_s8((((uint32_t)product ? z : z + (z >> 31)) >> e[o]) + offset);
}

static inline int8_t ek_scaled_e_dsp(
    int32_t sum, int32_t o, const int32_t *m, const int8_t *e, int32_t offset, int32_t shift)
{
    (void)e;
    return ek_nearest_s8(ek_high_product_and(sum, m[o], offset) >> shift);
}

/* How two tensors are added by rule E: a sum of two products. */
struct ek_products {
    int32_t first;
    int32_t second;
    int32_t constant;
    int32_t shift;
};

/* Four a turn: compilers for small processors do not unroll loops. */
static EK_SHARED void ek_add_products(
    const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const struct ek_products *p)
{
    const int32_t first = p->first, second = p->second, constant = p->constant, shift = p->shift;
    for (; count >= 4; count -= 4, a += 4, b += 4, y += 4) {
        const int32_t u = a[0] * first + b[0] * second + constant,
                      v = a[1] * first + b[1] * second + constant;
        const int32_t w = a[2] * first + b[2] * second + constant,
                      z = a[3] * first + b[3] * second + constant;
        y[0] = ek_nearest_s8(u >> shift);
        y[1] = ek_nearest_s8(v >> shift);
        y[2] = ek_nearest_s8(w >> shift);
        y[3] = ek_nearest_s8(z >> shift);
    }
    for (; count > 0; count--)
        *y++ = ek_nearest_s8((*a++ * first + *b++ * second + constant) >> shift);
}

/* How two tensors are added by TFLite's rule where one has the larger scale, by which it is halved: exactly, by a shift. */
struct ek_halves {
    int32_t large_zero;
    int32_t small_zero;
    int32_t m; /* multiplier and exponent of the other one */
    int32_t e;
    int32_t multiplier; /* of the sum */
    int32_t exponent;
    int32_t zero;
};

static EK_SHARED void ek_add_halves(
    const int8_t *large, const int8_t *small, int8_t *y, int32_t count, const struct ek_halves *p)
{
    const int32_t large_zero = p->large_zero * (1 << 20), small_zero = p->small_zero * (1 << 21);
    const int32_t t = -p->e, half = 1 << (t - 1), offset = 2 * p->zero + 1, shift = -p->exponent - 1;
    const int8_t *const end = y + count;
    while (y != end) {
        /* Twice the halved sum: ek_high_word halves. */
        const int32_t u = *large++ * (1 << 20) - large_zero;
        int32_t v = ek_high_word(*small++ * (1 << 21) - small_zero, p->m);
        v = (v + (v >> 31) + half) >> t;
        const int32_t z = ek_high_word(u + 2 * v, p->multiplier);
        *y++ = ek_half_s8(((z + (z >> 31)) >> shift) + offset);
    }
}

/* clang-format off */
/* The rules in assembly are sequences of these instructions. C99 promises 4095 characters: no blanks.
 * The high word of a doubled sum times r12, rounded; or of a sum, which is added to x. */
#define EK_HIGH(sum) "smmulr " #sum "," #sum ",r12\n"
#define EK_HIGH_AND(multiply, sum, x) multiply " " #sum "," #sum ",r12," #x "\n"
/* 1 less, where it is negative; a shift; a sum; and the nearest number of so many bits, of the half or as it is. */
#define EK_AWAY(sum) "add.w " #sum "," #sum "," #sum ",asr #31\n"
#define EK_DOWN(sum, t) "asr.w " #sum "," #sum "," #t "\n"
#define EK_PLUS(sum, x) "add.w " #sum "," #sum "," #x "\n"
#define EK_NEAREST_HALF(sum) "ssat " #sum ",#8," #sum ",asr #1\n"
#define EK_NEAREST(sum, bits) "ssat " #sum ",#" #bits "," #sum "\n"

/* The multiplier and the exponent of an output, which r0 and r2 are behind; and its result, which r3 is behind. */
#define EK_LOAD_MULTIPLIER "ldr r12,[r0,#-4]!\n"
#define EK_LOAD_EXPONENT(t) "ldrb " #t ",[r2,#-1]!\n"
#define EK_STORE_BYTE(sum) "strb " #sum ",[r3,#-1]!\n"
#define EK_STORE_HALF(sum) "strh " #sum ",[r3,#-2]!\n"

/* One sum; lr offset, for rule E r2 shift.
 * z = (acc m + 2^30) >> 31; y = (z + (z >> 31) + 2^(t-1)) >> t with t = -e, the last bit of it with the saturation. */
#define EK_DOTS_LAST(sum)                                                                                    \
    EK_LOAD_EXPONENT(r12) EK_DOWN(sum, r12) EK_PLUS(sum, lr) EK_NEAREST_HALF(sum) EK_STORE_BYTE(sum)
#define EK_DOTS_TFL(sum) EK_LOAD_MULTIPLIER EK_HIGH(sum) EK_AWAY(sum) EK_DOTS_LAST(sum)

/* The same of the whole product: 1 less where it is negative reaches the high word only if the low word is 0. */
#define EK_DOTS_ONCE(sum)                                                                                    \
    EK_LOAD_MULTIPLIER                                                                                       \
    "smull r12," #sum "," #sum ",r12\n"                                                                      \
    "cmp.w r12,#0\n"                                                                                         \
    "it eq\n"                                                                                                \
    "addeq.w " #sum "," #sum "," #sum ",asr #31\n"                                                           \
    EK_DOTS_LAST(sum)

/* Both with halves that go up: the offset is added to the high word, at the place that the shift leaves it. t and u are
 * registers: exponent, and offset. */
#define EK_LOAD_UP(t, u) EK_LOAD_MULTIPLIER EK_LOAD_EXPONENT(t) "lsl.w " #u ",lr," #t "\n"
#define EK_DOTS_UP(multiply, sum, t, u)                                                                      \
    EK_LOAD_UP(t, u) EK_HIGH_AND(multiply, sum, u) EK_DOWN(sum, t) EK_NEAREST_HALF(sum) EK_STORE_BYTE(sum)
#define EK_DOTS_TFL_UP(sum, t, u) EK_DOTS_UP("smmlar", sum, t, u)
#define EK_DOTS_ONCE_UP(sum, t, u) EK_DOTS_UP("smmla", sum, t, u)

/* One shift for all. */
#define EK_DOTS_SCALED(sum) EK_LOAD_MULTIPLIER EK_HIGH_AND("smmla", sum, lr) EK_DOWN(sum, r2)
#define EK_DOTS_E(sum) EK_DOTS_SCALED(sum) EK_NEAREST(sum, 8) EK_STORE_BYTE(sum)
#define EK_DOTS_E_S16(sum) EK_DOTS_SCALED(sum) EK_NEAREST(sum, 16) EK_STORE_HALF(sum)

/* Sums that are not doubled yet. */
#define EK_DOTS_TWICE_TFL(sum) EK_PLUS(sum, sum) EK_DOTS_TFL(sum)
#define EK_DOTS_TWICE_ONCE(sum) EK_PLUS(sum, sum) EK_DOTS_ONCE(sum)
#define EK_DOTS_TWICE_E(sum) EK_PLUS(sum, sum) EK_DOTS_E(sum)

/* The same for sums of two pixels, whose results are r1 apart. */
#define EK_PAIR_STORE_BYTES(a, b) EK_STORE_BYTE(a) "strb.w " #b ",[r3,r1]\n"
#define EK_PAIR_STORE_HALVES(a, b) EK_STORE_HALF(a) "strh.w " #b ",[r3,r1]\n"
#define EK_PAIR_TFL(a, b)                                                                                    \
    EK_LOAD_MULTIPLIER                                                                                       \
    EK_HIGH(a) EK_HIGH(b)                                                                                    \
    EK_LOAD_EXPONENT(r12)                                                                                    \
    EK_AWAY(a) EK_AWAY(b)                                                                                    \
    EK_DOWN(a, r12) EK_DOWN(b, r12)                                                                          \
    EK_PLUS(a, lr) EK_PLUS(b, lr)                                                                            \
    EK_NEAREST_HALF(a) EK_NEAREST_HALF(b)                                                                    \
    EK_PAIR_STORE_BYTES(a, b)
#define EK_PAIR_UP(a, b, t, u)                                                                               \
    EK_LOAD_UP(t, u)                                                                                         \
    EK_HIGH_AND("smmlar", a, u) EK_HIGH_AND("smmlar", b, u)                                                  \
    EK_DOWN(a, t) EK_DOWN(b, t)                                                                              \
    EK_NEAREST_HALF(a) EK_NEAREST_HALF(b)
#define EK_PAIR_TFL_UP(a, b) EK_PAIR_UP(a, b, r7, r11) EK_PAIR_STORE_BYTES(a, b)
#define EK_PAIR_SCALED(a, b)                                                                                 \
    EK_LOAD_MULTIPLIER                                                                                       \
    EK_HIGH_AND("smmla", a, lr) EK_HIGH_AND("smmla", b, lr)                                                  \
    EK_DOWN(a, r2) EK_DOWN(b, r2)
#define EK_PAIR_E(a, b) EK_PAIR_SCALED(a, b) EK_NEAREST(a, 8) EK_NEAREST(b, 8) EK_PAIR_STORE_BYTES(a, b)
#define EK_PAIR_E_S16(a, b) EK_PAIR_SCALED(a, b) EK_NEAREST(a, 16) EK_NEAREST(b, 16) EK_PAIR_STORE_HALVES(a, b)

/* The same for two sums in r10 and r11, whose constants are on the stack: multiplier, exponent, offset, and in lr then the
 * step of y. */
#define EK_PLANE_TFL                                                                                         \
    "ldrd r12,lr,[sp,#8]\n"                                                                                  \
    EK_HIGH(r10) EK_HIGH(r11)                                                                                \
    EK_AWAY(r10) EK_AWAY(r11)                                                                                \
    EK_DOWN(r10, lr) EK_DOWN(r11, lr)                                                                        \
    "ldrd r12,lr,[sp,#16]\n"                                                                                 \
    EK_PLUS(r10, r12) EK_PLUS(r11, r12)                                                                      \
    EK_NEAREST_HALF(r10) EK_NEAREST_HALF(r11)
#define EK_PLANE_SCALED(multiply)                                                                            \
    "ldrd r12,lr,[sp,#8]\n"                                                                                  \
    EK_HIGH_AND(multiply, r10, lr) EK_HIGH_AND(multiply, r11, lr)                                            \
    "ldrd r12,lr,[sp,#16]\n"                                                                                 \
    EK_DOWN(r10, r12) EK_DOWN(r11, r12)                                                                      \
    EK_NEAREST(r10, 8) EK_NEAREST(r11, 8)
#define EK_PLANE_E EK_PLANE_SCALED("smmla")
#define EK_PLANE_TFL_UP EK_PLANE_SCALED("smmlar")
/* clang-format on */

#endif
