/* Fully connected layers of one row that was quantized in this run, with the DSP instructions and the FPU of Cortex-M4, M7
 * and M33. Four outputs stay in r4 to r7, eight numbers are loaded by one LDM.
 *
 * The numbers of the row are spread to 16 bits first, in fours: the first and the third, then the second and the fourth.
 * Each group has its length and what r4 to r7 begin with in front of its numbers, and zeros behind them, up to whole
 * sixteens.
 *
 * Weights of 8 bits lie in pairs of outputs, 256 w1 + w0 in 16 bits: SMLAD gives s0 + 256 s1, and with the lower bytes s0.
 * Those of 4 bits are four outputs in 16 bits, w0 + 16 w1 + 256 w2 + 4096 w3. All but w3 have 8 more, so that they have no
 * sign: SMLAD gives the sums of four outputs together, of three where the highest bits are cleared, of two, and of one. 8
 * times the sum of the group's numbers, which is too much then, is taken off before.
 * stack 76 */
#ifndef EDGEKIT_DYNAMIC_ROWS_DSP_H
#define EDGEKIT_DYNAMIC_ROWS_DSP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/simd/cortex_m/clamp_each.h"
#include "edgekit/types.h"

struct ek_dynamic_row {
    const void *w;
    const void *scale;
    const float *b;
    float *y;
    const int32_t *numbers;
    const int32_t *end; /* of the numbers */
    int32_t outputs;
    float s; /* of the row */
};
EK_ASSEMBLY_OFFSETS(struct ek_dynamic_row, 0, w, scale, b, y);
EK_ASSEMBLY_OFFSETS(struct ek_dynamic_row, 16, numbers, end, outputs, s);

/* Spreads bytes, whole fours, and adds them to a sum. */
static inline int32_t *ek_bytes_summed(const int8_t *x, int32_t *to, int32_t count, int32_t *sum)
{
    const int32_t ones = 0x00010001;
    int32_t odd, even, total = *sum;
    for (; count > 0; count -= 4)
        __asm volatile("ldr %[even], [%[x]], #4\n"
                       "sxtb16 %[odd], %[even], ror #8\n"
                       "sxtb16 %[even], %[even]\n"
                       "smlad %[total], %[odd], %[ones], %[total]\n"
                       "smlad %[total], %[even], %[ones], %[total]\n"
                       "strd %[even], %[odd], [%[to]], #8"
            : [x] "+r"(x), [to] "+r"(to), [total] "+r"(total), [odd] "=&r"(odd), [even] "=&r"(even)
            : [ones] "r"(ones)
            : "memory");
    *sum = total;
    return to;
}

/* What weights have more. */
enum {
    ek_s8f32_offset = 0,
    ek_s8f16_offset = 0,
    ek_s8bf16_offset = 0,
    ek_s4f32_offset = 8,
    ek_s4f16_offset = 8,
    ek_s4bf16_offset = 8
};

/* The numbers of a group, with all that is around them: returns where the next one begins. */
static EK_SHARED int32_t *ek_group_of_row(
    const int8_t *x, const int32_t count, int32_t *const group, const int32_t offset)
{
    const int32_t whole = count / 4 * 4, rest = count - whole;
    int32_t sum = 0, *to = ek_bytes_summed(x, group + 5, whole, &sum);
    if (rest) {
        int8_t last[4] = {0, 0, 0, 0};
        for (int32_t i = 0; i < rest; i++)
            last[i] = x[whole + i];
        to = ek_bytes_summed(last, to, 4, &sum);
    }
    while ((to - group - 5) % 8 != 0)
        *to++ = 0;
    group[0] = (int32_t)(to - group - 5) * 4;
    group[1] = -offset * sum;
    group[2] = group[1] * (1 + 16);
    group[3] = group[4] = group[1] * (1 + 16 + 256);
    return to;
}

/* Two numbers times two weights of two outputs, in r4 and r5 or in r6 and r7. C99 promises 4095 characters: no blanks. */
#define EK_ROW_PAIRS(numbers, word, a, b)                                                                    \
    "smlad " #b "," #numbers "," #word "," #b "\n"                                                           \
    "sxtb16 " #word "," #word "\n"                                                                           \
    "smlad " #a "," #numbers "," #word "," #a "\n"
#define EK_ROW_FOUR_BYTES(one, two)                                                                          \
    "ldm r1!,{r8-r11}\n" EK_ROW_PAIRS(one, r8, r4, r5) EK_ROW_PAIRS(one, r9, r6, r7)                         \
        EK_ROW_PAIRS(two, r10, r4, r5) EK_ROW_PAIRS(two, r11, r6, r7)
#define EK_ROW_EIGHT_BYTES "ldm r0!,{r2,r3,r12,lr}\n" EK_ROW_FOUR_BYTES(r2, r3) EK_ROW_FOUR_BYTES(r12, lr)

/* Two numbers times two weights of four outputs. */
#define EK_ROW_FOURS(numbers, word)                                                                          \
    "smlad r7," #numbers "," #word ",r7\n"                                                                   \
    "bic " #word "," #word ",#0xF000F000\n"                                                                  \
    "smlad r6," #numbers "," #word ",r6\n"                                                                   \
    "uxtb16 " #word "," #word "\n"                                                                           \
    "smlad r5," #numbers "," #word ",r5\n"                                                                   \
    "and " #word "," #word ",#0x000F000F\n"                                                                  \
    "smlad r4," #numbers "," #word ",r4\n"
#define EK_ROW_EIGHT_NIBBLES                                                                                 \
    "ldm r0!,{r2,r3,r12,lr}\n"                                                                               \
    "ldm r1!,{r8-r11}\n" EK_ROW_FOURS(r2, r8) EK_ROW_FOURS(r3, r9) EK_ROW_FOURS(r12, r10)                    \
        EK_ROW_FOURS(lr, r11)

/* Sums to floats, s0 to s3. */
#define EK_ROW_SUMS_BYTES(a, b, c, d)                                                                        \
    "sub " #b ", " #b ", " #a "\n"                                                                           \
    "sub " #d ", " #d ", " #c "\n"                                                                           \
    "vmov s0, s1, " #a ", " #b "\n"                                                                          \
    "vmov s2, s3, " #c ", " #d "\n"                                                                          \
    "vcvt.f32.s32 s0, s0\n"                                                                                  \
    "vcvt.f32.s32 s1, s1, #8\n"                                                                              \
    "vcvt.f32.s32 s2, s2\n"                                                                                  \
    "vcvt.f32.s32 s3, s3, #8\n"
#define EK_ROW_SUMS_NIBBLES(a, b, c, d)                                                                      \
    "sub " #d ", " #d ", " #c "\n"                                                                           \
    "sub " #c ", " #c ", " #b "\n"                                                                           \
    "sub " #b ", " #b ", " #a "\n"                                                                           \
    "vmov s0, s1, " #a ", " #b "\n"                                                                          \
    "vmov s2, s3, " #c ", " #d "\n"                                                                          \
    "vcvt.f32.s32 s0, s0\n"                                                                                  \
    "vcvt.f32.s32 s1, s1, #4\n"                                                                              \
    "vcvt.f32.s32 s2, s2, #8\n"                                                                              \
    "vcvt.f32.s32 s3, s3, #12\n"

/* The scales of four outputs, s4 to s7; r4 to r7 are lost. */
#define EK_ROW_SCALES_F32 "vldm r2!, {s4-s7}\n"
#define EK_ROW_SCALES_F16                                                                                    \
    "vldm r2!, {s4-s5}\n"                                                                                    \
    "vcvtb.f32.f16 s6, s5\n"                                                                                 \
    "vcvtt.f32.f16 s7, s5\n"                                                                                 \
    "vcvtt.f32.f16 s5, s4\n"                                                                                 \
    "vcvtb.f32.f16 s4, s4\n"
#define EK_ROW_SCALES_BF16                                                                                   \
    "ldm r2!, {r4, r6}\n"                                                                                    \
    "lsl r5, r4, #16\n"                                                                                      \
    "lsl r7, r6, #16\n"                                                                                      \
    "bfc r4, #0, #16\n"                                                                                      \
    "bfc r6, #0, #16\n"                                                                                      \
    "vmov s4, s5, r5, r4\n"                                                                                  \
    "vmov s6, s7, r7, r6\n"

/* A row. VMLA rounds the product, too.
 *
 * Called with  r0 the row
 * Stack        0 end of the group, 4 numbers, 8 end of the numbers, 12 scale, 16 b, 20 y, 24 outputs left, 32 zeros
 * Products     r0 numbers, r1 w, r2 r3 r12 lr numbers, r4-r7 sums, r8-r11 weights
 * Floats       s0-s3 sums, s4-s7 scales, s8-s11 totals, s12 the scale of the row */
/* clang-format off */
#define EK_DYNAMIC_ROW(WEIGHTS, SCALES)                                                                      \
    "push {r4-r11, lr}\n"                                                                                    \
    "ldm r0, {r1-r8}\n" /* w, scale, b, y, numbers, end, outputs, s */                                       \
    "sub sp, sp, #40\n"                                                                                      \
    "mov r9, #0\n"                                                                                           \
    "mov r10, #0\n"                                                                                          \
    "vmov s12, r8\n"                                                                                         \
    "strd r5, r6, [sp, #4]\n"                                                                                \
    "strd r2, r3, [sp, #12]\n"                                                                               \
    "strd r4, r7, [sp, #20]\n"                                                                               \
    "strd r9, r10, [sp, #32]\n"                                                                              \
    "1:\n" /* four outputs */                                                                                \
        "ldr r0, [sp, #4]\n"                                                                                 \
        "vldr d4, [sp, #32]\n"                                                                               \
        "vldr d5, [sp, #32]\n"                                                                               \
        "3:\n" /* a group */                                                                                 \
            "ldm r0!, {r2, r4-r7}\n"                                                                         \
            "add r2, r2, r0\n"                                                                               \
            "str r2, [sp]\n"                                                                                 \
            "2:\n"                                                                                           \
                EK_ROW_EIGHT_##WEIGHTS                                                                       \
                EK_ROW_EIGHT_##WEIGHTS                                                                       \
                "ldr r12, [sp]\n"                                                                            \
                "cmp r0, r12\n"                                                                              \
                "bne 2b\n"                                                                                   \
            "ldrd r3, r2, [sp, #8]\n"                                                                        \
            EK_ROW_SUMS_##WEIGHTS(r4, r5, r6, r7)                                                            \
            EK_ROW_SCALES_##SCALES                                                                           \
            "str r2, [sp, #12]\n"                                                                            \
            "cmp r0, r3\n"                                                                                   \
            "vmla.f32 s8, s0, s4\n"                                                                          \
            "vmla.f32 s9, s1, s5\n"                                                                          \
            "vmla.f32 s10, s2, s6\n"                                                                         \
            "vmla.f32 s11, s3, s7\n"                                                                         \
            "bne 3b\n"                                                                                       \
        "ldrd r2, r3, [sp, #16]\n"                                                                           \
        "ldr r12, [sp, #24]\n"                                                                               \
        "vldm r2!, {s0-s3}\n"                                                                                \
        "subs r12, r12, #4\n"                                                                                \
        "vmla.f32 s0, s8, s12\n"                                                                             \
        "vmla.f32 s1, s9, s12\n"                                                                             \
        "vmla.f32 s2, s10, s12\n"                                                                            \
        "vmla.f32 s3, s11, s12\n"                                                                            \
        "blt 5f\n"                                                                                           \
        "vstm r3!, {s0-s3}\n"                                                                                \
        "strd r2, r3, [sp, #16]\n"                                                                           \
        "str r12, [sp, #24]\n"                                                                               \
        "bne 1b\n"                                                                                           \
    "b 4f\n"                                                                                                 \
    "5:\n" /* less than four outputs */                                                                      \
    "vstr s0, [r3]\n"                                                                                        \
    "cmp r12, #-3\n"                                                                                         \
    "beq 4f\n"                                                                                               \
    "vstr s1, [r3, #4]\n"                                                                                    \
    "cmp r12, #-2\n"                                                                                         \
    "beq 4f\n"                                                                                               \
    "vstr s2, [r3, #8]\n"                                                                                    \
    "4:\n"                                                                                                   \
    "add sp, sp, #40\n"                                                                                      \
    "pop {r4-r11, pc}\n"
/* clang-format on */

static EK_ASSEMBLY void ek_s8f32_row(const struct ek_dynamic_row *row EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_ROW(BYTES, F32));
}

static EK_ASSEMBLY void ek_s8f16_row(const struct ek_dynamic_row *row EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_ROW(BYTES, F16));
}

static EK_ASSEMBLY void ek_s8bf16_row(const struct ek_dynamic_row *row EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_ROW(BYTES, BF16));
}

static EK_ASSEMBLY void ek_s4f32_row(const struct ek_dynamic_row *row EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_ROW(NIBBLES, F32));
}

static EK_ASSEMBLY void ek_s4f16_row(const struct ek_dynamic_row *row EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_ROW(NIBBLES, F16));
}

static EK_ASSEMBLY void ek_s4bf16_row(const struct ek_dynamic_row *row EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DYNAMIC_ROW(NIBBLES, BF16));
}

#endif
