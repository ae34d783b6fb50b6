/* Sums of products of floats for small cores with a scalar FPU of 32 registers: four outputs of one or two pixels stay
 * in registers. One VLDM loads the weights of four outputs for four inputs, and every product is one VFMA. Compilers
 * would not choose the registers so, and spill: hence assembly. */
#ifndef EDGEKIT_GEMM_F32_VFP_H
#define EDGEKIT_GEMM_F32_VFP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

#define EK_VFP_SHARED __attribute__((noinline, unused)) /* one copy for all layers */

/* Pixels that lie alike: the part of their windows inside of x is so many runs of neighbours in so many rows. Steps are
 * in bytes. */
struct ek_pixels_vfp {
    int32_t rows; /* no products at all if there are none */
    int32_t runs;
    int32_t run; /* elements, at least one */
    int32_t x_run; /* from the end of a run to the next one of its row */
    int32_t x_row; /* from the end of the last run of a row to the next row */
    int32_t w_row;
    int32_t x_step; /* from pixel to pixel */
    int32_t y_step;
    int32_t turns; /* how many pixels, or pairs of pixels */
    int32_t bounds; /* 0: none, 1: lo, 2: lo and hi */
    float lo;
    float hi;
    const float *b;
    int32_t saved[3]; /* registers: x, y, column */
};
/* Of these, assembly loads or stores two at once. */
EK_ASSEMBLY_OFFSET(struct ek_pixels_vfp, run, offsetof(struct ek_pixels_vfp, runs) + 4);
EK_ASSEMBLY_OFFSET(struct ek_pixels_vfp, w_row, offsetof(struct ek_pixels_vfp, x_row) + 4);
EK_ASSEMBLY_OFFSET(struct ek_pixels_vfp, saved[1], offsetof(struct ek_pixels_vfp, saved) + 4);

/* Names of the fields for assembly, and what else it reads: weights, and the pixels in `p`. */
#define EK_VFP_AT(field) "i"(offsetof(struct ek_pixels_vfp, field))
#define EK_VFP_INPUTS                                                                                        \
    [w] "r"(w), [p] "r"(p), [rows] EK_VFP_AT(rows), [runs] EK_VFP_AT(runs), [run] EK_VFP_AT(run),            \
        [x_run] EK_VFP_AT(x_run), [x_row] EK_VFP_AT(x_row), [x_step] EK_VFP_AT(x_step),                      \
        [y_step] EK_VFP_AT(y_step), [turns] EK_VFP_AT(turns), [bounds] EK_VFP_AT(bounds),                    \
        [lo] EK_VFP_AT(lo), [hi] EK_VFP_AT(hi), [b] EK_VFP_AT(b), [saved] EK_VFP_AT(saved),                  \
        [saved_y] EK_VFP_AT(saved[1]), [saved_column] EK_VFP_AT(saved[2])

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

/* How many windows from number `first` on are cut alike: all that lie within 0 to size - 1, or one. */
static inline int32_t ek_alike_vfp(
    const int32_t first, const int32_t windows, const int32_t stride, const int32_t start, const int32_t end)
{
    const int32_t left = windows - first, inside = start >= 0 && end >= 0 ? end / stride + 1 : 1;
    return inside < left ? inside : left;
}

/* An area of pixels that lie alike becomes lines of them, as long as can be: along its rows, or along its columns, or
 * all in one where each row goes on where the last one ended. */
struct ek_lines_vfp {
    int32_t count;
    int32_t pixels; /* of a line */
    int32_t x_step; /* from line to line, in bytes; that within lines is in the pixels */
    int32_t y_step;
};

static inline struct ek_lines_vfp ek_lines_in_vfp(
    const int32_t high, const int32_t wide, const int32_t x_row, const int32_t y_row, struct ek_pixels_vfp *p)
{
    struct ek_lines_vfp lines = {high, wide, x_row, y_row};
    if (x_row == wide * p->x_step && y_row == wide * p->y_step) {
        lines.count = 1;
        lines.pixels = high * wide;
    } else if (high > wide) {
        lines.count = wide;
        lines.pixels = high;
        lines.x_step = p->x_step;
        lines.y_step = p->y_step;
        p->x_step = x_row;
        p->y_step = y_row;
    }
    return lines;
}

/* For whom sums are put between bounds. */
static inline int32_t ek_bounds_vfp(const float lo, const float hi)
{
    return hi < EK_INF_f32 ? 2 : lo > -EK_INF_f32 ? 1 : 0;
}

/* sum = sum < s`lo` ? s`lo` : sum, and the same with the upper bound; NaN stays. */
#if defined(__ARM_FEATURE_NUMERIC_MAXMIN)
#define EK_VFP_LEAST(sum, lo)                                                                                \
    "vcmp.f32 s" #lo ", s" #sum "\nvmrs APSR_nzcv, fpscr\nvselgt.f32 s" #sum ", s" #lo ", s" #sum "\n"
#define EK_VFP_MOST(sum, hi)                                                                                 \
    "vcmp.f32 s" #sum ", s" #hi "\nvmrs APSR_nzcv, fpscr\nvselgt.f32 s" #sum ", s" #hi ", s" #sum "\n"
#else
#define EK_VFP_LEAST(sum, lo)                                                                                \
    "vcmp.f32 s" #sum ", s" #lo "\nvmrs APSR_nzcv, fpscr\nit mi\nvmovmi.f32 s" #sum ", s" #lo "\n"
#define EK_VFP_MOST(sum, hi)                                                                                 \
    "vcmp.f32 s" #sum ", s" #hi "\nvmrs APSR_nzcv, fpscr\nit gt\nvmovgt.f32 s" #sum ", s" #hi "\n"
#endif
#define EK_VFP_0_TO_3(bound, at) bound(0, at) bound(1, at) bound(2, at) bound(3, at)
#define EK_VFP_4_TO_7(bound, at) bound(4, at) bound(5, at) bound(6, at) bound(7, at)
#define EK_VFP_8_TO_15(bound, at)                                                                            \
    bound(8, at) bound(9, at) bound(10, at) bound(11, at) bound(12, at) bound(13, at) bound(14, at)          \
        bound(15, at)
#define EK_VFP_0_TO_7(bound, at) EK_VFP_0_TO_3(bound, at) EK_VFP_4_TO_7(bound, at)
#define EK_VFP_0_TO_15(bound, at) EK_VFP_0_TO_7(bound, at) EK_VFP_8_TO_15(bound, at)

/* Puts `sums` between the bounds, which come into s16 and s17. */
/* clang-format off */
#define EK_VFP_BOUND(sums)                                                                                   \
    "ldr %[left], [%[p], %[bounds]]\n"                                                                       \
    "cmp %[left], #0\n"                                                                                      \
    "beq 8f\n"                                                                                               \
    "vldr s16, [%[p], %[lo]]\n"                                                                              \
    sums(EK_VFP_LEAST, 16)                                                                                   \
    "cmp %[left], #2\n"                                                                                      \
    "bne 8f\n"                                                                                               \
    "vldr s17, [%[p], %[hi]]\n"                                                                              \
    sums(EK_VFP_MOST, 17)                                                                                    \
    "8:\n"

#define EK_VFP_NEXT_TURN                                                                                     \
    "ldr %[left], [%[p], %[turns]]\n"                                                                        \
    "subs %[left], %[left], #1\n"                                                                            \
    "str %[left], [%[p], %[turns]]\n"                                                                        \
    "bne 0b\n"

#define EK_VFP_NEXT_ROW(x1_add)                                                                              \
    "ldrd %[left], %[column], [%[p], %[x_row]]\n"                                                            \
    "add %[x0], %[x0], %[left]\n"                                                                            \
    x1_add                                                                                                   \
    "add %[w0], %[w0], %[column]\n"                                                                          \
    "subs %[row], %[row], #1\n"                                                                              \
    "bne 1b\n"

#define EK_VFP_TERM(sum, w, x) "vfma.f32 s" #sum ", s" #w ", s" #x "\n"
#define EK_VFP_FOUR(a, b, c, d, e, f, g, h, x)                                                               \
    EK_VFP_TERM(a, e, x) EK_VFP_TERM(b, f, x) EK_VFP_TERM(c, g, x) EK_VFP_TERM(d, h, x)

/* Four inputs a turn, those left over one by one; `x1_...` are for the second pixel.
 *
 * Operands   x0 x1 the pixels, w0 weights, row rows left, column runs left, left inputs left, then distances
 * Products   s0-s3 sums of the first pixel, s4-s7 of the second, s8-s23 weights of four inputs, s24-s27 and s28-s31 these */
#define EK_VFP_WALK(x1_four, fma_four, x1_one, fma_one, x1_add)                                              \
    "mov %[w0], %[w]\n"                                                                                      \
    "ldr %[row], [%[p], %[rows]]\n"                                                                          \
    "cmp %[row], #0\n"                                                                                       \
    "ble 7f\n"                                                                                               \
    "1:\n" /* a row */                                                                                       \
        "ldrd %[column], %[left], [%[p], %[runs]]\n"                                                         \
        "b 3f\n"                                                                                             \
        "2:\n" /* a run, but for the first one */                                                            \
            "ldr %[left], [%[p], %[x_run]]\n"                                                                \
            "add %[x0], %[x0], %[left]\n"                                                                    \
            x1_add                                                                                           \
            "ldr %[left], [%[p], %[run]]\n"                                                                  \
        "3:\n"                                                                                               \
            "subs %[left], %[left], #4\n"                                                                    \
            "blt 5f\n"                                                                                       \
            "4:\n" /* four inputs */                                                                         \
                "vldmia %[w0]!, {s8-s23}\n"                                                                  \
                "vldmia %[x0]!, {s24-s27}\n"                                                                 \
                x1_four                                                                                      \
                EK_VFP_FOUR(0, 1, 2, 3, 8, 9, 10, 11, 24)                                                    \
                EK_VFP_FOUR(0, 1, 2, 3, 12, 13, 14, 15, 25)                                                  \
                EK_VFP_FOUR(0, 1, 2, 3, 16, 17, 18, 19, 26)                                                  \
                EK_VFP_FOUR(0, 1, 2, 3, 20, 21, 22, 23, 27)                                                  \
                fma_four                                                                                     \
                "subs %[left], %[left], #4\n"                                                                \
                "bge 4b\n"                                                                                   \
            "5:\n"                                                                                           \
            "adds %[left], %[left], #4\n"                                                                    \
            "beq 6f\n"                                                                                       \
            "9:\n" /* one */                                                                                 \
                "vldmia %[w0]!, {s8-s11}\n"                                                                  \
                "vldmia %[x0]!, {s24}\n"                                                                     \
                x1_one                                                                                       \
                EK_VFP_FOUR(0, 1, 2, 3, 8, 9, 10, 11, 24)                                                    \
                fma_one                                                                                      \
                "subs %[left], %[left], #1\n"                                                                \
                "bne 9b\n"                                                                                   \
            "6:\n"                                                                                           \
            "subs %[column], %[column], #1\n"                                                                \
            "bne 2b\n"                                                                                       \
        EK_VFP_NEXT_ROW(x1_add)                                                                              \
    "7:\n"

#define EK_VFP_X1_FMA                                                                                        \
    EK_VFP_FOUR(4, 5, 6, 7, 8, 9, 10, 11, 28)                                                                \
    EK_VFP_FOUR(4, 5, 6, 7, 12, 13, 14, 15, 29)                                                              \
    EK_VFP_FOUR(4, 5, 6, 7, 16, 17, 18, 19, 30)                                                              \
    EK_VFP_FOUR(4, 5, 6, 7, 20, 21, 22, 23, 31)
/* clang-format on */
#define EK_VFP_REGISTERS                                                                                     \
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15",    \
        "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29",    \
        "s30", "s31"

/* clang-format off */
/* A function that adds the products of `walk` to `sums`, which begin with biases, for a pixel a turn. */
#define EK_VFP_ONE_PIXEL(NAME, type, sums, walk, bound)                                                      \
    static EK_VFP_SHARED void ek_##NAME##_vfp(                                                               \
        const float *x, const type *w, float *y, struct ek_pixels_vfp *p)                                    \
    {                                                                                                        \
        const float *x0;                                                                                     \
        const type *w0;                                                                                      \
        int32_t row, column, left;                                                                           \
        __asm__ volatile(                                                                                    \
            "0:\n" /* a pixel */                                                                             \
                "mov %[x0], %[x]\n"                                                                          \
                "ldr %[left], [%[p], %[x_step]]\n"                                                           \
                "add %[x], %[x], %[left]\n"                                                                  \
                "ldr %[left], [%[p], %[b]]\n"                                                                \
                "vldmia %[left], {" sums "}\n"                                                               \
                walk                                                                                         \
                EK_VFP_BOUND(bound)                                                                          \
                "ldr %[left], [%[p], %[y_step]]\n"                                                           \
                "vstmia %[y], {" sums "}\n"                                                                  \
                "add %[y], %[y], %[left]\n"                                                                  \
                EK_VFP_NEXT_TURN                                                                             \
            : [x] "+&r"(x), [y] "+&r"(y), [x0] "=&r"(x0), [w0] "=&r"(w0), [row] "=&r"(row),                  \
            [column] "=&r"(column), [left] "=&r"(left)                                                       \
            : EK_VFP_INPUTS                                                                                  \
            : EK_VFP_REGISTERS, "cc", "memory");                                                             \
    }

/* The same for two pixels a turn. */
#define EK_VFP_TWO_PIXELS(NAME, type, first, second, walk, bound)                                            \
    static EK_VFP_SHARED void ek_##NAME##_vfp_x2(                                                            \
        const float *x, const type *w, float *y, struct ek_pixels_vfp *p)                                    \
    {                                                                                                        \
        const float *x0, *x1;                                                                                \
        const type *w0;                                                                                      \
        int32_t row, column, left;                                                                           \
        __asm__ volatile(                                                                                    \
            "0:\n" /* two pixels */                                                                          \
                "mov %[x0], %[x]\n"                                                                          \
                "ldr %[left], [%[p], %[x_step]]\n"                                                           \
                "add %[x1], %[x], %[left]\n"                                                                 \
                "add %[x], %[x1], %[left]\n"                                                                 \
                "ldr %[left], [%[p], %[b]]\n"                                                                \
                "vldmia %[left], {" first "}\n"                                                              \
                "vldmia %[left], {" second "}\n"                                                             \
                walk                                                                                         \
                EK_VFP_BOUND(bound)                                                                          \
                "ldr %[left], [%[p], %[y_step]]\n"                                                           \
                "vstmia %[y], {" first "}\n"                                                                 \
                "add %[y], %[y], %[left]\n"                                                                  \
                "vstmia %[y], {" second "}\n"                                                                \
                "add %[y], %[y], %[left]\n"                                                                  \
                EK_VFP_NEXT_TURN                                                                             \
            : [x] "+&r"(x), [y] "+&r"(y), [x0] "=&r"(x0), [x1] "=&r"(x1), [w0] "=&r"(w0), [row] "=&r"(row),  \
            [column] "=&r"(column), [left] "=&r"(left)                                                       \
            : EK_VFP_INPUTS                                                                                  \
            : EK_VFP_REGISTERS, "cc", "memory");                                                             \
    }
/* clang-format on */

/* y[o] = b[o] + the products of x with output o of a block, for four outputs of each pixel. */
#define EK_VFP_X1_ADD "add %[x1], %[x1], %[left]\n"
#define EK_VFP_WALK_X2                                                                                       \
    EK_VFP_WALK("vldmia %[x1]!, {s28-s31}\n", EK_VFP_X1_FMA, "vldmia %[x1]!, {s28}\n",                       \
        EK_VFP_FOUR(4, 5, 6, 7, 8, 9, 10, 11, 28), EK_VFP_X1_ADD)
#define EK_VFP_WALK_X1 EK_VFP_WALK("", "", "", "", "")
EK_VFP_ONE_PIXEL(f32_dots, float, "s0-s3", EK_VFP_WALK_X1, EK_VFP_0_TO_3)
EK_VFP_TWO_PIXELS(f32_dots, float, "s0-s3", "s4-s7", EK_VFP_WALK_X2, EK_VFP_0_TO_7)

/* Weights of 16 bits: products are rounded before they are added, in the order of the simulator. The registers of x, y
 * and `column` are saved for a while, and serve weights. */
/* clang-format off */
#define EK_VFP_HALVES_bf16                                                                                   \
    "ldrd %[x], %[y], [%[w0]], #8\n"                                                                         \
    "lsl %[column], %[x], #16\n"                                                                             \
    "bfc %[x], #0, #16\n"                                                                                    \
    "vmov s8, s9, %[column], %[x]\n"                                                                         \
    "lsl %[column], %[y], #16\n"                                                                             \
    "bfc %[y], #0, #16\n"                                                                                    \
    "vmov s10, s11, %[column], %[y]\n"
#define EK_VFP_HALVES_f16                                                                                    \
    "vldmia %[w0]!, {s20-s21}\n"                                                                             \
    "vcvtb.f32.f16 s8, s20\n"                                                                                \
    "vcvtt.f32.f16 s9, s20\n"                                                                                \
    "vcvtb.f32.f16 s10, s21\n"                                                                               \
    "vcvtt.f32.f16 s11, s21\n"
#define EK_VFP_ROUNDED(a, b, c, d, x)                                                                        \
    "vmul.f32 s12, s8, s" #x "\n"                                                                            \
    "vmul.f32 s13, s9, s" #x "\n"                                                                            \
    "vmul.f32 s14, s10, s" #x "\n"                                                                           \
    "vmul.f32 s15, s11, s" #x "\n"                                                                           \
    "vadd.f32 s" #a ", s" #a ", s12\n"                                                                       \
    "vadd.f32 s" #b ", s" #b ", s13\n"                                                                       \
    "vadd.f32 s" #c ", s" #c ", s14\n"                                                                       \
    "vadd.f32 s" #d ", s" #d ", s15\n"

/* Products   s0-s3 sums of the first pixel, s4-s7 of the second, s8-s11 weights, s12-s15 products, s24 and s28 inputs */
#define EK_VFP_WALK_HALVES(halves, x1_one, x1_rounded, x1_add)                                               \
    "mov %[w0], %[w]\n"                                                                                      \
    "str %[x], [%[p], %[saved]]\n"                                                                           \
    "str %[y], [%[p], %[saved_y]]\n"                                                                         \
    "ldr %[row], [%[p], %[rows]]\n"                                                                          \
    "cmp %[row], #0\n"                                                                                       \
    "ble 7f\n"                                                                                               \
    "1:\n" /* a row */                                                                                       \
        "ldr %[column], [%[p], %[runs]]\n"                                                                   \
        "b 3f\n"                                                                                             \
        "2:\n" /* a run, but for the first one */                                                            \
            "ldr %[left], [%[p], %[x_run]]\n"                                                                \
            "add %[x0], %[x0], %[left]\n"                                                                    \
            x1_add                                                                                           \
        "3:\n"                                                                                               \
            "str %[column], [%[p], %[saved_column]]\n"                                                       \
            "ldr %[left], [%[p], %[run]]\n"                                                                  \
            "4:\n" /* an input */                                                                            \
                halves                                                                                       \
                "vldmia %[x0]!, {s24}\n"                                                                     \
                x1_one                                                                                       \
                EK_VFP_ROUNDED(0, 1, 2, 3, 24)                                                               \
                x1_rounded                                                                                   \
                "subs %[left], %[left], #1\n"                                                                \
                "bne 4b\n"                                                                                   \
            "ldr %[column], [%[p], %[saved_column]]\n"                                                       \
            "subs %[column], %[column], #1\n"                                                                \
            "bne 2b\n"                                                                                       \
        EK_VFP_NEXT_ROW(x1_add)                                                                              \
    "7:\n"                                                                                                   \
    "ldrd %[x], %[y], [%[p], %[saved]]\n"
/* clang-format on */
#define EK_VFP_WALK_HALVES_X2(halves)                                                                        \
    EK_VFP_WALK_HALVES(halves, "vldmia %[x1]!, {s28}\n", EK_VFP_ROUNDED(4, 5, 6, 7, 28), EK_VFP_X1_ADD)
#define EK_VFP_WALK_BF16 EK_VFP_WALK_HALVES(EK_VFP_HALVES_bf16, "", "", "")
#define EK_VFP_WALK_BF16_X2 EK_VFP_WALK_HALVES_X2(EK_VFP_HALVES_bf16)
#define EK_VFP_WALK_F16 EK_VFP_WALK_HALVES(EK_VFP_HALVES_f16, "", "", "")
#define EK_VFP_WALK_F16_X2 EK_VFP_WALK_HALVES_X2(EK_VFP_HALVES_f16)
EK_VFP_ONE_PIXEL(bf16_dots, uint16_t, "s0-s3", EK_VFP_WALK_BF16, EK_VFP_0_TO_3)
EK_VFP_TWO_PIXELS(bf16_dots, uint16_t, "s0-s3", "s4-s7", EK_VFP_WALK_BF16_X2, EK_VFP_0_TO_7)
EK_VFP_ONE_PIXEL(f16_dots, uint16_t, "s0-s3", EK_VFP_WALK_F16, EK_VFP_0_TO_3)
EK_VFP_TWO_PIXELS(f16_dots, uint16_t, "s0-s3", "s4-s7", EK_VFP_WALK_F16_X2, EK_VFP_0_TO_7)

/* `width` outputs of so many pixels: four, unless a block is the last one. */
#define EK_VFP_DEFINE_OUTPUTS(format, type)                                                                  \
    static EK_VFP_SHARED void ek_##format##_outputs_vfp(const float *x, const type *w, float *y,             \
        const int32_t width, int32_t pixels, struct ek_pixels_vfp *p)                                        \
    {                                                                                                        \
        const int32_t y_step = p->y_step;                                                                    \
        float few[8];                                                                                        \
        if (width >= 4) {                                                                                    \
            p->turns = pixels / 2;                                                                           \
            if (p->turns)                                                                                    \
                ek_##format##_dots_vfp_x2(x, w, y, p);                                                       \
            p->turns = pixels % 2;                                                                           \
            if (p->turns)                                                                                    \
                ek_##format##_dots_vfp(                                                                      \
                    x + (pixels - 1) * (p->x_step / 4), w, y + (pixels - 1) * (y_step / 4), p);              \
            p->turns = 0; /* behind the call: else it is a jump, and the stack of pairs is what decides */   \
            return;                                                                                          \
        }                                                                                                    \
        p->y_step = 4 * (int32_t)sizeof(float);                                                              \
        p->turns = 1;                                                                                        \
        for (; pixels > 0; pixels -= 2, x += 2 * (p->x_step / 4)) {                                          \
            if (pixels > 1)                                                                                  \
                ek_##format##_dots_vfp_x2(x, w, few, p);                                                     \
            else                                                                                             \
                ek_##format##_dots_vfp(x, w, few, p);                                                        \
            for (int32_t i = 0; i < 8 && i < 4 * pixels; i += 4, y += y_step / 4)                            \
                for (int32_t o = 0; o < width; o++)                                                          \
                    y[o] = few[i + o];                                                                       \
            p->turns = 1;                                                                                    \
        }                                                                                                    \
        p->y_step = y_step;                                                                                  \
    }
EK_VFP_DEFINE_OUTPUTS(f32, float)
EK_VFP_DEFINE_OUTPUTS(bf16, uint16_t)
EK_VFP_DEFINE_OUTPUTS(f16, uint16_t)

/* clang-format off */
/* Eight channels of each pixel, which have weights of their own, one tap behind the other. Runs are taps here, and
 * x_run is what lies between their starts.
 *
 * Operands   x0 x1 the pixels, w0 weights, row rows left, column taps left, left distances
 * Products   s0-s7 sums of the first pixel, s8-s15 of the second, s16-s23 weights, s24-s31 inputs */
#define EK_VFP_TAP(x, a, b, c, d, e, f, g, h)                                                                \
    "vldmia %[" #x "], {s24-s31}\n"                                                                          \
    "add %[" #x "], %[" #x "], %[left]\n"                                                                    \
    EK_VFP_TERM(a, 16, 24) EK_VFP_TERM(b, 17, 25) EK_VFP_TERM(c, 18, 26) EK_VFP_TERM(d, 19, 27)              \
    EK_VFP_TERM(e, 20, 28) EK_VFP_TERM(f, 21, 29) EK_VFP_TERM(g, 22, 30) EK_VFP_TERM(h, 23, 31)
#define EK_VFP_WALK_CHANNELS(x1_tap, x1_add)                                                                 \
    "mov %[w0], %[w]\n"                                                                                      \
    "ldr %[row], [%[p], %[rows]]\n"                                                                          \
    "cmp %[row], #0\n"                                                                                       \
    "ble 3f\n"                                                                                               \
    "1:\n" /* a row */                                                                                       \
        "ldr %[left], [%[p], %[x_run]]\n"                                                                    \
        "ldr %[column], [%[p], %[runs]]\n"                                                                   \
        "2:\n" /* a tap */                                                                                   \
            "vldmia %[w0]!, {s16-s23}\n"                                                                     \
            EK_VFP_TAP(x0, 0, 1, 2, 3, 4, 5, 6, 7)                                                           \
            x1_tap                                                                                           \
            "subs %[column], %[column], #1\n"                                                                \
            "bne 2b\n"                                                                                       \
        EK_VFP_NEXT_ROW(x1_add)                                                                              \
    "3:\n"
/* clang-format on */
#define EK_VFP_X1_TAP EK_VFP_TAP(x1, 8, 9, 10, 11, 12, 13, 14, 15)
#define EK_VFP_WALK_CHANNELS_X2 EK_VFP_WALK_CHANNELS(EK_VFP_X1_TAP, EK_VFP_X1_ADD)
#define EK_VFP_WALK_CHANNELS_X1 EK_VFP_WALK_CHANNELS("", "")
EK_VFP_ONE_PIXEL(channels_f32, float, "s0-s7", EK_VFP_WALK_CHANNELS_X1, EK_VFP_0_TO_7)
EK_VFP_TWO_PIXELS(channels_f32, float, "s0-s7", "s8-s15", EK_VFP_WALK_CHANNELS_X2, EK_VFP_0_TO_15)

/* Eight channels of so many pixels. */
static EK_VFP_SHARED void ek_eight_f32_vfp(
    const float *x, const float *w, float *y, const int32_t pixels, struct ek_pixels_vfp *p)
{
    p->turns = pixels / 2;
    if (p->turns)
        ek_channels_f32_vfp_x2(x, w, y, p);
    p->turns = pixels % 2;
    if (p->turns)
        ek_channels_f32_vfp(x + (pixels - 1) * (p->x_step / 4), w, y + (pixels - 1) * (p->y_step / 4), p);
}

#endif
