/* Sums of products of floats for small cores with a scalar FPU of 32 registers: four outputs of one or two pixels stay
 * in registers. One VLDM loads the weights of four outputs for four inputs, and every product is one VFMA. Compilers
 * would not choose the registers so, and spill: hence assembly. */
#ifndef EDGEKIT_DOTS_F32_VFP_H
#define EDGEKIT_DOTS_F32_VFP_H

#include "edgekit/types.h"

#define EK_VFP_SHARED __attribute__((noinline, unused)) /* one copy for all layers */

/* The part of a window that lies in x: so many runs of neighbours in so many rows, and the bytes from the end of a run
 * to the next one. The functions below know the offsets of the fields. */
struct ek_cut_vfp {
    int32_t rows; /* no products at all if there are none */
    int32_t runs;
    int32_t run; /* elements, at least one */
    int32_t x_run;
    int32_t w_run;
    int32_t x_row; /* what is added behind the last run of a row */
    int32_t w_row;
};

/* Which taps of a window that starts at `start` lie within 0 to size - 1. */
struct ek_taps_vfp {
    int32_t first;
    int32_t count;
};

static inline struct ek_taps_vfp ek_taps_in_vfp(
    const int32_t start, const int32_t size, const int32_t taps, const int32_t dilation)
{
    struct ek_taps_vfp in = {0, taps};
    if (start < 0)
        in.first = (dilation - 1 - start) / dilation;
    if (start + (taps - 1) * dilation >= size)
        in.count = start < size ? (size - start + dilation - 1) / dilation : 0;
    in.count = in.count > in.first ? in.count - in.first : 0;
    return in;
}

/* Sums, put between bounds. */
static inline void ek_put_vfp(
    float *EK_RESTRICT y, const float *EK_RESTRICT sums, const int32_t count, const float lo, const float hi)
{
    for (int32_t o = 0; o < count; o++)
        y[o] = sums[o] < lo ? lo : sums[o] > hi ? hi : sums[o];
}

#define EK_VFP_TERM(sum, w, x) "vfma.f32 s" #sum ", s" #w ", s" #x "\n"
#define EK_VFP_FOUR(a, b, c, d, e, f, g, h, x)                                                               \
    EK_VFP_TERM(a, e, x) EK_VFP_TERM(b, f, x) EK_VFP_TERM(c, g, x) EK_VFP_TERM(d, h, x)

/* Four inputs a turn, those left over one by one; `x1_four`, `x1_one` and `x1_skip` are for the second pixel. */
#define EK_VFP_WALK(x1_four, fma_four, x1_one, fma_one, x1_run, x1_row)                                      \
    "ldr %[row], [%[cut]]\n"                                                                                 \
    "cmp %[row], #0\n"                                                                                       \
    "ble 7f\n"                                                                                               \
    "1:\n"                                                                                                   \
    "ldr %[column], [%[cut], #4]\n"                                                                          \
    "2:\n"                                                                                                   \
    "ldr %[left], [%[cut], #8]\n"                                                                            \
    "subs %[left], %[left], #4\n"                                                                            \
    "blt 4f\n"                                                                                               \
    "3:\n"                                                                                                   \
    "vldmia %[w]!, {s8-s23}\n"                                                                               \
    "vldmia %[x0]!, {s24-s27}\n" x1_four EK_VFP_FOUR(0, 1, 2, 3, 8, 9, 10, 11, 24)                           \
        EK_VFP_FOUR(0, 1, 2, 3, 12, 13, 14, 15, 25) EK_VFP_FOUR(0, 1, 2, 3, 16, 17, 18, 19, 26)              \
            EK_VFP_FOUR(0, 1, 2, 3, 20, 21, 22, 23, 27) fma_four                                             \
        "subs %[left], %[left], #4\n"                                                                        \
        "bge 3b\n"                                                                                           \
        "4:\n"                                                                                               \
        "adds %[left], %[left], #4\n"                                                                        \
        "beq 6f\n"                                                                                           \
        "5:\n"                                                                                               \
        "vldmia %[w]!, {s8-s11}\n"                                                                           \
        "vldmia %[x0]!, {s24}\n" x1_one EK_VFP_FOUR(0, 1, 2, 3, 8, 9, 10, 11, 24) fma_one                    \
        "subs %[left], %[left], #1\n"                                                                        \
        "bne 5b\n"                                                                                           \
        "6:\n"                                                                                               \
        "ldr %[left], [%[cut], #12]\n"                                                                       \
        "add %[x0], %[x0], %[left]\n" x1_run "ldr %[left], [%[cut], #16]\n"                                  \
        "add %[w], %[w], %[left]\n"                                                                          \
        "subs %[column], %[column], #1\n"                                                                    \
        "bne 2b\n"                                                                                           \
        "ldr %[left], [%[cut], #20]\n"                                                                       \
        "add %[x0], %[x0], %[left]\n" x1_row "ldr %[left], [%[cut], #24]\n"                                  \
        "add %[w], %[w], %[left]\n"                                                                          \
        "subs %[row], %[row], #1\n"                                                                          \
        "bne 1b\n"                                                                                           \
        "7:\n"

#define EK_VFP_X1_ADD "add %[x1], %[x1], %[left]\n"
#define EK_VFP_X1_FMA                                                                                        \
    EK_VFP_FOUR(4, 5, 6, 7, 8, 9, 10, 11, 28)                                                                \
    EK_VFP_FOUR(4, 5, 6, 7, 12, 13, 14, 15, 29)                                                              \
    EK_VFP_FOUR(4, 5, 6, 7, 16, 17, 18, 19, 30) EK_VFP_FOUR(4, 5, 6, 7, 20, 21, 22, 23, 31)
#define EK_VFP_REGISTERS                                                                                     \
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15",    \
        "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29",    \
        "s30", "s31"

/* sums[o] = b[o] + the products of x0 with output o of a block, for four outputs. */
static EK_VFP_SHARED void ek_dots_f32_vfp(
    const float *x0, const float *w, const float *b, float *sums, const struct ek_cut_vfp *cut)
{
    int32_t row, column, left;
    __asm__ volatile("vldmia %[b], {s0-s3}\n" EK_VFP_WALK("", "", "", "", "", "") "vstmia %[sums], {s0-s3}\n"
        : [x0] "+&r"(x0), [w] "+&r"(w), [row] "=&r"(row), [column] "=&r"(column), [left] "=&r"(left)
        : [b] "r"(b), [sums] "r"(sums), [cut] "r"(cut)
        : EK_VFP_REGISTERS, "cc", "memory");
}

/* The same for two pixels: sums[4] to sums[7] are those of x1. */
static EK_VFP_SHARED void ek_dots_f32_vfp_x2(const float *x0, const float *x1, const float *w, const float *b,
    float *sums, const struct ek_cut_vfp *cut)
{
    int32_t row, column, left;
    __asm__ volatile("vldmia %[b], {s0-s3}\n"
                     "vldmia %[b], {s4-s7}\n" EK_VFP_WALK("vldmia %[x1]!, {s28-s31}\n", EK_VFP_X1_FMA,
                         "vldmia %[x1]!, {s28}\n", EK_VFP_FOUR(4, 5, 6, 7, 8, 9, 10, 11, 28), EK_VFP_X1_ADD,
                         EK_VFP_X1_ADD) "vstmia %[sums], {s0-s7}\n"
        : [x0] "+&r"(x0), [x1] "+&r"(x1), [w] "+&r"(w), [row] "=&r"(row), [column] "=&r"(column),
        [left] "=&r"(left)
        : [b] "r"(b), [sums] "r"(sums), [cut] "r"(cut)
        : EK_VFP_REGISTERS, "cc", "memory");
}

/* Eight channels of two pixels, each with weights of its own, which lie one tap behind the other; from tap to tap of x
 * there are cut->x_run bytes. */
static EK_VFP_SHARED void ek_channels_f32_vfp_x2(const float *x0, const float *x1, const float *w,
    const float *b, float *sums, const struct ek_cut_vfp *cut)
{
    int32_t row, column, skip;
    __asm__ volatile(
        "vldmia %[b], {s0-s7}\n"
        "vldmia %[b], {s8-s15}\n"
        "ldr %[row], [%[cut]]\n"
        "cmp %[row], #0\n"
        "ble 3f\n"
        "1:\n"
        "ldr %[skip], [%[cut], #12]\n"
        "ldr %[column], [%[cut], #4]\n"
        "2:\n"
        "vldmia %[w]!, {s16-s23}\n"
        "vldmia %[x0], {s24-s31}\n"
        "add %[x0], %[x0], %[skip]\n" EK_VFP_TERM(0, 16, 24) EK_VFP_TERM(1, 17, 25) EK_VFP_TERM(2, 18,
            26) EK_VFP_TERM(3, 19, 27) EK_VFP_TERM(4, 20, 28) EK_VFP_TERM(5, 21, 29) EK_VFP_TERM(6, 22, 30)
            EK_VFP_TERM(7, 23, 31) "vldmia %[x1], {s24-s31}\n"
                                   "add %[x1], %[x1], %[skip]\n" EK_VFP_TERM(8, 16, 24) EK_VFP_TERM(9, 17, 25)
                                       EK_VFP_TERM(10, 18, 26) EK_VFP_TERM(11, 19, 27) EK_VFP_TERM(12, 20, 28)
                                           EK_VFP_TERM(13, 21, 29) EK_VFP_TERM(14, 22, 30)
                                               EK_VFP_TERM(15, 23, 31) "subs %[column], %[column], #1\n"
                                                                       "bne 2b\n"
                                                                       "ldr %[skip], [%[cut], #20]\n"
                                                                       "add %[x0], %[x0], %[skip]\n"
                                                                       "add %[x1], %[x1], %[skip]\n"
                                                                       "ldr %[skip], [%[cut], #24]\n"
                                                                       "add %[w], %[w], %[skip]\n"
                                                                       "subs %[row], %[row], #1\n"
                                                                       "bne 1b\n"
                                                                       "3:\n"
                                                                       "vstmia %[sums], {s0-s15}\n"
        : [x0] "+&r"(x0), [x1] "+&r"(x1), [w] "+&r"(w), [row] "=&r"(row), [column] "=&r"(column),
        [skip] "=&r"(skip)
        : [b] "r"(b), [sums] "r"(sums), [cut] "r"(cut)
        : EK_VFP_REGISTERS, "cc", "memory");
}
#endif
