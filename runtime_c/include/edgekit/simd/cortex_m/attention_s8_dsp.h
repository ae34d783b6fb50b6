/* Attention of two heads to keys and values of int8 that they share, with DSP instructions: what attention_s8.h says, each
 * step for both heads. Queries are spread to 16 bits, and the weights of both heads share a word.
 * stack 44 */
#ifndef EDGEKIT_ATTENTION_S8_DSP_H
#define EDGEKIT_ATTENTION_S8_DSP_H

#include "edgekit/loops/attention_s8.h"
#include "edgekit/simd/cortex_m/assembly.h"

/* What is known of a query after some keys. */
struct ek_attention_head_s8 {
    int32_t most;
    float total, shrink, grow;
};

/* Two queries, and some keys. */
struct ek_attention_pair_s8 {
    uint32_t up; /* the exponent of the largest scale of values, as its bits have it */
    int32_t keys;
    int32_t eights; /* of elements of a key */
    int32_t tops; /* exponents of the largest weights of these keys: of the first query in the lower half */
    float factor[2];
    int32_t sums[2]; /* of weights */
    int32_t powers[2 * EK_ATTENTION_KEYS]; /* of both queries, then weights in halves */
    struct ek_attention_head_s8 head[2];
};
EK_ASSEMBLY_OFFSETS(struct ek_attention_pair_s8, 0, up, keys, eights, tops);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair_s8, factor, 16);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair_s8, sums, 24);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair_s8, powers, 32);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair_s8, head, 544);

/* Four elements of both queries in turn: the first and the third, the second and the fourth. */
EK_INLINE void ek_a8_spread(const int8_t *q, const int8_t *other, int32_t *to, const int32_t size)
{
    for (int32_t i = 0; i < size; i += 4)
        __asm volatile("ldr r4, [%0], #4\n"
                       "ldr r5, [%1], #4\n"
                       "sxtb16 r6, r4, ror #8\n"
                       "sxtb16 r4, r4\n"
                       "strd r4, r6, [%2], #8\n"
                       "sxtb16 r6, r5, ror #8\n"
                       "sxtb16 r5, r5\n"
                       "strd r5, r6, [%2], #8"
            : "+r"(q), "+r"(other), "+r"(to)
            :
            : "r4", "r5", "r6", "memory");
}

#define EK_A8_FOUR                                                                                           \
    "ldr r10, [r1], #4\n"                                                                                    \
    "ldrd r8, r9, [r5], #8\n"                                                                                \
    "sxtb16 r11, r10, ror #8\n"                                                                              \
    "sxtb16 r10, r10\n"                                                                                      \
    "smlad r6, r8, r10, r6\n"                                                                                \
    "smlad r6, r9, r11, r6\n"                                                                                \
    "ldrd r8, r9, [r5], #8\n"                                                                                \
    "smlad r7, r8, r10, r7\n"                                                                                \
    "smlad r7, r9, r11, r7\n"

/* The powers of keys, and their largest exponents.
 *
 * Called with  r0 the spread queries, r1 keys, r2 their scales, r3 the pair
 * Registers    r3 powers, r4 their end, r5 queries, then a fraction, r6 r7 sums, then scores, r8-r12 what they are made of,
 *              lr the largest exponents */
/* clang-format off */
static EK_ASSEMBLY void ek_a8_scores(const int32_t *q EK_IN_ASSEMBLY, const int8_t *k EK_IN_ASSEMBLY,
    const float *k_scale EK_IN_ASSEMBLY, struct ek_attention_pair_s8 *pair EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r4-r11, lr}\n"
        "ldrd r4, r12, [r3, #4]\n"
        "push {r3, r12}\n"
        "vldr s0, [r3, #16]\n"
        "vldr s1, [r3, #20]\n"
        "add r3, r3, #32\n"
        "add r4, r3, r4, lsl #3\n"
        "mov lr, #0x80008000\n"
        "1:\n"
            "ldr r12, [sp, #4]\n"
            "mov r5, r0\n"
            "movs r6, #0\n"
            "movs r7, #0\n"
            "2:\n"
                EK_A8_FOUR EK_A8_FOUR
                "subs r12, r12, #1\n"
                "bne 2b\n"
            "vmov s4, s5, r6, r7\n"
            "vldm r2!, {s2}\n"
            "movw r8, #20352\n"
            "vcvt.f32.s32 s4, s4\n"
            "vcvt.f32.s32 s5, s5\n"
            "movw r9, #29426\n"
            "vmul.f32 s4, s4, s2\n"
            "vmul.f32 s5, s5, s2\n"
            "movw r10, #45224\n"
            "vmul.f32 s4, s4, s0\n"
            "vmul.f32 s5, s5, s1\n"
            "vcvt.s32.f32 s4, s4\n" /* the nearest end beyond the range, 0 for NaN */
            "vcvt.s32.f32 s5, s5\n"
            "vmov r6, r7, s4, s5\n"
            "ssat r6, #30, r6\n"
            "ssat r7, #30, r7\n"
            "ubfx r5, r6, #0, #15\n"
            "ubfx r12, r7, #0, #15\n"
            "smlawb r11, r8, r5, r9\n"
            "smlawb r8, r8, r12, r9\n"
            "mov r9, #32512\n"
            "smlawb r11, r11, r5, r10\n"
            "smlawb r8, r8, r12, r10\n"
            "smlawb r11, r11, r5, r9\n"
            "smlawb r8, r8, r12, r9\n"
            "pkhbt r5, r11, r6, lsl #1\n"
            "pkhbt r6, r8, r7, lsl #1\n"
            "strd r5, r6, [r3], #8\n"
            "pkhtb r6, r6, r5, asr #16\n"
            "ssub16 r7, lr, r6\n"
            "sel lr, lr, r6\n"
            "cmp r3, r4\n"
            "bne 1b\n"
        "pop {r3, r12}\n"
        "str lr, [r3, #12]\n"
        "pop {r4-r11, pc}\n");
}

#define EK_A8_WEIGHT(power, over, sum)                                                                       \
    "sub r10," over "," power ", asr #16\n"                                                                  \
    "usat r10, #6, r10\n"                                                                                    \
    "uxth " power "," power "\n"                                                                             \
    "lsrs " power "," power ", r10\n" /* what is shifted out last rounds it */                               \
    "adc " power "," power ", #0\n"                                                                          \
    "add " sum "," sum "," power "\n"                                                                        \
    "smlabb " power "," power ", r1, r11\n"

/* Powers become weights, with the scales of values in them; and their sums without these.
 *
 * Called with  r0 the scales, r1 the pair
 * Registers    r1 the ratio of scales, r2 keys, r3 powers, r4 weights, r5 the largest scale, r6 r7 1 more than the largest
 *              exponents, r8 r9 sums, r11 what rounds, r10 r12 lr powers */
static EK_ASSEMBLY void ek_a8_weights(
    const float *v_scale EK_IN_ASSEMBLY, struct ek_attention_pair_s8 *pair EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r1, r4-r11, lr}\n"
        "ldr r2, [r1, #4]\n"
        "mov r4, r0\n"
        "movs r5, #0\n"
        "1:\n"
            "ldr r6, [r4], #4\n"
            "cmp r5, r6, lsl #1\n"
            "it lo\n"
            "lsllo r5, r6, #1\n"
            "subs r2, r2, #1\n"
            "bne 1b\n"
        "lsr r5, r5, #24\n"
        "str r5, [r1]\n"
        "add r5, r5, #9\n"
        "ldr r2, [r1, #4]\n"
        "ldr r6, [r1, #12]\n"
        "add r3, r1, #32\n"
        "mov r4, r3\n"
        "sxth r7, r6\n"
        "asr r6, r6, #16\n"
        "add r7, r7, #1\n"
        "add r6, r6, #1\n"
        "mov r8, #0\n"
        "mov r9, #0\n"
        "mov r11, #16384\n"
        "2:\n"
            "ldr r1, [r0], #4\n"
            "ubfx r12, r1, #23, #8\n"
            "sub r12, r5, r12\n"
            "usat r12, #5, r12\n"
            "ubfx r1, r1, #0, #23\n"
            "orr r1, r1, #0x800000\n"
            "lsr r1, r1, r12\n"
            "ldrd r12, lr, [r3], #8\n"
            EK_A8_WEIGHT("r12", "r7", "r8")
            EK_A8_WEIGHT("lr", "r6", "r9")
            "lsl lr, lr, #1\n"
            "pkhtb r12, lr, r12, asr #15\n"
            "str r12, [r4], #4\n"
            "subs r2, r2, #1\n"
            "bne 2b\n"
        "pop {r1}\n"
        "strd r8, r9, [r1, #24]\n"
        "pop {r4-r11, pc}\n");
}

#define EK_A8_VALUES                                                                                         \
    "ldr r3, [r2], #4\n"                                                                                     \
    "ldr lr, [r0]\n"                                                                                         \
    "sxtb16 lr, lr\n"                                                                                        \
    "smlabb r4, r3, lr, r4\n"                                                                                \
    "smlabt r6, r3, lr, r6\n"                                                                                \
    "smlatb r8, r3, lr, r8\n"                                                                                \
    "smlatt r10, r3, lr, r10\n"                                                                              \
    "ldr lr, [r0]\n"                                                                                         \
    "add r0, r0, r1\n"                                                                                       \
    "sxtb16 lr, lr, ror #8\n"                                                                                \
    "smlabb r5, r3, lr, r5\n"                                                                                \
    "smlabt r7, r3, lr, r7\n"                                                                                \
    "smlatb r9, r3, lr, r9\n"                                                                                \
    "smlatt r11, r3, lr, r11\n"

/* Sums over keys of weights times values, of four columns and both queries.
 *
 * Called with  r0 values, r1 elements of a row, r2 the pair, r3 where the sums go
 * Registers    r2 weights, r12 their end, r3 those of a key, lr values, r4-r7 r8-r11 sums */
static EK_ASSEMBLY void ek_a8_sums(const int8_t *v EK_IN_ASSEMBLY, int32_t step EK_IN_ASSEMBLY,
    const struct ek_attention_pair_s8 *pair EK_IN_ASSEMBLY, int32_t *to EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r3-r11, lr}\n"
        "ldr r12, [r2, #4]\n"
        "mov r4, #0\n" "mov r5, #0\n" "mov r6, #0\n" "mov r7, #0\n"
        "mov r8, #0\n" "mov r9, #0\n" "mov r10, #0\n" "mov r11, #0\n"
        "add r2, r2, #32\n"
        "lsls r3, r12, #31\n"
        "add r12, r2, r12, lsl #2\n"
        "beq 1f\n"
        EK_A8_VALUES
        "cmp r2, r12\n"
        "beq 2f\n"
        "1:\n"
            EK_A8_VALUES EK_A8_VALUES
            "cmp r2, r12\n"
            "bne 1b\n"
        "2:\n"
        "pop {r3}\n"
        "stm r3, {r4-r11}\n"
        "pop {r4-r11, pc}\n");
}
/* clang-format on */

/* The keys join those before: y = shrink y + grow (sums), all columns of both queries. */
EK_INLINE void ek_a8_join(struct ek_attention_pair_s8 *pair, const int8_t *v, const int32_t values,
    float *EK_RESTRICT y, float *EK_RESTRICT z)
{
    for (int32_t h = 0; h < 2; h++) {
        struct ek_attention_head_s8 *head = pair->head + h;
        const int32_t top = h ? pair->tops >> 16 : (int16_t)(pair->tops & 0xFFFF);
        const int32_t above = top > head->most ? top : head->most;
        head->shrink = ek_attention_pow2(head->most - above);
        head->grow = pair->up == 255 ? EK_INF_f32 : ek_attention_pow2((int32_t)pair->up - 141 + top - above);
        head->total = head->total * head->shrink + (float)pair->sums[h] * ek_attention_pow2(top - above - 15);
        head->most = above;
    }
    const float shrink = pair->head[0].shrink, grow = pair->head[0].grow;
    const float other = pair->head[1].shrink, more = pair->head[1].grow;
    for (int32_t i = 0; i < values; i += 4) {
        int32_t sums[8];
        ek_a8_sums(v + i, values, pair, sums);
        for (int32_t c = 0; c < 4; c++) {
            y[i + c] = y[i + c] * shrink + (float)sums[c] * grow;
            z[i + c] = z[i + c] * other + (float)sums[4 + c] * more;
        }
    }
}

#endif
