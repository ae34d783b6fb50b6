/* Fully connected layers of two rows that were quantized in this run, with the DSP instructions and the FPU of Cortex-M4, M7
 * and M33. Four outputs of one row stay in r4 to r7, those of the other one in r8 to r11: a weight is loaded and unpacked
 * once for both. Weights are those of dynamic_rows_dsp.h; the fours of both rows lie in turns. In front of a group are its
 * length and what these registers begin with.
 * stack 84 */
#ifndef EDGEKIT_DYNAMIC_TWO_ROWS_DSP_H
#define EDGEKIT_DYNAMIC_TWO_ROWS_DSP_H

#include "edgekit/simd/cortex_m/dynamic_rows_dsp.h"

struct ek_dynamic_two_rows {
    const void *w;
    const void *scale;
    const float *b;
    float *y0;
    float *y1;
    const int32_t *numbers;
    const int32_t *end; /* of the numbers */
    int32_t outputs;
    float s0; /* of the rows */
    float s1;
};
EK_ASSEMBLY_OFFSETS(struct ek_dynamic_two_rows, 0, w, scale, b, y0);
EK_ASSEMBLY_OFFSETS(struct ek_dynamic_two_rows, 16, y1, numbers, end, outputs);
EK_ASSEMBLY_OFFSET(struct ek_dynamic_two_rows, s0, 32);
EK_ASSEMBLY_OFFSET(struct ek_dynamic_two_rows, s1, 36);

/* Spreads bytes of two rows, whole fours, and adds them to their sums where `offset` asks for these. */
static inline int32_t *ek_two_rows_summed(
    const int8_t *x0, const int8_t *x1, int32_t *to, int32_t count, const int32_t offset, int32_t *sums)
{
    const int32_t ones = 0x00010001;
    for (; count > 0; count -= 4) {
        int32_t even0, odd0, even1, odd1;
        __asm volatile("ldr %[even0], [%[x0]], #4\n"
                       "ldr %[even1], [%[x1]], #4\n"
                       "sxtb16 %[odd0], %[even0], ror #8\n"
                       "sxtb16 %[odd1], %[even1], ror #8\n"
                       "sxtb16 %[even0], %[even0]\n"
                       "sxtb16 %[even1], %[even1]\n"
                       "strd %[even0], %[even1], [%[to]], #8\n"
                       "strd %[odd0], %[odd1], [%[to]], #8"
            : [x0] "+r"(x0), [x1] "+r"(x1), [to] "+r"(to), [even0] "=&r"(even0), [odd0] "=&r"(odd0),
            [even1] "=&r"(even1), [odd1] "=&r"(odd1)
            :
            : "memory");
        if (offset != 0)
            __asm volatile("smlad %[sum0], %[even0], %[ones], %[sum0]\n"
                           "smlad %[sum1], %[even1], %[ones], %[sum1]\n"
                           "smlad %[sum0], %[odd0], %[ones], %[sum0]\n"
                           "smlad %[sum1], %[odd1], %[ones], %[sum1]"
                : [sum0] "+r"(sums[0]), [sum1] "+r"(sums[1])
                :
                [ones] "r"(ones), [even0] "r"(even0), [odd0] "r"(odd0), [even1] "r"(even1), [odd1] "r"(odd1));
    }
    return to;
}

/* The numbers of a group of two rows, with all that is around them: returns where the next one begins. */
static EK_SHARED int32_t *ek_group_of_two_rows(
    const int8_t *x0, const int8_t *x1, const int32_t count, int32_t *const group, const int32_t offset)
{
    const int32_t whole = count / 4 * 4, rest = count - whole;
    int32_t sums[2] = {0, 0}, *const begin = group + 9;
    int32_t *to = ek_two_rows_summed(x0, x1, begin, whole, offset, sums);
    if (rest) {
        int8_t last[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (int32_t i = 0; i < rest; i++) {
            last[i] = x0[whole + i];
            last[4 + i] = x1[whole + i];
        }
        to = ek_two_rows_summed(last, last + 4, to, 4, offset, sums);
    }
    while ((to - begin) % 16 != 0)
        *to++ = 0;
    group[0] = (int32_t)(to - begin) * 4;
    for (int32_t r = 0; r < 2; r++) {
        int32_t *const first = group + 1 + 4 * r;
        first[0] = -offset * sums[r];
        first[1] = first[0] * (1 + 16);
        first[2] = first[3] = first[0] * (1 + 16 + 256);
    }
    return to;
}

/* Two numbers of each row times two weights of two outputs. No blanks, as C99 promises 4095 characters. */
#define EK_TWO_ROWS_PAIRS(word, a, b, c, d)                                                                  \
    "smlad " #b ",r2," #word "," #b "\n"                                                                     \
    "smlad " #d ",r3," #word "," #d "\n"                                                                     \
    "sxtb16 " #word "," #word "\n"                                                                           \
    "smlad " #a ",r2," #word "," #a "\n"                                                                     \
    "smlad " #c ",r3," #word "," #c "\n"
#define EK_TWO_ROWS_TWO_BYTES                                                                                \
    "ldrd r2,r3,[r0],#8\n"                                                                                   \
    "ldrd r12,lr,[r1],#8\n" EK_TWO_ROWS_PAIRS(r12, r4, r5, r8, r9) EK_TWO_ROWS_PAIRS(lr, r6, r7, r10, r11)
#define EK_TWO_ROWS_FOUR_BYTES EK_TWO_ROWS_TWO_BYTES EK_TWO_ROWS_TWO_BYTES

/* ... times two weights of four outputs. */
#define EK_TWO_ROWS_FOURS(word)                                                                              \
    "ldrd r2,r3,[r0],#8\n"                                                                                   \
    "smlad r7,r2," #word ",r7\n"                                                                             \
    "smlad r11,r3," #word ",r11\n"                                                                           \
    "bic " #word "," #word ",#0xF000F000\n"                                                                  \
    "smlad r6,r2," #word ",r6\n"                                                                             \
    "smlad r10,r3," #word ",r10\n"                                                                           \
    "uxtb16 " #word "," #word "\n"                                                                           \
    "smlad r5,r2," #word ",r5\n"                                                                             \
    "smlad r9,r3," #word ",r9\n"                                                                             \
    "and " #word "," #word ",#0x000F000F\n"                                                                  \
    "smlad r4,r2," #word ",r4\n"                                                                             \
    "smlad r8,r3," #word ",r8\n"
#define EK_TWO_ROWS_FOUR_NIBBLES "ldrd r12,lr,[r1],#8\n" EK_TWO_ROWS_FOURS(r12) EK_TWO_ROWS_FOURS(lr)

/* As many fours as a turn has. */
#ifdef __OPTIMIZE_SIZE__
#define EK_TWO_ROWS_TURN(FOUR) FOUR FOUR
#else
#define EK_TWO_ROWS_TURN(FOUR) FOUR FOUR FOUR FOUR
#endif

/* Two rows. VMLA rounds the product, too.
 *
 * Called with  r0 the rows
 * Stack        0 end of the group, 4 numbers, 8 end of the numbers, 12 scale, 16 b, 20 outputs left, 24 y0, 28 y1,
 *              32 scales of the rows, 40 zeros
 * Products     r0 numbers, r1 w, r2 r3 numbers, r4-r11 sums, r12 lr weights
 * Floats       s0-s3 sums, s4-s7 scales, s8-s11 and s12-s15 totals; then s4 s5 the scales of the rows */
/* clang-format off */
#define EK_DYNAMIC_TWO_ROWS(WEIGHTS, SCALES)                                                                 \
    "push {r4-r11, lr}\n"                                                                                    \
    "ldm r0, {r1-r10}\n" /* w, scale, b, y0, y1, numbers, end, outputs, s0, s1 */                            \
    "sub sp, sp, #48\n"                                                                                      \
    "strd r6, r7, [sp, #4]\n"                                                                                \
    "strd r2, r3, [sp, #12]\n"                                                                               \
    "str r8, [sp, #20]\n"                                                                                    \
    "strd r4, r5, [sp, #24]\n"                                                                               \
    "strd r9, r10, [sp, #32]\n"                                                                              \
    "mov r9, #0\n"                                                                                           \
    "strd r9, r9, [sp, #40]\n"                                                                               \
    "1:\n" /* four outputs */                                                                                \
        "ldr r0, [sp, #4]\n"                                                                                 \
        "vldr d4, [sp, #40]\n"                                                                               \
        "vldr d5, [sp, #40]\n"                                                                               \
        "vldr d6, [sp, #40]\n"                                                                               \
        "vldr d7, [sp, #40]\n"                                                                               \
        "3:\n" /* a group */                                                                                 \
            "ldm r0!, {r2, r4-r11}\n"                                                                        \
            "add r2, r2, r0\n"                                                                               \
            "str r2, [sp]\n"                                                                                 \
            "2:\n"                                                                                           \
                EK_TWO_ROWS_TURN(EK_TWO_ROWS_FOUR_##WEIGHTS)                                                 \
                "ldr r12, [sp]\n"                                                                            \
                "cmp r0, r12\n"                                                                              \
                "bne 2b\n"                                                                                   \
            "ldrd r3, r2, [sp, #8]\n"                                                                        \
            EK_ROW_SUMS_##WEIGHTS(r4, r5, r6, r7)                                                            \
            EK_ROW_SCALES_##SCALES                                                                           \
            "str r2, [sp, #12]\n"                                                                            \
            "vmla.f32 s8, s0, s4\n"                                                                          \
            "vmla.f32 s9, s1, s5\n"                                                                          \
            "vmla.f32 s10, s2, s6\n"                                                                         \
            "vmla.f32 s11, s3, s7\n"                                                                         \
            EK_ROW_SUMS_##WEIGHTS(r8, r9, r10, r11)                                                          \
            "cmp r0, r3\n"                                                                                   \
            "vmla.f32 s12, s0, s4\n"                                                                         \
            "vmla.f32 s13, s1, s5\n"                                                                         \
            "vmla.f32 s14, s2, s6\n"                                                                         \
            "vmla.f32 s15, s3, s7\n"                                                                         \
            "bne 3b\n"                                                                                       \
        "ldrd r2, r12, [sp, #16]\n"                                                                          \
        "ldrd r3, lr, [sp, #24]\n"                                                                           \
        "vldr d2, [sp, #32]\n"                                                                               \
        "vldm r2, {s0-s3}\n"                                                                                 \
        "subs r12, r12, #4\n"                                                                                \
        "vmla.f32 s0, s8, s4\n"                                                                              \
        "vmla.f32 s1, s9, s4\n"                                                                              \
        "vmla.f32 s2, s10, s4\n"                                                                             \
        "vmla.f32 s3, s11, s4\n"                                                                             \
        "vldm r2!, {s8-s11}\n"                                                                               \
        "vmla.f32 s8, s12, s5\n"                                                                             \
        "vmla.f32 s9, s13, s5\n"                                                                             \
        "vmla.f32 s10, s14, s5\n"                                                                            \
        "vmla.f32 s11, s15, s5\n"                                                                            \
        "blt 5f\n"                                                                                           \
        "vstm r3!, {s0-s3}\n"                                                                                \
        "vstm lr!, {s8-s11}\n"                                                                               \
        "strd r2, r12, [sp, #16]\n"                                                                          \
        "strd r3, lr, [sp, #24]\n"                                                                           \
        "bne 1b\n"                                                                                           \
    "b 4f\n"                                                                                                 \
    "5:\n" /* less than four outputs */                                                                      \
    "vstr s0, [r3]\n"                                                                                        \
    "vstr s8, [lr]\n"                                                                                        \
    "cmp r12, #-3\n"                                                                                         \
    "beq 4f\n"                                                                                               \
    "vstr s1, [r3, #4]\n"                                                                                    \
    "vstr s9, [lr, #4]\n"                                                                                    \
    "cmp r12, #-2\n"                                                                                         \
    "beq 4f\n"                                                                                               \
    "vstr s2, [r3, #8]\n"                                                                                    \
    "vstr s10, [lr, #8]\n"                                                                                   \
    "4:\n"                                                                                                   \
    "add sp, sp, #48\n"                                                                                      \
    "pop {r4-r11, pc}\n"
/* clang-format on */

static EK_ASSEMBLY void ek_s8f32_two_rows(const struct ek_dynamic_two_rows *rows EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_TWO_ROWS(BYTES, F32));
}

static EK_ASSEMBLY void ek_s8f16_two_rows(const struct ek_dynamic_two_rows *rows EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_TWO_ROWS(BYTES, F16));
}

static EK_ASSEMBLY void ek_s8bf16_two_rows(const struct ek_dynamic_two_rows *rows EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_TWO_ROWS(BYTES, BF16));
}

static EK_ASSEMBLY void ek_s4f32_two_rows(const struct ek_dynamic_two_rows *rows EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_TWO_ROWS(NIBBLES, F32));
}

static EK_ASSEMBLY void ek_s4f16_two_rows(const struct ek_dynamic_two_rows *rows EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_TWO_ROWS(NIBBLES, F16));
}

static EK_ASSEMBLY void ek_s4bf16_two_rows(const struct ek_dynamic_two_rows *rows EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_TWO_ROWS(NIBBLES, BF16));
}

#endif
