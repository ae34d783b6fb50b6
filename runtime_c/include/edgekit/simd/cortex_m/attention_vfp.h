/* Attention of two heads to keys and values that they share, with the scalar FPU of Cortex-M4, M7 and M33: VLDM loads a
 * row of eight, each product is a VMLA, which rounds before it adds, as other processors do in two instructions: sums have the order,
 * and results the bits, of portable C. Weights of both heads lie side by side.
 * stack 64 */
#ifndef EDGEKIT_ATTENTION_VFP_H
#define EDGEKIT_ATTENTION_VFP_H

#include "edgekit/cache.h"
#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/simd/cortex_m/exp2_vfp.h"
#include "edgekit/simd/cortex_m/vmla.h"
#include "edgekit/types.h"

/* Two queries: what is known of them after some keys. */
struct ek_attention_pair {
    float most[2]; /* the largest scores so far */
    float sum[2]; /* of weights */
    float scale; /* of scores */
    int32_t keys; /* that are looked at now */
    float shrink[2]; /* the largest scores before these keys, then by how much what was added up shrinks */
    float w[2 * EK_CACHE_BLOCK]; /* their scores, then weights */
};
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, most, 0);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, sum, 8);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, scale, 16);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, keys, 20);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, shrink, 24);
EK_ASSEMBLY_OFFSET(struct ek_attention_pair, w, 32);

/* EK_VFP_LARGER: a is b where that is larger; NaN in b changes nothing.
 * EK_VFP_AT_LEAST: a is `least` where it is smaller. NaN stays, or makes `total` NaN, where numbers are added up: none is
 * above 0, so that nothing but NaN does. EK_VFP_NAN_OF: then so is the sum. */
#if EK_VFP_IS_FPV5
#define EK_VFP_LARGER(a, b) "vmaxnm.f32 " #a "," #a "," #b "\n"
#define EK_VFP_AT_LEAST(a, least, total)                                                                     \
    "vadd.f32 " #total "," #total "," #a "\n"                                                                \
    "vmaxnm.f32 " #a "," #a "," #least "\n"
#define EK_VFP_NAN_OF(sum, total)                                                                            \
    "vcmp.f32 " #total "," #total "\n"                                                                       \
    "vmrs APSR_nzcv,FPSCR\n"                                                                                 \
    "vselvs.f32 " #sum "," #total "," #sum "\n"
#else
#define EK_VFP_LARGER(a, b)                                                                                  \
    "vcmp.f32 " #b "," #a "\n"                                                                               \
    "vmrs APSR_nzcv,FPSCR\n"                                                                                 \
    "it gt\n"                                                                                                \
    "vmovgt.f32 " #a "," #b "\n"
#define EK_VFP_AT_LEAST(a, least, total)                                                                     \
    "vcmp.f32 " #a "," #least "\n"                                                                           \
    "vmrs APSR_nzcv,FPSCR\n"                                                                                 \
    "it mi\n"                                                                                                \
    "vmovmi.f32 " #a "," #least "\n"
#define EK_VFP_NAN_OF(sum, total)
#endif

/* The product of eight numbers from q0 to q7 and the key, in four sums, the first of them `to`. */
#define EK_PAIR_SCORE(to, b, c, d, q0, q1, q2, q3, q4, q5, q6, q7)                                           \
    "vmul.f32 " #to "," #q0 ",s16\n"                                                                         \
    "vmul.f32 " #b "," #q1 ",s17\n"                                                                          \
    "vmul.f32 " #c "," #q2 ",s18\n"                                                                          \
    "vmul.f32 " #d "," #q3 ",s19\n"                                                                          \
    "vmla.f32 " #to "," #q4 ",s20\n"                                                                         \
    "vmla.f32 " #b "," #q5 ",s21\n"                                                                          \
    "vmla.f32 " #c "," #q6 ",s22\n"                                                                          \
    "vmla.f32 " #d "," #q7 ",s23\n"                                                                          \
    "vadd.f32 " #to "," #to "," #b "\n"                                                                      \
    "vadd.f32 " #c "," #c "," #d "\n"                                                                        \
    "vadd.f32 " #to "," #to "," #c "\n"

/* Scores of keys of eight numbers, and the largest ones.
 *
 * Called with  r0 q, r1 the other q, r2 keys, r3 the pair
 * Floats       s0-s7 q, s8-s15 the other q, s16-s23 a key, s24 s25 scores, s26-s28 sums, s29 s30 the largest ones, s31 the
 *              scale */
/* clang-format off */
static EK_ASSEMBLY void ek_pair_scores(const float *q EK_IN_ASSEMBLY, const float *other EK_IN_ASSEMBLY,
    const float *k EK_IN_ASSEMBLY, struct ek_attention_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(
        "vpush {s16-s31}\n"
        "vldm r0, {s0-s7}\n"
        "vldm r1, {s8-s15}\n"
        "vldm r3, {s29-s30}\n"
        "vldr s31, [r3, #16]\n"
        "ldr r0, [r3, #20]\n"
        "add r12, r3, #32\n"
        "1:\n"
            "vldm r2!, {s16-s23}\n"
            EK_PAIR_SCORE(s24, s26, s27, s28, s0, s1, s2, s3, s4, s5, s6, s7)
            EK_PAIR_SCORE(s25, s26, s27, s28, s8, s9, s10, s11, s12, s13, s14, s15)
            "vmul.f32 s24, s24, s31\n"
            "vmul.f32 s25, s25, s31\n"
            "vstm r12!, {s24-s25}\n"
            EK_VFP_LARGER(s29, s24)
            EK_VFP_LARGER(s30, s25)
            "subs r0, r0, #1\n"
            "bne 1b\n"
        "vstm r3, {s29-s30}\n"
        "vpop {s16-s31}\n"
        "bx lr\n");
}

/* w = 2^(w - most), at least 2^-126, and adds them to the sums, which are NaN where a w is.
 *
 * Called with  r0 w, r1 keys, r2 the pair, r3 what rounds, -126, two zeros, and the coefficients
 * Integers     r4 r12 whole parts, r5 r6 w
 * Floats       s0 s1 x, s2 s3 whole parts, s4-s17 polynomials, s18 s19 most, s20 s21 sums, s22 what rounds, s23 -126,
 *              s24 s25 totals of x */
static EK_ASSEMBLY void ek_pair_weights(float *w EK_IN_ASSEMBLY, int32_t keys EK_IN_ASSEMBLY,
    struct ek_attention_pair *pair EK_IN_ASSEMBLY, const float *terms EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r4-r6, lr}\n"
        "vpush {s16-s25}\n"
        "vldm r2, {s18-s21}\n"
        "vldm r3!, {s22-s25}\n"
        "1:\n"
            "vldm r0, {s0-s1}\n"
            "vsub.f32 s0, s0, s18\n"
            "vsub.f32 s1, s1, s19\n"
            EK_VFP_AT_LEAST(s0, s23, s24)
            EK_VFP_AT_LEAST(s1, s23, s25)
            EK_EXP2_PAIR(s0, s1, r3, s2, s3, s22, r4, r12, r5, r6)
            "vmov s0, s1, r5, r6\n"
            "vadd.f32 s20, s20, s0\n"
            "vadd.f32 s21, s21, s1\n"
            "vstm r0!, {s0-s1}\n"
            "subs r1, r1, #1\n"
            "bne 1b\n"
        EK_VFP_NAN_OF(s20, s24)
        EK_VFP_NAN_OF(s21, s25)
        "add r2, r2, #8\n"
        "vstm r2, {s20-s21}\n"
        "vpop {s16-s25}\n"
        "pop {r4-r6, pc}\n");
}

#define EK_PAIR_VALUE(y, other, v)                                                                           \
    "vmla.f32 " #y ",s24," #v "\n"                                                                           \
    "vmla.f32 " #other ",s25," #v "\n"

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
    static const float terms[] = {EK_EXP2_ROUNDS, -126.0f, 0, 0, EK_EXP2_TERMS};
    const float sum = pair->sum[0], other = pair->sum[1];
    ek_pair_weights(pair->shrink, 1, pair, terms);
    pair->sum[0] = sum * pair->shrink[0];
    pair->sum[1] = other * pair->shrink[1];
    ek_pair_weights(pair->w, pair->keys, pair, terms);
}

#endif
