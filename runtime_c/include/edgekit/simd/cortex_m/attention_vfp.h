/* Attention of two heads to keys and values that they share, with the scalar FPU of Cortex-M4, M7 and M33: VLDM loads a
 * row of eight, each product is a fused multiplication and addition. Weights of both heads lie side by side.
 * stack 84 */
#ifndef EDGEKIT_ATTENTION_VFP_H
#define EDGEKIT_ATTENTION_VFP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

#define EK_PAIR_KEYS 32 /* at a time */

/* Two queries: what is known of them after some keys. */
struct ek_attention_pair {
    float most[2]; /* the largest scores so far */
    float sum[2]; /* of weights */
    float scale; /* of scores, with log2(e) in it */
    int32_t keys; /* that are looked at now */
    float shrink[2]; /* the largest scores before these keys, then by how much what was added up shrinks */
    float w[2 * EK_PAIR_KEYS]; /* their scores, then weights */
};
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, most, 0);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, sum, 8);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, scale, 16);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, keys, 20);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, shrink, 24);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, w, 32);

/* The larger one of two floats, or the first where the other is NaN. FPUs of Cortex-M with float64 have FPv5. */
#if defined(__ARM_FEATURE_NUMERIC_MAXMIN) || (__ARM_FP & 8)
#define EK_VFP_LARGER(a, b) "vmaxnm.f32 " #a "," #a "," #b "\n"
#else
#define EK_VFP_LARGER(a, b)                                                                                  \
    "vcmp.f32 " #b "," #a "\n"                                                                               \
    "vmrs APSR_nzcv,FPSCR\n"                                                                                 \
    "it gt\n"                                                                                                \
    "vmovgt.f32 " #a "," #b "\n"
#endif

/* a is `least` where it is smaller; NaN stays. */
#define EK_VFP_AT_LEAST(a, least)                                                                            \
    "vcmp.f32 " #a "," #least "\n"                                                                           \
    "vmrs APSR_nzcv,FPSCR\n"                                                                                 \
    "it mi\n"                                                                                                \
    "vmovmi.f32 " #a "," #least "\n"

#define EK_PAIR_SCORE(q, other, k)                                                                           \
    "vfma.f32 s24," #q "," #k "\n"                                                                           \
    "vfma.f32 s25," #other "," #k "\n"

/* Scores of keys of eight numbers, and the largest ones.
 *
 * Called with  r0 q, r1 the other q, r2 keys, r3 the pair
 * Floats       s0-s7 q, s8-s15 the other q, both scaled, s16-s23 a key, s24 s25 scores, s26 s27 the largest ones */
/* clang-format off */
static EK_ASSEMBLY void ek_pair_scores(const float *q EK_IN_ASSEMBLY, const float *other EK_IN_ASSEMBLY,
    const float *k EK_IN_ASSEMBLY, struct ek_attention_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(
        "vpush {s16-s28}\n"
        "vldr s28, [r3, #16]\n"
        "vldm r0, {s0-s7}\n"
        "vldm r1, {s8-s15}\n"
        "vldm r3, {s26-s27}\n"
        "ldr r0, [r3, #20]\n"
        "add r12, r3, #32\n"
        "vmul.f32 s0, s0, s28\n" "vmul.f32 s1, s1, s28\n" "vmul.f32 s2, s2, s28\n" "vmul.f32 s3, s3, s28\n"
        "vmul.f32 s4, s4, s28\n" "vmul.f32 s5, s5, s28\n" "vmul.f32 s6, s6, s28\n" "vmul.f32 s7, s7, s28\n"
        "vmul.f32 s8, s8, s28\n" "vmul.f32 s9, s9, s28\n" "vmul.f32 s10, s10, s28\n" "vmul.f32 s11, s11, s28\n"
        "vmul.f32 s12, s12, s28\n" "vmul.f32 s13, s13, s28\n" "vmul.f32 s14, s14, s28\n" "vmul.f32 s15, s15, s28\n"
        "1:\n"
            "vldm r2!, {s16-s23}\n"
            "vmul.f32 s24, s0, s16\n"
            "vmul.f32 s25, s8, s16\n"
            EK_PAIR_SCORE(s1, s9, s17) EK_PAIR_SCORE(s2, s10, s18) EK_PAIR_SCORE(s3, s11, s19)
            EK_PAIR_SCORE(s4, s12, s20) EK_PAIR_SCORE(s5, s13, s21) EK_PAIR_SCORE(s6, s14, s22)
            EK_PAIR_SCORE(s7, s15, s23)
            "vstm r12!, {s24-s25}\n"
            EK_VFP_LARGER(s26, s24)
            EK_VFP_LARGER(s27, s25)
            "subs r0, r0, #1\n"
            "bne 1b\n"
        "vstm r3, {s26-s27}\n"
        "vpop {s16-s28}\n"
        "bx lr\n");
}

/* w = 2^(w - most), at least 2^-126, and adds them to the sums; NaN stays. x = n + r: a polynomial in r, and n is added to
 * its exponent.
 *
 * Called with  r0 w, r1 keys, r2 the pair, r3 what rounds, -126, and the coefficients
 * Floats       s0 s1 x, s2 s3 n, s4-s9 and s10-s15 the polynomials, s16 s17 most, s18 s19 sums, s20 what rounds, s21 -126 */
static EK_ASSEMBLY void ek_pair_weights(float *w EK_IN_ASSEMBLY, int32_t keys EK_IN_ASSEMBLY,
    struct ek_attention_pair *pair EK_IN_ASSEMBLY, const float *terms EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r4-r6, lr}\n"
        "vpush {s16-s21}\n"
        "mov r12, r3\n"
        "vldm r2, {s16-s19}\n"
        "vldm r12!, {s20-s21}\n"
        "1:\n"
            "vldm r0, {s0-s1}\n"
            "vldm r12, {s4-s9}\n"
            "vldm r12, {s10-s15}\n"
            "vsub.f32 s0, s0, s16\n"
            "vsub.f32 s1, s1, s17\n"
            EK_VFP_AT_LEAST(s0, s21)
            EK_VFP_AT_LEAST(s1, s21)
            "vadd.f32 s2, s0, s20\n"
            "vadd.f32 s3, s1, s20\n"
            "vmov r3, r4, s2, s3\n"
            "vsub.f32 s2, s2, s20\n"
            "vsub.f32 s3, s3, s20\n"
            "vsub.f32 s0, s0, s2\n"
            "vsub.f32 s1, s1, s3\n"
            "vfma.f32 s5, s4, s0\n"
            "vfma.f32 s11, s10, s1\n"
            "vfma.f32 s6, s5, s0\n"
            "vfma.f32 s12, s11, s1\n"
            "vfma.f32 s7, s6, s0\n"
            "vfma.f32 s13, s12, s1\n"
            "vfma.f32 s8, s7, s0\n"
            "vfma.f32 s14, s13, s1\n"
            "vfma.f32 s9, s8, s0\n"
            "vfma.f32 s15, s14, s1\n"
            "vmov r5, s9\n"
            "vmov r6, s15\n"
            "add r5, r5, r3, lsl #23\n"
            "add r6, r6, r4, lsl #23\n"
            "vmov s0, s1, r5, r6\n"
            "vadd.f32 s18, s18, s0\n"
            "vadd.f32 s19, s19, s1\n"
            "vstm r0!, {s0-s1}\n"
            "subs r1, r1, #1\n"
            "bne 1b\n"
        "add r2, r2, #8\n"
        "vstm r2, {s18-s19}\n"
        "vpop {s16-s21}\n"
        "pop {r4-r6, pc}\n");
}

#define EK_PAIR_VALUE(y, other, v)                                                                           \
    "vfma.f32 " #y ",s24," #v "\n"                                                                           \
    "vfma.f32 " #other ",s25," #v "\n"

/* y = shrink y + sum of w v for both heads, of values of eight numbers.
 *
 * Called with  r0 y, r1 the other y, r2 values, r3 the pair
 * Floats       s0-s7 y, s8-s15 the other y, s16-s23 values, s24 s25 weights */
static EK_ASSEMBLY void ek_pair_values(float *y EK_IN_ASSEMBLY, float *other EK_IN_ASSEMBLY,
    const float *v EK_IN_ASSEMBLY, const struct ek_attention_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r4, lr}\n"
        "vpush {s16-s25}\n"
        "add r12, r3, #24\n"
        "vldm r0, {s0-s7}\n"
        "vldm r1, {s8-s15}\n"
        "ldr r4, [r3, #20]\n"
        "vldm r12!, {s24-s25}\n"
        "vmul.f32 s0, s0, s24\n" "vmul.f32 s1, s1, s24\n" "vmul.f32 s2, s2, s24\n" "vmul.f32 s3, s3, s24\n"
        "vmul.f32 s4, s4, s24\n" "vmul.f32 s5, s5, s24\n" "vmul.f32 s6, s6, s24\n" "vmul.f32 s7, s7, s24\n"
        "vmul.f32 s8, s8, s25\n" "vmul.f32 s9, s9, s25\n" "vmul.f32 s10, s10, s25\n" "vmul.f32 s11, s11, s25\n"
        "vmul.f32 s12, s12, s25\n" "vmul.f32 s13, s13, s25\n" "vmul.f32 s14, s14, s25\n" "vmul.f32 s15, s15, s25\n"
        "1:\n"
            "vldm r2!, {s16-s23}\n"
            "vldm r12!, {s24-s25}\n"
            EK_PAIR_VALUE(s0, s8, s16) EK_PAIR_VALUE(s1, s9, s17) EK_PAIR_VALUE(s2, s10, s18)
            EK_PAIR_VALUE(s3, s11, s19) EK_PAIR_VALUE(s4, s12, s20) EK_PAIR_VALUE(s5, s13, s21)
            EK_PAIR_VALUE(s6, s14, s22) EK_PAIR_VALUE(s7, s15, s23)
            "subs r4, r4, #1\n"
            "bne 1b\n"
        "vstm r0, {s0-s7}\n"
        "vstm r1, {s8-s15}\n"
        "vpop {s16-s25}\n"
        "pop {r4, pc}\n");
}
/* clang-format on */

/* Weights of scores; what was added up of the sums so far shrinks. */
static EK_SHARED void ek_pair_softmax(struct ek_attention_pair *pair)
{
    static const float terms[] = {12582912.0f, -126.0f, 1.32647261e-3f, 9.67151299e-3f, 5.55073358e-2f,
        2.40222424e-1f, 6.93147004e-1f, 1.0f};
    const float sum = pair->sum[0], other = pair->sum[1];
    ek_pair_weights(pair->shrink, 1, pair, terms);
    pair->sum[0] = sum * pair->shrink[0];
    pair->sum[1] = other * pair->shrink[1];
    ek_pair_weights(pair->w, pair->keys, pair, terms);
}

#endif
