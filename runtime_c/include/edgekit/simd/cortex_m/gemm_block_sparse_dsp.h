/* Sums of products like those of gemm_dsp.h, with weights of which whole blocks, four inputs of an output, are zero
 * and left out. Blocks go in pairs, two pairs a turn; an odd one is half a turn. */
#ifndef EDGEKIT_GEMM_BLOCK_SPARSE_DSP_H
#define EDGEKIT_GEMM_BLOCK_SPARSE_DSP_H

#include "edgekit/simd/cortex_m/gemm_dsp.h"

/* A block: where its inputs are, and four weights: even ones and odd ones of 16 bits, or bytes.
 * %0 sum, %1 weights, %3 x; r4 the place of the inputs, then the odd ones; r8 the even ones of them; r5, r6 weights:
 * the even and the odd ones, or four bytes and then the odd and the even ones. */
#define EK_BLOCK_PAIRS                                                                                       \
    "ldm %1!, {r4, r5, r6}\n"                                                                                \
    "ldr r4, [%3, r4]\n"                                                                                     \
    "sxtb16 r8, r4\n"                                                                                        \
    "sxtb16 r4, r4, ror #8\n"                                                                                \
    "smlad %0, r8, r5, %0\n"                                                                                 \
    "smlad %0, r4, r6, %0\n"
#define EK_BLOCK_BYTES                                                                                       \
    "ldm %1!, {r4, r5}\n"                                                                                    \
    "ldr r4, [%3, r4]\n"                                                                                     \
    "sxtb16 r8, r4\n"                                                                                        \
    "sxtb16 r6, r5\n"                                                                                        \
    "sxtb16 r4, r4, ror #8\n"                                                                                \
    "sxtb16 r5, r5, ror #8\n"                                                                                \
    "smlad %0, r8, r6, %0\n"                                                                                 \
    "smlad %0, r4, r5, %0\n"

/* The sum of an output: %2 pairs of blocks that are left; an odd one starts in the middle of a turn. */
/* clang-format off */
#define EK_BLOCKS_SUM(NAME, block)                                                                           \
    static inline int32_t ek_##NAME##_sum(const void *x, const int32_t **w, int32_t sum)                     \
    {                                                                                                        \
        const int32_t *from = *w;                                                                            \
        int32_t pairs = *from++;                                                                             \
        __asm(                                                                                               \
            "lsls r4, %2, #31\n"                                                                             \
            "bne 2f\n"                                                                                       \
            "1:\n"                                                                                           \
                block block                                                                                  \
            "2:\n"                                                                                           \
                block block                                                                                  \
                "subs %2, %2, #2\n"                                                                          \
                "bgt 1b\n"                                                                                   \
            : "+r"(sum), "+r"(from), "+r"(pairs)                                                             \
            : "r"(x)                                                                                         \
            : "r4", "r5", "r6", "r8", "cc", "memory");                                                       \
        *w = from;                                                                                           \
        return sum;                                                                                          \
    }
/* clang-format on */
EK_BLOCKS_SUM(blocks, EK_BLOCK_PAIRS)
EK_BLOCKS_SUM(blocks_bytes, EK_BLOCK_BYTES)

/* The same of two pixels at once: %0, %1 sums, %2 weights, %4, %5 pixels; r4 the place of the inputs, then those of the
 * second pixel; r8 those of the first, r9 the even ones of either; r5 even weights, r6 odd ones. */
#define EK_TWO_PIXELS                                                                                        \
    "ldr r8, [%4, r4]\n"                                                                                     \
    "ldr r4, [%5, r4]\n"                                                                                     \
    "sxtb16 r9, r8\n"                                                                                        \
    "sxtb16 r8, r8, ror #8\n"                                                                                \
    "smlad %0, r9, r5, %0\n"                                                                                 \
    "smlad %0, r8, r6, %0\n"                                                                                 \
    "sxtb16 r9, r4\n"                                                                                        \
    "sxtb16 r4, r4, ror #8\n"                                                                                \
    "smlad %1, r9, r5, %1\n"                                                                                 \
    "smlad %1, r4, r6, %1\n"
#define EK_TWO_PAIRS "ldm %2!, {r4, r5, r6}\n" EK_TWO_PIXELS
#define EK_TWO_BYTES                                                                                         \
    "ldm %2!, {r4, r5}\n"                                                                                    \
    "sxtb16 r6, r5, ror #8\n"                                                                                \
    "sxtb16 r5, r5\n" EK_TWO_PIXELS

/* %3 pairs of blocks that are left. */
/* clang-format off */
#define EK_BLOCKS_TWO_SUMS(NAME, block)                                                                      \
    static inline void ek_##NAME##_two_sums(const int8_t *x, int32_t step, const int32_t **w, int32_t *sums) \
    {                                                                                                        \
        const int32_t *from = *w;                                                                            \
        int32_t pairs = *from++, first = sums[0], second = sums[1];                                          \
        __asm(                                                                                               \
            "lsls r4, %3, #31\n"                                                                             \
            "bne 2f\n"                                                                                       \
            "1:\n"                                                                                           \
                block block                                                                                  \
            "2:\n"                                                                                           \
                block block                                                                                  \
                "subs %3, %3, #2\n"                                                                          \
                "bgt 1b\n"                                                                                   \
            : "+r"(first), "+r"(second), "+r"(from), "+r"(pairs)                                             \
            : "r"(x), "r"(x + step)                                                                          \
            : "r4", "r5", "r6", "r8", "r9", "cc", "memory");                                                 \
        *w = from;                                                                                           \
        sums[0] = first;                                                                                     \
        sums[1] = second;                                                                                    \
    }
/* clang-format on */
EK_BLOCKS_TWO_SUMS(blocks, EK_TWO_PAIRS)
EK_BLOCKS_TWO_SUMS(blocks_bytes, EK_TWO_BYTES)

/* A pixel, requantized by a rule of fixed_dsp.h: bytes are not doubled when they are packed. */
#define EK_BLOCKS_RULE(NAME, RULE, blocks, twice)                                                            \
    EK_CONSTANTS_DSP(NAME, RULE)                                                                             \
    static EK_SHARED void ek_requantize_##NAME##_dots(const void *x, void *y, const struct ek_dots *layer)   \
    {                                                                                                        \
        const int32_t *w = (const int32_t *)layer->w, *b = layer->b;                                         \
        int8_t *to = (int8_t *)y;                                                                            \
        for (int32_t o = 0; o < layer->outputs; o++)                                                         \
            to[o] = ek_scaled_##RULE##_dsp(                                                                  \
                ek_##blocks##_sum(x, &w, b[o]) * twice, o, layer->m, layer->e, layer->offset, layer->shift); \
    }
EK_BLOCKS_RULE(tfl_blocks, tfl, blocks, 1)
EK_BLOCKS_RULE(once_blocks, once, blocks, 1)
EK_BLOCKS_RULE(e_blocks, e, blocks, 1)
EK_BLOCKS_RULE(tfl_blocks_bytes, tfl, blocks_bytes, 2)
EK_BLOCKS_RULE(once_blocks_bytes, once, blocks_bytes, 2)
EK_BLOCKS_RULE(e_blocks_bytes, e, blocks_bytes, 2)

/* Two of them, the second so many bytes behind the first. */
#define EK_BLOCKS_TWO_RULE(NAME, RULE, blocks, twice)                                                        \
    static EK_SHARED void ek_requantize_##NAME##_two(                                                        \
        const int8_t *x, int32_t step, int8_t *y, const struct ek_dots *layer)                               \
    {                                                                                                        \
        const int32_t *w = (const int32_t *)layer->w, *b = layer->b;                                         \
        for (int32_t o = 0; o < layer->outputs; o++) {                                                       \
            int32_t sums[2] = {b[o], b[o]};                                                                  \
            ek_##blocks##_two_sums(x, step, &w, sums);                                                       \
            y[o] =                                                                                           \
                ek_scaled_##RULE##_dsp(sums[0] * twice, o, layer->m, layer->e, layer->offset, layer->shift); \
            y[o + layer->outputs] =                                                                          \
                ek_scaled_##RULE##_dsp(sums[1] * twice, o, layer->m, layer->e, layer->offset, layer->shift); \
        }                                                                                                    \
    }
EK_BLOCKS_TWO_RULE(tfl_blocks, tfl, blocks, 1)
EK_BLOCKS_TWO_RULE(e_blocks, e, blocks, 1)
EK_BLOCKS_TWO_RULE(tfl_blocks_bytes, tfl, blocks_bytes, 2)
EK_BLOCKS_TWO_RULE(e_blocks_bytes, e, blocks_bytes, 2)

#endif
