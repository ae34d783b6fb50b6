/* Depthwise convolution of 3x3 taps with Helium, channel by channel: assembly, one copy for all layers. Four rows of a
 * channel are interleaved, so that a vector has 4x4 cells, four columns of four bytes. They hold the windows of two results
 * in each of two rows, and each is one dot product: with the taps, with them a column later, a row later, or both.
 * stack 100 */
#ifndef EDGEKIT_DEPTHWISE_K3X3_MVE_H
#define EDGEKIT_DEPTHWISE_K3X3_MVE_H

#include "edgekit/simd/cortex_m/copies_dsp.h"
#include "edgekit/simd/cortex_m/fixed_mve.h"
#include "edgekit/simd/cortex_m/mve.h"

/* A band of rows of y, in pairs, and all channels. The columns of all pairs lie one behind the other, with one of padding in
 * between. */
struct ek_band {
    int8_t *columns; /* the first is padding */
    const int8_t **rows; /* four of x for each pair, at the first channel; NULL outside of x */
    const uint16_t
        *places; /* of results in y, two rows of four columns each time; 0xFFFF where there is none */
    uint16_t *offsets; /* of eight cells of a row; they advance with the channels */
    int32_t pairs;
    int32_t width; /* columns of x, and of y */
    int32_t step; /* from a cell to the eighth after it */
    int32_t padding; /* four cells */
    const int8_t *w; /* of each channel, three columns of four */
    const int32_t *b;
    const int32_t *m;
    const int8_t *e;
    int8_t *y;
    int32_t blocks; /* of four columns, with padding */
    int32_t zero;
    int32_t hi;
    int32_t channels; /* counted down to 0 */
};
EK_ASSEMBLY_OFFSETS(struct ek_band, 0, columns, rows, places, offsets);
EK_ASSEMBLY_OFFSETS(struct ek_band, 16, pairs, width, step, padding);
EK_ASSEMBLY_OFFSETS(struct ek_band, 32, w, b, m, e);
EK_ASSEMBLY_OFFSETS(struct ek_band, 48, y, blocks, zero, hi);
EK_ASSEMBLY_OFFSET(struct ek_band, channels, 64);

/* The exponent of rule E is that of all channels; those of rules T advance. */
#define EK_BAND_EXPONENT_E                                                                                   \
    "ldrsb r11, [r0]\n"                                                                                      \
    "rsb r11, r11, #32\n"
#define EK_BAND_EXPONENT_TFL                                                                                 \
    "ldrsb r11, [r0], #1\n"                                                                                  \
    "str r0, [r12, #44]\n"

/* A row of eight cells that may be outside of x. */
#define EK_BAND_CELLS(to, row, done)                                                                         \
    "vmov " #to ", q7\n"                                                                                     \
    "cbz " #row ", " done "f\n"                                                                              \
    "vpst\n"                                                                                                 \
    "vldrbt.u16 " #to ", [" #row ", q4]\n" done ":\n"

/* Four rows of eight cells become eight columns. */
#define EK_BAND_INTERLEAVE                                                                                   \
    "vsli.16 q0, q2, #8\n"                                                                                   \
    "vsli.16 q1, q3, #8\n"                                                                                   \
    "vst20.16 {q0, q1}, [r1]\n"                                                                              \
    "vst21.16 {q0, q1}, [r1]!\n"                                                                             \
    "vadd.i16 q4, q4, r10\n"                                                                                 \
    "subs lr, lr, #8\n"

/* Sums of two columns in two rows. */
#define EK_BAND_DOTS(sum)                                                                                    \
    "vldrb.u8 q2, [r1], #8\n"                                                                                \
    "vmladav.s8 r0, q4, q2\n"                                                                                \
    "vmladav.s8 r2, q5, q2\n"                                                                                \
    "vmladav.s8 r4, q6, q2\n"                                                                                \
    "vmladav.s8 r6, q7, q2\n"                                                                                \
    "vmov " #sum "[2], " #sum "[0], r0, r4\n"                                                                \
    "vmov " #sum "[3], " #sum "[1], r2, r6\n"

/* Called with  r0 the band, then in r12
 * Columns      r0 those of a pair, r1 eight of them, r3 rows, r4-r7 the four of a pair, r8 pairs left, r9 width, r10 step,
 *              r11 padding, lr cells of a row left; q0-q3 cells, q4 their offsets, q6 those of the first ones, q7 padding
 * Results      r0 r2 r4 r6 dot products, r1 columns, r3 places, r5 y, r7 bias, r8 zero, r9 multiplier, r10 0xFFFF,
 *              r11 exponent, lr blocks; q0 q1 sums, q2 cells, q3 hi, q4-q7 taps: as they are, a column later, a row later,
 *              and both */
/* clang-format off */
#define EK_BAND(exponent, requantize)                                                                        \
    "push {r4-r11, lr}\n"                                                                                    \
    "vpush {d8-d15}\n"                                                                                       \
    "mov r12, r0\n"                                                                                          \
    "1:\n" /* a channel */                                                                                   \
        "ldrd r0, r3, [r12]\n"                                                                               \
        "add r2, r12, #16\n"                                                                                 \
        "ldm r2, {r8-r11}\n"                                                                                 \
        "ldr r1, [r12, #12]\n"                                                                               \
        "adds r0, #4\n"                                                                                      \
        "movs r2, #1\n"                                                                                      \
        "vldrh.u16 q6, [r1]\n"                                                                               \
        "vdup.16 q7, r11\n"                                                                                  \
        "vadd.i16 q4, q6, r2\n"                                                                              \
        "vstrh.16 q4, [r1]\n"                                                                                \
        "2:\n" /* a pair of rows */                                                                          \
            "ldm r3!, {r4-r7}\n"                                                                             \
            "vmov q4, q6\n"                                                                                  \
            "mov r1, r0\n"                                                                                   \
            "mov lr, r9\n"                                                                                   \
            "cbz r4, 4f\n"                                                                                   \
            "cbz r7, 4f\n"                                                                                   \
            "3:\n" /* eight cells of four rows of x */                                                       \
                "vctp.16 lr\n"                                                                               \
                "vpstttt\n"                                                                                  \
                "vldrbt.u16 q0, [r4, q4]\n"                                                                  \
                "vldrbt.u16 q2, [r5, q4]\n"                                                                  \
                "vldrbt.u16 q1, [r6, q4]\n"                                                                  \
                "vldrbt.u16 q3, [r7, q4]\n"                                                                  \
                EK_BAND_INTERLEAVE                                                                           \
                "bgt 3b\n"                                                                                   \
            "b 5f\n"                                                                                         \
            "4:\n" /* the same at the top or the bottom of x */                                              \
                "vctp.16 lr\n"                                                                               \
                EK_BAND_CELLS(q0, r4, "6") EK_BAND_CELLS(q2, r5, "7")                                        \
                EK_BAND_CELLS(q1, r6, "8") EK_BAND_CELLS(q3, r7, "9")                                        \
                EK_BAND_INTERLEAVE                                                                           \
                "bgt 4b\n"                                                                                   \
            "5:\n"                                                                                           \
            "add r0, r0, r9, lsl #2\n"                                                                       \
            "str r11, [r0], #4\n"                                                                            \
            "subs r8, r8, #1\n"                                                                              \
            "bne 2b\n"                                                                                       \
        "ldr r1, [r12, #32]\n"                                                                               \
        "movs r0, #12\n"                                                                                     \
        "vctp.8 r0\n"                                                                                        \
        "vpst\n"                                                                                             \
        "vldrbt.u8 q4, [r1], #12\n"                                                                          \
        "movs r0, #0\n"                                                                                      \
        "str r1, [r12, #32]\n"                                                                               \
        "vmov q5, q4\n"                                                                                      \
        "vmov q6, q4\n"                                                                                      \
        "vshlc q5, r0, #32\n"                                                                                \
        "vshlc q6, r0, #8\n"                                                                                 \
        "vmov q7, q5\n"                                                                                      \
        "vshlc q7, r0, #8\n"                                                                                 \
        "ldrd r1, r3, [r12, #36]\n"                                                                          \
        "ldr r7, [r1], #4\n"                                                                                 \
        "ldr r9, [r3], #4\n"                                                                                 \
        "strd r1, r3, [r12, #36]\n"                                                                          \
        "ldrd r0, r5, [r12, #44]\n"                                                                          \
        exponent                                                                                             \
        "add r1, r5, #1\n"                                                                                   \
        "str r1, [r12, #48]\n"                                                                               \
        "ldrd r0, r8, [r12, #52]\n"                                                                          \
        "ldr r2, [r12, #60]\n"                                                                               \
        "ldr r1, [r12]\n"                                                                                    \
        "ldr r3, [r12, #8]\n"                                                                                \
        "vdup.16 q3, r2\n"                                                                                   \
        "movw r10, #65535\n"                                                                                 \
        "dls lr, r0\n"                                                                                       \
        "5:\n" /* four columns of two rows of y */                                                           \
            EK_BAND_DOTS(q0)                                                                                 \
            EK_BAND_DOTS(q1)                                                                                 \
            "vadd.i32 q0, q0, r7\n"                                                                          \
            "vadd.i32 q1, q1, r7\n"                                                                          \
            requantize                                                                                       \
            "vqmovnb.s32 q0, q0\n"                                                                           \
            "vqmovnt.s32 q0, q1\n"                                                                           \
            "vldrh.u16 q1, [r3], #16\n"                                                                      \
            "vqadd.s16 q0, q0, r8\n"                                                                         \
            "vmin.s16 q0, q0, q3\n"                                                                          \
            "vqmovnb.s16 q0, q0\n"                                                                           \
            "vpt.i16 ne, q1, r10\n"                                                                          \
            "vstrbt.16 q0, [r5, q1]\n"                                                                       \
            "le lr, 5b\n"                                                                                    \
        "ldr r0, [r12, #64]\n"                                                                               \
        "subs r0, r0, #1\n"                                                                                  \
        "str r0, [r12, #64]\n"                                                                               \
        "bgt 1b\n"                                                                                           \
    "vpop {d8-d15}\n"                                                                                        \
    "pop {r4-r11, pc}\n"
/* clang-format on */

#define EK_BAND_RULE(NAME, exponent, requantize)                                                             \
    static EK_ASSEMBLY void ek_requantize_##NAME##_band(struct ek_band *band EK_IN_ASSEMBLY)                 \
    {                                                                                                        \
        __asm volatile(EK_BAND(exponent, requantize));                                                       \
    }

EK_BAND_RULE(e, EK_BAND_EXPONENT_E, EK_BAND_E)
EK_BAND_RULE(tfl, EK_BAND_EXPONENT_TFL, EK_BAND_TFL)
EK_BAND_RULE(tfl_up, EK_BAND_EXPONENT_TFL, EK_BAND_TFL_UP)

#endif
