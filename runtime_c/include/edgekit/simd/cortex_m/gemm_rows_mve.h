/* Products of computed matrices with Helium: columns of b are packed as weights of a convolution are, and two
 * rows of a go through all of them, see gemm_mve.h. What the zero point of a takes off is in the biases, that of
 * b in the totals.
 * stack 124 */
#ifndef EDGEKIT_GEMM_ROWS_MVE_H
#define EDGEKIT_GEMM_ROWS_MVE_H

#include "edgekit/simd/cortex_m/gemm_mve.h"

struct ek_two_rows {
    struct ek_two_pixels of;
    int32_t total0; /* added to all sums of the first row */
    int32_t total1;
};
EK_ASSEMBLY_OFFSET(struct ek_two_rows, of, 0);
EK_ASSEMBLY_OFFSET(struct ek_two_rows, total0, 52);
EK_ASSEMBLY_OFFSET(struct ek_two_rows, total1, 56);

/* Columns of b and what belongs to them. */
struct ek_mve_panel {
    int32_t *b;
    int32_t *m;
    int8_t *e;
    int8_t *rows; /* two of a, where they do not end with a block */
    int8_t *w;
    int32_t columns; /* at most so many at a time */
    int32_t blocks;
    int32_t inner;
};

/* As many columns as about 4 KB hold, and 16 or more. */
static inline struct ek_mve_panel ek_mve_panel_of(
    uint8_t *scratch, int32_t inner, int32_t columns, int32_t multiplier, int32_t exponent)
{
    const int32_t blocks = (inner + 15) / 16, some = 256 / blocks / 4 * 4, all = (columns + 3) / 4 * 4;
    const int32_t most = some < 16 ? 16 : some, n = most < all ? most : all;
    int32_t *const b = (int32_t *)(void *)scratch;
    int8_t *const e = (int8_t *)(b + 2 * n);
    for (int32_t j = 0; j < n; j += 4)
        vstrwq_s32(b + n + j, vdupq_n_s32(multiplier));
    ek_mve_fill(e, exponent, n);
    const struct ek_mve_panel panel = {b, b + n, e, e + n, e + n + 32 * blocks, n, blocks, inner};
    return panel;
}

/* Where column j of a panel goes. */
static inline int8_t *ek_mve_panel_at(const struct ek_mve_panel *panel, int32_t j)
{
    return panel->w + j / 4 * 64 * panel->blocks + j % 4 * 16;
}

/* Packs a column whose n numbers are side by side; their sum. */
static inline int32_t ek_mve_pack_dense(int8_t *to, const int8_t *from, int32_t n)
{
    int32_t total = 0;
    for (; n > 0; n -= 16, from += 16, to += 64) {
        const int8x16_t cells = vldrbq_z_s8(from, vctp8q((uint32_t)n));
        total = vaddvaq_s8(total, cells);
        vstrbq_s8(to, cells);
    }
    return total;
}

/* Packs a column whose n numbers are `step` apart; their sum. */
static inline int32_t ek_mve_pack_strided(int8_t *to, const int8_t *from, int32_t n, int32_t step)
{
    const uint16x8_t offsets = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);
    int32_t total = 0;
    for (; n > 0; n -= 16, to += 64)
        for (int32_t half = 0; half < 16; half += 8, from += 8 * step) {
            const uint32_t count = n > half ? (uint32_t)(n - half) : 0;
            const int16x8_t cells = vldrbq_gather_offset_z_s16(from, offsets, vctp16q(count));
            total = vaddvaq_s16(total, cells);
            vstrbq_s16(to + half, cells);
        }
    return total;
}

static inline int32_t ek_mve_row_total(const int8_t *row, int32_t n)
{
    int32_t total = 0;
    for (; n > 0; n -= 16, row += 16)
        total = vaddvaq_s8(total, vldrbq_z_s8(row, vctp8q((uint32_t)n)));
    return total;
}

/* The row of a that begins there, whose last block ends within what is at hand. */
static inline const int8_t *ek_mve_panel_row(int8_t *to, const int8_t *row, int32_t inner)
{
    if (inner % 16 == 0)
        return row;
    ek_mve_copy(to, row, inner);
    return to;
}

/* Two rows of a and of y, `next` apart; where only one is left, both are that one. */
static inline void ek_mve_take_rows(struct ek_two_rows *two, const struct ek_mve_panel *panel,
    const int8_t *a, int32_t a_row, int8_t *y, int32_t y_row, int32_t b_zero)
{
    two->of.x0 = ek_mve_panel_row(panel->rows, a, panel->inner);
    two->of.x1 = ek_mve_panel_row(panel->rows + 16 * panel->blocks, a + a_row, panel->inner);
    two->of.y0 = y;
    two->of.y1 = y + y_row;
    two->total0 = -b_zero * ek_mve_row_total(a, panel->inner);
    two->total1 = -b_zero * ek_mve_row_total(a + a_row, panel->inner);
}

/* clang-format off */
#define EK_TWO_ROWS_TOTALS                                                                                   \
    "ldrd r0, r2, [r12, #8]\n"                                                                               \
    "strd r0, r2, [sp, #32]\n"
#define EK_TWO_ROWS_ADD                                                                                      \
    "ldrd r8, r10, [sp, #32]\n"                                                                              \
    "vadd.i32 q0, q0, r8\n"                                                                                  \
    "vadd.i32 q1, q1, r10\n"
/* clang-format on */

#define EK_TWO_ROWS_RULE(NAME, constants, requantize)                                                        \
    static EK_ASSEMBLY void ek_requantize_##NAME##_two_rows(const struct ek_two_rows *rows EK_IN_ASSEMBLY)   \
    {                                                                                                        \
        __asm volatile(EK_TWO_PIXELS(                                                                        \
            "40", EK_TWO_ROWS_TOTALS constants, EK_TWO_ROWS_ADD, requantize, EK_TWO_PIXELS_BYTES));          \
    }

EK_TWO_ROWS_RULE(e, EK_TWO_PIXELS_SHIFT(24), EK_TWO_PIXELS_E(r7))
EK_TWO_ROWS_RULE(tfl, EK_TWO_PIXELS_EXPONENTS, EK_TWO_PIXELS_TFL(EK_TWO_PIXELS_LOAD, q6))

#endif
