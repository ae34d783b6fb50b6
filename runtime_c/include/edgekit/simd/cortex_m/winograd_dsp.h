/* Convolutions of int8 with windows of 3 by 3 cells, two by two results at a time: Winograd's algorithm in integers, with the
 * DSP instructions of Cortex-M4, M7 and M33.
 *
 * A tile of 4 by 4 cells is evaluated at 0, 1, -1 and infinity in both directions, and so are windows, twice as large as
 * usual, so that there are no halves: 16 products for four results, where windows take 36. Cells have at most 512 at a
 * point, weights 1,152. Products of a point are summed over channels, and results are sums of these, four times as large:
 * exact modulo 2^32. Two tiles are computed at a time, which lie as the two pixels of pixel_pairs_dsp.h.
 * stack 72 */
#ifndef EDGEKIT_WINOGRAD_DSP_H
#define EDGEKIT_WINOGRAD_DSP_H

#include "edgekit/simd/cortex_m/im2col_dsp.h"
#include "edgekit/simd/cortex_m/pixel_pairs_dsp.h"

/* Four outputs of which the function below computes the products of two tiles. */
struct ek_tile_pair {
    const int16_t *w; /* of four outputs at all points */
    int32_t depth; /* bytes of a point of both tiles: sixteen for each four channels */
};
EK_ASSEMBLY_OFFSET(struct ek_tile_pair, w, 0);
EK_ASSEMBLY_OFFSET(struct ek_tile_pair, depth, 4);

/* Two channels of each tile times two weights of four outputs: what sums begin with. */
#define EK_TILE_OF_HALVES(a, b, c, d)                                                                        \
    "ldrd r12,lr,[r1],#8\n"                                                                                  \
    "smuad " #a ",r2,r12\n"                                                                                  \
    "smuad " #c ",r3,r12\n"                                                                                  \
    "smuad " #b ",r2,lr\n"                                                                                   \
    "smuad " #d ",r3,lr\n"

/* Sums of products at 16 points: four outputs of the first tile, four of the second.
 *
 * Called with  r0 cells of both tiles, r1 sums, r2 the layer
 * Stack        0 end of the cells of a point, 4 their bytes, 8 sums, 12 points left, 16 the first four of a turn
 * Products     r0 cells, r1 weights, r2 r3 two cells of each, r4-r7 sums of the first, r8-r11 of the second, r12 lr weights */
/* clang-format off */
static EK_ASSEMBLY void ek_tile_products(const int32_t *cells EK_IN_ASSEMBLY, int32_t *sums EK_IN_ASSEMBLY,
    const struct ek_tile_pair *layer EK_IN_ASSEMBLY)
{
    __asm volatile(
    "push {r4-r11, lr}\n"
    "ldm r2, {r4, r5}\n"
    "sub sp, sp, #20\n"
    "strd r5, r1, [sp, #4]\n"
    "mov r6, #16\n"
    "rsb r9, r5, #16\n" /* behind the first four, fours that the first turn begins without */
    "ubfx r9, r9, #4, " EK_TURN_BITS "\n"
    "mov r12, #88\n"
    "adr.w r3, 2f\n"
    "mla r9, r9, r12, r3\n"
    "cmp r5, #16\n"
    "it eq\n"
    "adreq.w r9, 4f\n"
    "orr r9, r9, #1\n"
    "strd r6, r9, [sp, #12]\n"
    "mov r1, r4\n"
    "1:\n" /* a point */
        "ldr r12, [sp, #4]\n"
        "add r12, r12, r0\n"
        "str r12, [sp]\n"
        EK_PAIR_NUMBERS EK_TILE_OF_HALVES(r4, r5, r8, r9) EK_TILE_OF_HALVES(r6, r7, r10, r11)
        EK_PAIR_TWO_HALVES
        "ldr pc, [sp, #16]\n"
        ".p2align 2\n"
        EK_TURN(EK_PAIR_HALVES)
            EK_ASSEMBLY_SIZE(2, 3, 88)
            "ldr r12, [sp]\n"
            "cmp r0, r12\n"
            "bne 2b\n"
        "4:\n"
        "ldrd r2, r3, [sp, #8]\n"
        "subs r3, r3, #1\n"
        "stm r2!, {r4-r11}\n"
        "strd r2, r3, [sp, #8]\n"
        "bne 1b\n"
    "add sp, sp, #20\n"
    "pop {r4-r11, pc}\n");
}
/* clang-format on */

/* How far rows and columns of cells are apart, and their channels. */
struct ek_tile_shape {
    int32_t row;
    int32_t column;
    int32_t channels;
};
EK_ASSEMBLY_OFFSET(struct ek_tile_shape, row, 0);
EK_ASSEMBLY_OFFSET(struct ek_tile_shape, column, 4);
EK_ASSEMBLY_OFFSET(struct ek_tile_shape, channels, 8);

/* Four channels of a column in two rows, their difference or sum: the first and the third in `a`, the others in `b`. */
#define EK_TILE_COLUMN(combine, column, a, b)                                                                \
    "ldr r11,[r0" column "]\n"                                                                               \
    "ldr lr,[r1" column "]\n"                                                                                \
    "sxtb16 " #a ",r11\n"                                                                                    \
    "sxtb16 " #b ",r11,ror#8\n" combine(a, b)
#define EK_TILE_SUM(a, b)                                                                                    \
    "sxtab16 " #a "," #a ",lr\n"                                                                             \
    "sxtab16 " #b "," #b ",lr,ror#8\n"
#define EK_TILE_FIRST_LESS(a, b)                                                                             \
    "sxtb16 r12,lr\n"                                                                                        \
    "sxtb16 lr,lr,ror#8\n"                                                                                   \
    "ssub16 " #a "," #a ",r12\n"                                                                             \
    "ssub16 " #b "," #b ",lr\n"
#define EK_TILE_SECOND_LESS(a, b)                                                                            \
    "sxtb16 r12,lr\n"                                                                                        \
    "sxtb16 lr,lr,ror#8\n"                                                                                   \
    "ssub16 " #a ",r12," #a "\n"                                                                             \
    "ssub16 " #b ",lr," #b "\n"
#define EK_TILE_POINT(op, a, b, c, d, e, f)                                                                  \
    #op " " #a "," #c "," #e "\n" #op " " #b "," #d "," #f "\n"                                              \
        "str " #a ",[r4]\n"                                                                                  \
        "str " #b ",[r4,#8]\n"                                                                               \
        "add r4,r5\n"
#define EK_TILE_ROW(combine)                                                                                 \
    EK_TILE_COLUMN(combine, ",r3,lsl#1", r9, r10)                                                            \
    EK_TILE_COLUMN(combine, "", r7, r8)                                                                      \
    EK_TILE_POINT(ssub16, r7, r8, r7, r8, r9, r10)                                                           \
    EK_TILE_COLUMN(combine, ",r3", r7, r8)                                                                   \
    EK_TILE_POINT(sadd16, r11, r12, r7, r8, r9, r10)                                                         \
    EK_TILE_POINT(ssub16, r9, r10, r9, r10, r7, r8)                                                          \
    EK_TILE_COLUMN(combine, ",r6", r9, r10)                                                                  \
    EK_TILE_POINT(ssub16, r7, r8, r7, r8, r9, r10)

/* A tile at the points. For each four channels `to` has two words of this tile, each before one of the other tile.
 *
 * Called with  r0 cells, r1 to, r2 their shape
 * Stack        0 end of the cells
 * Points       r0 r1 cells of two rows, r2 bytes of a row, r3 of a column, r6 of three, r4 to, r5 bytes of a point, r7-r10 what
 *              is at two columns, r11 r12 lr more */
/* clang-format off */
static EK_ASSEMBLY void ek_tile_at_points(const int8_t *x EK_IN_ASSEMBLY, uint32_t *to EK_IN_ASSEMBLY,
    const struct ek_tile_shape *shape EK_IN_ASSEMBLY)
{
    __asm volatile(
    "push {r4-r11,lr}\n"
    "ldm r2,{r2,r3,r5}\n"
    "mov r4,r1\n"
    "add r12,r0,r5\n"
    "lsl r5,r5,#2\n"
    "add r6,r3,r3,lsl#1\n"
    "push {r12}\n"
    "1:\n" /* four channels */
        "add r1,r0,r2,lsl#1\n"
        EK_TILE_ROW(EK_TILE_FIRST_LESS)
        "add r0,r2\n"
        EK_TILE_ROW(EK_TILE_SUM)
        EK_TILE_ROW(EK_TILE_SECOND_LESS)
        "add r1,r2\n"
        EK_TILE_ROW(EK_TILE_FIRST_LESS)
        "ldr r12,[sp]\n"
        "sub r0,r2\n"
        "add r0,#4\n"
        "sub r4,r4,r5,lsl#4\n"
        "add r4,#16\n"
        "cmp r0,r12\n"
        "bne 1b\n"
    "pop {r12}\n"
    "pop {r4-r11,pc}\n");
}
/* clang-format on */

/* A tile at the points, from so many rows and columns on; `copied` has room for one that reaches beyond the image. */
static EK_SHARED void ek_tile_gather(
    const int8_t *x, int32_t top, int32_t left, int8_t *copied, uint32_t *to, const struct ek_window *image)
{
    struct ek_tile_shape shape = {image->step_h, image->step_w, image->in_c};
    const int8_t *tile = x + top * shape.row + left * shape.column;
    if (top < 0 || left < 0 || top + 4 > image->in_h || left + 4 > image->in_w) {
        ek_cells_gather(x, copied, top, left, image);
        shape.row = 4 * shape.channels;
        shape.column = shape.channels;
        tile = copied;
    }
    ek_tile_at_points(tile, to, &shape);
}

/* Where the four results of a tile are: the first one, and how far those beside and below it are, or 0 beyond the image. */
struct ek_tile_place {
    int32_t first;
    int32_t right;
    int32_t down;
    int32_t offset; /* constants of the rule */
    int32_t shift;
};

/* What four sums of an output, at the points of a column, are in the upper and in the lower results. */
#define EK_COLUMN_OF_SUMS(sums, j, bias)                                                                     \
    const int32_t b##j = (sums)[32 + 8 * j] + (bias), c##j = (sums)[64 + 8 * j];                             \
    const int32_t upper##j = (sums)[8 * j] + b##j + c##j, lower##j = b##j - c##j - (sums)[96 + 8 * j];

static inline int32_t ek_clamped(int32_t a, int32_t lo, int32_t hi)
{
    return a < lo ? lo : a > hi ? hi : a;
}

static inline int8_t ek_sum_of_products(int32_t a, int32_t b, const struct ek_products *p)
{
    return ek_nearest_s8((a * p->first + b * p->second + p->constant) >> p->shift);
}

/* An output of a doubled sum by a rule. */
#define EK_TILE_RULE(NAME, RULE)                                                                             \
    EK_CONSTANTS_DSP(NAME, RULE)                                                                             \
    static inline int8_t ek_requantize_##NAME##_result(                                                      \
        int32_t sum, int32_t o, const int32_t *m, const int8_t *e, int32_t offset, int32_t shift)            \
    {                                                                                                        \
        return ek_scaled_##RULE##_dsp(sum, o, m, e, offset, shift);                                          \
    }
EK_TILE_RULE(tile_tfl, tfl)
EK_TILE_RULE(tile_e, e)

#endif
