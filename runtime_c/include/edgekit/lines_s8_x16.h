/* Sums of products of int8 by AVX-512 VNNI, whose left factors are unsigned: x is copied, 128 more, with its borders.
 * Lines of pixels are the same distance apart; up to 64 outputs each. Weights are tiled O/16! H WI/4! o16 wi4. */
#ifndef EDGEKIT_LINES_S8_X16_H
#define EDGEKIT_LINES_S8_X16_H

#include "edgekit/fixed_avx512.h"

/* Four bytes anywhere. */
typedef int32_t ek_four_x16 __attribute__((aligned(1), may_alias));

/* A window of `rows` runs of x, each of `chunks` times four bytes. */
struct ek_window_s8_x16 {
    int32_t rows;
    int32_t chunks;
    int32_t row_step; /* bytes of x */
    int32_t outputs;
    struct ek_results_x16 results;
};

/* `size` bytes of x + 128. */
EK_INLINE void ek_unsigned_x16(const int8_t *x, uint8_t *y, const int32_t size)
{
    const __m512i flip = _mm512_set1_epi8(-128);
    int32_t i = 0;
    for (; i + 64 <= size; i += 64)
        _mm512_storeu_si512(y + i, _mm512_xor_si512(flip, _mm512_loadu_si512(x + i)));
    if (i < size) {
        const __mmask64 lanes = ~(uint64_t)0 >> (64 - (size - i));
        _mm512_mask_storeu_epi8(y + i, lanes, _mm512_xor_si512(flip, _mm512_maskz_loadu_epi8(lanes, x + i)));
    }
}

/* The lanes of a block that hold outputs. */
EK_INLINE __mmask16 ek_lanes_s8_x16(const int32_t block, const int32_t blocks, const int32_t outputs)
{
    return (__mmask16)(block + 1 < blocks ? 0xFFFFu : 0xFFFFu >> (16 * blocks - outputs));
}

/* `pixels` times `blocks` sums, at most 28. */
EK_INLINE void ek_block_s8_x16(const uint8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int32_t x_step, const int32_t y_step, const int32_t pixels,
    const int32_t blocks, const struct ek_window_s8_x16 *s)
{
    const int32_t block_weights = s->rows * s->chunks * 64;
    __m512i sum[16][4];
#pragma GCC unroll 4
    for (int32_t o = 0; o < blocks; o++) {
        const __m512i bias = _mm512_maskz_loadu_epi32(ek_lanes_s8_x16(o, blocks, s->outputs), b + 16 * o);
#pragma GCC unroll 16
        for (int32_t q = 0; q < pixels; q++)
            sum[q][o] = bias;
    }
    for (int32_t i = 0; i < s->rows; i++) {
        const uint8_t *from = x + i * s->row_step;
        for (int32_t c = 0; c < s->chunks; c++, from += 4, w += 64) {
            __m512i v[4];
#pragma GCC unroll 4
            for (int32_t o = 0; o < blocks; o++)
                v[o] = _mm512_loadu_si512(w + o * block_weights);
#pragma GCC unroll 16
            for (int32_t q = 0; q < pixels; q++) {
                const __m512i t = _mm512_set1_epi32(*(const ek_four_x16 *)(const void *)(from + q * x_step));
#pragma GCC unroll 4
                for (int32_t o = 0; o < blocks; o++)
                    sum[q][o] = ek_dot_x16(sum[q][o], t, v[o]);
            }
        }
    }
    __m512i z[64];
#pragma GCC unroll 4
    for (int32_t o = 0; o < blocks; o++) {
        const struct ek_scales_x16 scales = ek_scales_x16(s->results.kind, m + 16 * o,
            s->results.kind < 2 ? e : e + 16 * o, ek_lanes_s8_x16(o, blocks, s->outputs));
#pragma GCC unroll 16
        for (int32_t q = 0; q < pixels; q++)
            z[q * blocks + o] = ek_requantize_x16(s->results.kind, sum[q][o], &scales);
    }
#pragma GCC unroll 16
    for (int32_t at = 0; at < pixels * blocks; at += 4) {
        const int32_t last = pixels * blocks - 1;
        const __m512i packed = ek_packed_x16(z[at], z[at + 1 < last ? at + 1 : last],
            z[at + 2 < last ? at + 2 : last], z[at + 3 < last ? at + 3 : last], &s->results);
        if (blocks == 4 && s->outputs == 64)
            _mm512_storeu_si512(y + at / 4 * y_step, packed);
        else
#pragma GCC unroll 4
            for (int32_t k = 0; k < 4; k++) {
                const int32_t n = at + k, o = n % blocks;
                if (n <= last)
                    ek_store_result_x16(
                        y + n / blocks * y_step + 16 * o, packed, k, ek_lanes_s8_x16(o, blocks, s->outputs));
            }
    }
}

/* A line of `length` pixels, `blocks` known to the compiler. Blocks of pixels are alike; the last ones may overlap. */
EK_INLINE void ek_line_s8_x16(const uint8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int32_t x_step, const int32_t y_step, const int32_t length,
    const int32_t blocks, const struct ek_window_s8_x16 *s)
{
    const int32_t most = blocks == 1 ? 16 : blocks == 2 ? 12 : blocks == 3 ? 8 : 6;
    const int32_t count = (length + most - 1) / most;
    const int32_t wanted = count > 0 ? (length + count - 1) / count : 0;
#define EK_BLOCKS_S8_X16(n)                                                                                  \
    for (int32_t k = 0; k < length; k += (n)) {                                                              \
        const int32_t at = k + (n) <= length ? k : length - (n);                                             \
        ek_block_s8_x16(x + at * x_step, w, b, m, e, y + at * y_step, x_step, y_step, (n), blocks, s);       \
    }
    if (wanted > 12 && blocks == 1 && length >= 16)
        EK_BLOCKS_S8_X16(16)
    else if (wanted > 8 && blocks <= 2 && length >= 12)
        EK_BLOCKS_S8_X16(12)
    else if (wanted > 6 && blocks <= 3 && length >= 8)
        EK_BLOCKS_S8_X16(8)
    else if (wanted > 4 && length >= 6)
        EK_BLOCKS_S8_X16(6)
    else if (wanted > 2 && length >= 4)
        EK_BLOCKS_S8_X16(4)
    else if (wanted > 1 && length >= 2)
        EK_BLOCKS_S8_X16(2)
    else
        EK_BLOCKS_S8_X16(1)
#undef EK_BLOCKS_S8_X16
}

/* `lines` of `length` pixels, `outputs` of any number. */
EK_INLINE void ek_lines_s8_x16(const uint8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int32_t lines, const int32_t line_step, const int32_t x_step,
    const int32_t length, const struct ek_window_s8_x16 *all)
{
    const int32_t blocks = (all->outputs + 15) / 16, parts = (blocks + 3) / 4,
                  part = (blocks + parts - 1) / parts * 16;
    for (int32_t o = 0; o < all->outputs; o += part) {
        const int32_t rest = all->outputs - o;
        const struct ek_window_s8_x16 s = {
            all->rows, all->chunks, all->row_step, rest < part ? rest : part, all->results};
        const int8_t *weights = w + o * s.rows * s.chunks * 4, *exponents = s.results.kind < 2 ? e : e + o;
        for (int32_t h = 0; h < lines; h++) {
            const uint8_t *from = x + h * line_step;
            int8_t *to = y + h * length * all->outputs + o;
            if (s.outputs > 48)
                ek_line_s8_x16(
                    from, weights, b + o, m + o, exponents, to, x_step, all->outputs, length, 4, &s);
            else if (s.outputs > 32)
                ek_line_s8_x16(
                    from, weights, b + o, m + o, exponents, to, x_step, all->outputs, length, 3, &s);
            else if (s.outputs > 16)
                ek_line_s8_x16(
                    from, weights, b + o, m + o, exponents, to, x_step, all->outputs, length, 2, &s);
            else
                ek_line_s8_x16(
                    from, weights, b + o, m + o, exponents, to, x_step, all->outputs, length, 1, &s);
        }
    }
}

#endif
