/* Sums of products of two pixels at a time with the DSP instructions of Cortex-M4, M7 and M33, requantized.
 *
 * The numbers of both pixels are spread to 16 bits first, two of the one beside the same two of the other, so that four
 * outputs of both stay in r4 to r11, and a word of weights serves two SMLAD. Numbers and weights go in fours: the first
 * and the third, then the second and the fourth.
 *
 * Weights of 8 bits lie in pairs, those of two outputs for the same input: 256 w1 + w0 in 16 bits. SMLAD with such a
 * word gives s0 + 256 s1, and with the lower bytes of it, spread by SXTB16, s0: no more than one instruction unpacks two
 * outputs, as long as s1 has 24 bits.
 * stack 84 */
#ifndef EDGEKIT_PIXEL_PAIRS_DSP_H
#define EDGEKIT_PIXEL_PAIRS_DSP_H

#include "edgekit/simd/cortex_m/fixed_dsp.h"

/* The layer of which the functions below compute two pixels. */
struct ek_pixel_pair {
    const void *w;
    const int32_t *b; /* doubled, where weights are */
    const int32_t *m;
    const int8_t *e; /* -exponent - 1; not for rule E */
    int32_t offset; /* 2 zero + 1; rule E: what is added to the high word */
    int32_t depth; /* bytes of the numbers of both pixels: sixteen for each four */
    int32_t outputs;
    int32_t shift; /* rule E: of the high word */
    int32_t
        step; /* bytes from the results of the first pixel to those of the second; 0 computes one pixel twice */
};
EK_ASSEMBLY_OFFSETS(struct ek_pixel_pair, 0, w, b, m, e);
EK_ASSEMBLY_OFFSETS(struct ek_pixel_pair, 16, offset, depth, outputs, shift);
EK_ASSEMBLY_OFFSET(struct ek_pixel_pair, step, 32);

/* Brings bytes of two pixels, whole fours, side by side. `to` may be before `a` by three bytes for each number, or less,
 * and before `b` by four. */
static inline void ek_bytes_spread(const void *a, const void *b, int32_t *to, int32_t count)
{
    for (; count > 0; count -= 4)
        __asm volatile("ldr r4, [%0], #4\n"
                       "ldr r6, [%1], #4\n"
                       "sxtb16 r3, r4\n"
                       "sxtb16 r5, r4, ror #8\n"
                       "sxtb16 r4, r6\n"
                       "sxtb16 r6, r6, ror #8\n"
                       "stm %2!, {r3, r4, r5, r6}"
            : "+r"(a), "+r"(b), "+r"(to)
            :
            : "r3", "r4", "r5", "r6", "memory");
}

/* The same of numbers of 16 bits: `to` may be before `a` by two bytes for each. */
static inline void ek_halves_spread(const void *a, const void *b, int32_t *to, int32_t count)
{
    for (; count > 0; count -= 4)
        __asm volatile("ldr r3, [%0], #4\n"
                       "ldr r4, [%1], #4\n"
                       "ldr r6, [%0], #4\n"
                       "ldr r8, [%1], #4\n"
                       "pkhtb r5, r6, r3, asr #16\n"
                       "pkhbt r3, r3, r6, lsl #16\n"
                       "pkhtb r6, r8, r4, asr #16\n"
                       "pkhbt r4, r4, r8, lsl #16\n"
                       "stm %2!, {r3, r4, r5, r6}"
            : "+r"(a), "+r"(b), "+r"(to)
            :
            : "r3", "r4", "r5", "r6", "r8", "memory");
}

/* Two numbers of each pixel times two weights of four outputs. C99 promises 4095 characters: no blanks here. */
#define EK_PAIR_NUMBERS "ldrd r2,r3,[r0],#8\n"
#define EK_PAIR_OF_HALVES(a, b, c, d)                                                                        \
    "ldrd r12,lr,[r1],#8\n"                                                                                  \
    "smlad " #a ",r2,r12," #a "\n"                                                                           \
    "smlad " #c ",r3,r12," #c "\n"                                                                           \
    "smlad " #b ",r2,lr," #b "\n"                                                                            \
    "smlad " #d ",r3,lr," #d "\n"
#define EK_PAIR_TWO_HALVES                                                                                   \
    EK_PAIR_NUMBERS EK_PAIR_OF_HALVES(r4, r5, r8, r9) EK_PAIR_OF_HALVES(r6, r7, r10, r11)
#define EK_PAIR_HALVES EK_PAIR_TWO_HALVES EK_PAIR_TWO_HALVES

/* r4 and r6, r8 and r10 are sums; r5 and r7, r9 and r11 have 256 times the sums beside them added to the same. */
#define EK_PAIR_OF_BYTES(word, a, b, c, d)                                                                   \
    "smlad " #b ",r2," #word "," #b "\n"                                                                     \
    "smlad " #d ",r3," #word "," #d "\n"                                                                     \
    "sxtb16 " #word "," #word "\n"                                                                           \
    "smlad " #a ",r2," #word "," #a "\n"                                                                     \
    "smlad " #c ",r3," #word "," #c "\n"
#define EK_PAIR_TWO_BYTES                                                                                    \
    EK_PAIR_NUMBERS "ldrd r12,lr,[r1],#8\n" EK_PAIR_OF_BYTES(r12, r4, r5, r8, r9)                            \
        EK_PAIR_OF_BYTES(lr, r6, r7, r10, r11)
#define EK_PAIR_BYTES EK_PAIR_TWO_BYTES EK_PAIR_TWO_BYTES

/* Biases become such sums, and sums are doubled in the end. */
#define EK_PAIR_BEGIN_HALVES
#define EK_PAIR_BEGIN_BYTES                                                                                  \
    "add r5, r4, r5, lsl #8\n"                                                                               \
    "add r7, r6, r7, lsl #8\n"                                                                               \
    "add r9, r8, r9, lsl #8\n"                                                                               \
    "add r11, r10, r11, lsl #8\n"
#define EK_PAIR_END_HALVES
#define EK_PAIR_END_BYTES_OF(a, b)                                                                           \
    "sub " #b "," #b "," #a "\n"                                                                             \
    "asr " #b "," #b ",#7\n"                                                                                 \
    "lsl " #a "," #a ",#1\n"
#define EK_PAIR_END_BYTES                                                                                    \
    EK_PAIR_END_BYTES_OF(r4, r5)                                                                             \
    EK_PAIR_END_BYTES_OF(r6, r7) EK_PAIR_END_BYTES_OF(r8, r9) EK_PAIR_END_BYTES_OF(r10, r11)

/* Two pixels: `WEIGHTS` is HALVES or BYTES, and `four` is the code for four numbers of both, `bytes` long; `requantize` is
 * `size` bytes of code for an output of both, behind `constants`, and `first` is that of the output that goes first, which
 * also loads r1 and r3; a result has 2^bits bytes.
 *
 * Called with  r0 numbers, r1 results of the first pixel, r2 the layer
 * Stack        0 end of the numbers, 4 numbers, 8 results, 12 from those to the second pixel's, 16 m, 20 e, 24 outputs
 *              left, 28 b, 32 offset, 36 shift, 40 the first four of a turn, 44 w
 * Products     r0 numbers, r1 w, r2 r3 two numbers of each, r4-r7 sums of the first, r8-r11 of the second, r12 lr weights
 * Rules        r0 behind the multipliers of the four outputs, r2 behind their exponents, r3 behind the results, r1 from
 *              those to the second pixel's: the last goes first, so that a block of less than four starts in the middle,
 *              at `size` bytes for each that is not there; lr offset, for rule E r2 shift. Flags are kept. Before the first
 *              output r1 and r3 are free, and r7 and r11 behind it. */
/* clang-format off */
#define EK_PIXEL_PAIR(WEIGHTS, four, bytes, bits, first, requantize, size, constants)                        \
    "push {r4-r11, lr}\n"                                                                                    \
    "ldm r2, {r4-r12}\n"                                                                                     \
    "sub sp, sp, #48\n"                                                                                      \
    "add lr, r0, r9\n"                                                                                       \
    "strd lr, r0, [sp]\n"                                                                                    \
    "strd r1, r12, [sp, #8]\n"                                                                               \
    "strd r6, r7, [sp, #16]\n"                                                                               \
    "strd r10, r5, [sp, #24]\n"                                                                              \
    "strd r8, r11, [sp, #32]\n"                                                                              \
    "rsb r9, r9, #0\n" /* fours that the first turn begins without */                                        \
    "ubfx r9, r9, #4, " EK_TURN_BITS "\n"                                                                    \
    "mov r12, #" #bytes "\n"                                                                                 \
    "adr.w r3, 2f\n"                                                                                         \
    "mla r9, r9, r12, r3\n"                                                                                  \
    "orr r9, r9, #1\n"                                                                                       \
    "str r9, [sp, #40]\n"                                                                                    \
    "mov r1, r4\n"                                                                                           \
    "1:\n" /* four outputs */                                                                                \
        "ldr r2, [sp, #28]\n"                                                                                \
        "ldr r0, [sp, #4]\n"                                                                                 \
        "ldm r2, {r4-r7}\n"                                                                                  \
        "ldm r2!, {r8-r11}\n"                                                                                \
        "str r2, [sp, #28]\n"                                                                                \
        EK_PAIR_BEGIN_##WEIGHTS                                                                              \
        "ldr pc, [sp, #40]\n"                                                                                \
        ".p2align 2\n"                                                                                       \
        EK_TURN(four)                                                                                        \
            EK_ASSEMBLY_SIZE(2, 3, bytes)                                                                    \
            "ldr r12, [sp]\n"                                                                                \
            "cmp r0, r12\n"                                                                                  \
            "bne 2b\n"                                                                                       \
        EK_PAIR_END_##WEIGHTS                                                                                \
        "str r1, [sp, #44]\n"                                                                                \
        "ldr lr, [sp, #24]\n"                                                                                \
        "ldrd r0, r2, [sp, #16]\n"                                                                           \
        "subs lr, lr, #4\n"                                                                                  \
        "str lr, [sp, #24]\n"                                                                                \
        "blt 5f\n"                                                                                           \
        "add r0, r0, #16\n"                                                                                  \
        "add r2, r2, #4\n"                                                                                   \
        "strd r0, r2, [sp, #16]\n"                                                                           \
        constants                                                                                            \
        first                                                                                                \
    "4:\n"                                                                                                   \
        requantize(r6, r10) requantize(r5, r9) requantize(r4, r8)                                            \
    "6:\n"                                                                                                   \
        EK_ASSEMBLY_SIZE(4, 6, 3 * size)                                                                     \
        "ldr r1, [sp, #44]\n"                                                                                \
        "bgt 1b\n"                                                                                           \
    "add sp, sp, #48\n"                                                                                      \
    "pop {r4-r11, pc}\n"                                                                                     \
    "5:\n" /* less than four outputs: into the middle, -lr - 1 times size behind 4 */                        \
        "ldrd r3, r1, [sp, #8]\n"                                                                            \
        "add r12, lr, #4\n"                                                                                  \
        "add r3, r3, r12, lsl #" #bits "\n"                                                                  \
        "add r0, r0, r12, lsl #2\n"                                                                          \
        "add r2, r2, r12\n"                                                                                  \
        "mvn r12, lr\n"                                                                                      \
        "mov lr, #" #size "\n"                                                                               \
        "mul r12, r12, lr\n"                                                                                 \
        "adr.w lr, 4b\n"                                                                                     \
        "add r12, r12, lr\n"                                                                                 \
        "orr r12, r12, #1\n"                                                                                 \
        constants                                                                                            \
        "bx r12\n"
/* clang-format on */

/* Results of the four outputs begin. */
#define EK_PAIR_RESULTS(bits)                                                                                \
    "ldrd r3,r1,[sp,#8]\n"                                                                                   \
    "add r3,r3,#4<<" #bits "\n"                                                                              \
    "str r3,[sp,#8]\n"
/* The output that goes first. */
#define EK_PAIR_FIRST_TFL EK_PAIR_RESULTS(0) EK_PAIR_TFL(r7, r11)
#define EK_PAIR_FIRST_TFL_UP EK_PAIR_UP(r7, r11, r1, r3) EK_PAIR_RESULTS(0) EK_PAIR_STORE_BYTES(r7, r11)
#define EK_PAIR_FIRST_E EK_PAIR_RESULTS(0) EK_PAIR_E(r7, r11)
#define EK_PAIR_FIRST_E_S16 EK_PAIR_RESULTS(1) EK_PAIR_E_S16(r7, r11)

#define EK_PAIR_CONSTANTS_tfl "ldr lr, [sp, #32]\n"
#define EK_PAIR_CONSTANTS_e "ldrd lr, r2, [sp, #32]\n"

/* Bytes of a weight. */
#define EK_PAIR_WEIGHT_HALVES 2
#define EK_PAIR_WEIGHT_BYTES 1

#define EK_PAIR_RULE(NAME, RULE, WEIGHTS, bytes, bits, requantize, size)                                     \
    enum { ek_requantize_##NAME##_weight = EK_PAIR_WEIGHT_##WEIGHTS };                                       \
    EK_CONSTANTS_DSP(NAME, RULE)                                                                             \
    static EK_ASSEMBLY void ek_requantize_##NAME##_pixels(const int32_t *numbers EK_IN_ASSEMBLY,             \
        void *y EK_IN_ASSEMBLY, const struct ek_pixel_pair *layer EK_IN_ASSEMBLY)                            \
    {                                                                                                        \
        __asm volatile(EK_PIXEL_PAIR(WEIGHTS, EK_PAIR_##WEIGHTS, bytes, bits, EK_PAIR_FIRST_##requantize,    \
            EK_PAIR_##requantize, size, EK_PAIR_CONSTANTS_##RULE));                                          \
    }

EK_PAIR_RULE(pair_tfl, tfl, HALVES, 88, 0, TFL, 56)
EK_PAIR_RULE(pair_tfl_up, tfl, HALVES, 88, 0, TFL_UP, 44)
EK_PAIR_RULE(pair_e, e, HALVES, 88, 0, E, 36)
EK_PAIR_RULE(pair_e_s16, e, HALVES, 88, 1, E_S16, 36)
EK_PAIR_RULE(pair_tfl_bytes, tfl, BYTES, 96, 0, TFL, 56)
EK_PAIR_RULE(pair_tfl_up_bytes, tfl, BYTES, 96, 0, TFL_UP, 44)
EK_PAIR_RULE(pair_e_bytes, e, BYTES, 96, 0, E, 36)
EK_PAIR_RULE(pair_e_bytes_s16, e, BYTES, 96, 1, E_S16, 36)

#endif
