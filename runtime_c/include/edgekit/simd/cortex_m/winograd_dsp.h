/* Convolutions of int8 with windows of 3 by 3 cells, two by two results at a time: Winograd's algorithm in integers, with the
 * DSP instructions of Cortex-M4, M7 and M33.
 *
 * A tile of 4 by 4 cells is evaluated at 0, 1, -1 and infinity in both directions, and so are windows, at 1 and -1 twice as
 * large as usual, across at the other points, too, so that there are no halves: 16 products for four results, where windows
 * take 36. Cells have at most 512 at a point, weights 1,152. Products of a point are summed over channels, and sums of these,
 * halved, are twice the results: exact modulo 2^32. Two tiles are computed at a time, side by side as the two pixels of
 * pixel_pairs_dsp.h.
 *
 * Rows of points are those of 1, -1, 0 and infinity: the first one begins with the biases, which reach all results from
 * there. In a row, s1 is the sum of products at 1, and so on; of the points 1, infinity, 0 and -1 there remain
 * s1, s1 - s3, s1 + s0 and s1 + s0 + s2: the last one is the result on the left, and the second and the third without
 * it that on the right, s1 - s2 - s3.
 * stack 60 */
#ifndef EDGEKIT_WINOGRAD_DSP_H
#define EDGEKIT_WINOGRAD_DSP_H

#include "edgekit/simd/cortex_m/im2col_dsp.h"
#include "edgekit/simd/cortex_m/pixel_pairs_dsp.h"

/* Four outputs of which the functions below compute the products of two tiles. */
struct ek_tile_pair {
    const int16_t *w; /* at all points */
    const int32_t *b;
    int32_t depth; /* bytes of all cells: 256 for each four channels */
};
EK_ASSEMBLY_OFFSET(struct ek_tile_pair, w, 0);
EK_ASSEMBLY_OFFSET(struct ek_tile_pair, b, 4);
EK_ASSEMBLY_OFFSET(struct ek_tile_pair, depth, 8);

/* Two channels of each tile times two weights of four outputs, and four; `next` is as far as the next four. */
#define EK_TILE_TWO(next)                                                                                    \
    "ldrd r2,r3,[r0],#" next "\n" EK_PAIR_OF_HALVES(r4, r6, r5, r7) EK_PAIR_OF_HALVES(r8, r10, r9, r11)
#define EK_TILE_FOUR(next) EK_TILE_TWO("8") EK_TILE_TWO(next)

/* What sums of a row begin with: biases, later nothing, which r12 leads to, or the sums of the point 1 in it. */
#define EK_TILE_BIASES "ldm r3,{r4,r6,r8,r10}\nldm r3,{r5,r7,r9,r11}\n"
#define EK_TILE_BEGIN(sums)                                                                                  \
    "it mi\n"                                                                                                \
    "submi r12," #sums ",#64\n"                                                                              \
    "ldm r12,{r4-r11}\n"

/* Sums of products at 16 points: four outputs of both tiles, one beside the other.
 *
 * Called with  r0 cells of both tiles, r1 sums, r2 the layer
 * Stack        0 end of the cells of a point, 4 sums, 8 what follows each point, 12 back to the cells of the next point,
 *              16 the first four of a turn
 * Products     r0 cells, r1 weights, r2 r3 two cells of each, r4-r11 sums: those of a tile are even, r12 lr weights
 * What follows two bits for each point: the second goes into C, where sums begin again, the first of the next one into N,
 *              where they begin with those at 1 */
/* clang-format off */
static EK_ASSEMBLY void ek_tile_products(const int32_t *cells EK_IN_ASSEMBLY, int32_t *sums EK_IN_ASSEMBLY,
    const struct ek_tile_pair *layer EK_IN_ASSEMBLY)
{
    __asm volatile(
    "push {r4-r11,lr}\n"
    "ldm r2,{r2,r3,r12}\n"
    "add r4,r0,r12\n"
    "mov r5,r1\n"
    "mov.w r6,#0x19191919\n"
    "sub.w r7,r12,#16\n"
    "rsb r8,r12,#0\n" /* fours that the first turn begins without */
    "ubfx r8,r8,#8," EK_TURN_BITS "\n"
    "mov r12,#88\n"
    "adr.w r9,2f\n"
    "mla r8,r8,r12,r9\n"
    "orr r8,r8,#1\n"
    "push {r4-r8}\n"
    "mov r1,r2\n"
    EK_TILE_BIASES
    "1:\n" /* a point */
        "ldr pc,[sp,#16]\n"
        ".p2align 2\n"
        EK_TURN(EK_TILE_FOUR("248"))
            EK_ASSEMBLY_SIZE(2, 3, 88)
            "ldm sp,{r2,r3,r12,lr}\n"
            "cmp r0,r2\n"
            "bne 2b\n"
        "stm r3!,{r4-r11}\n"
        "add.w r2,r2,#16\n"
        "sub.w r0,r0,lr\n"
        "lsls.w r12,r12,#2\n"
        "stm sp,{r2,r3,r12}\n"
        "bcc 1b\n"
        "adr.w r12,6f\n"
        EK_TILE_BEGIN(r3)
        "bne 1b\n"
    "add sp,sp,#20\n"
    "pop {r4-r11,pc}\n"
    ".p2align 2\n"
    "6:\n"
    ".space 32\n"
    "7:\n"
    EK_ASSEMBLY_SIZE(6, 7, 32));
}

/* The same of 16 channels.
 *
 * Stack        0 sums, 4 a bit for each two points: that of the next two goes into N, where they begin with those at 1 */
#define EK_TILE_16 ".rept 3\n" EK_TILE_FOUR("248") ".endr\n" EK_TILE_FOUR("-760")
static EK_ASSEMBLY void ek_tile_products_of_16(const int32_t *cells EK_IN_ASSEMBLY,
    int32_t *sums EK_IN_ASSEMBLY, const struct ek_tile_pair *layer EK_IN_ASSEMBLY)
{
    __asm volatile(
    "push {r4-r11,lr}\n"
    "mov.w r12,#0x55000000\n"
    "push {r1,r12}\n"
    "ldm r2,{r1,r3}\n"
    EK_TILE_BIASES
    "1:\n" /* two points */
        EK_TILE_16
        "ldr r2,[sp]\n"
        "stm r2,{r4-r11}\n"
        EK_TILE_16
        "ldrd r2,r3,[sp]\n"
        "add.w r2,r2,#32\n"
        "stm r2!,{r4-r11}\n"
        "lsls r3,r3,#1\n"
        "strd r2,r3,[sp]\n"
        "adr.w r12,6f\n"
        EK_TILE_BEGIN(r2)
        "bne 1b\n"
    "add sp,sp,#8\n"
    "pop {r4-r11,pc}\n"
    ".p2align 2\n"
    "6:\n"
    ".space 32\n"
    "7:\n"
    EK_ASSEMBLY_SIZE(6, 7, 32));
}
/* clang-format on */

/* The one of both that is faster; code that is to be small has the first for all. */
static inline void ek_tile_products_of(
    const int32_t *cells, int32_t *sums, const struct ek_tile_pair *layer, int32_t channels)
{
#ifndef __OPTIMIZE_SIZE__
    if (channels == 16)
        ek_tile_products_of_16(cells, sums, layer);
    else
#endif
        ek_tile_products(cells, sums, layer);
    (void)channels;
}

/* How far rows and columns of cells are apart, and their channels. */
struct ek_tile_shape {
    int32_t row;
    int32_t column;
    int32_t channels;
};
EK_ASSEMBLY_OFFSET(struct ek_tile_shape, row, 0);
EK_ASSEMBLY_OFFSET(struct ek_tile_shape, column, 4);
EK_ASSEMBLY_OFFSET(struct ek_tile_shape, channels, 8);

/* Two of four channels of a column at the four points of its rows: 0 in `a`, 1 in `b`, -1 in `c`, infinity in `d`. */
#define EK_TILE_COLUMN(extend, a, b, c, d)                                                                   \
    "ldr " #a ",[r0]\n"                                                                                      \
    "ldr lr,[r0,r2]\n"                                                                                       \
    "ldr " #c ",[r0,r2,lsl#1]\n"                                                                             \
    "ldr " #d ",[r0,r3]\n" extend(a) extend(lr) extend(c) extend(d) "sadd16 " #b ",lr," #c "\n"              \
                                                                    "ssub16 " #a "," #a "," #c "\n"          \
                                                                    "ssub16 " #c "," #c ",lr\n"              \
                                                                    "ssub16 " #d ",lr," #d "\n"
#define EK_TILE_EVEN(a) "sxtb16 " #a "," #a "\n"
#define EK_TILE_ODD(a) "sxtb16 " #a "," #a ",ror#8\n"

/* What a combination of two columns is at a point, and at the four points of a column: `at` for even channels, or odd. */
#define EK_TILE_POINT(op, to, a, b, at) #op " " #to "," #a "," #b "\nstr " #to ",[r1,#" at "]\n"
#define EK_TILE_POINTS(op, at, a, b, c, d, e, f, g, h, i, j, k, l)                                           \
    EK_TILE_POINT(op, a, e, i, "128+" at)                                                                    \
    EK_TILE_POINT(op, b, f, j, at)                                                                           \
    EK_TILE_POINT(op, c, g, k, "64+" at) EK_TILE_POINT(op, d, h, l, "192+" at)

/* Columns, from 0 to 3 and back, for even and odd channels. */
#define EK_TILE_FORTH                                                                                        \
    EK_TILE_COLUMN(EK_TILE_EVEN, r4, r5, r6, r7)                                                             \
    "add.w r0,r0,r12,lsl#1\n" EK_TILE_COLUMN(EK_TILE_EVEN, r8, r9, r10,                                      \
        r11) "sub.w r0,r0,r12\n" EK_TILE_POINTS(ssub16, "32", r4, r5, r6, r7, r4, r5, r6, r7, r8, r9, r10,   \
        r11) EK_TILE_COLUMN(EK_TILE_EVEN, r4, r5, r6, r7) "add.w r0,r0,r12,lsl#1\n" EK_TILE_POINTS(sadd16,   \
        "0", lr, lr, lr, lr, r4, r5, r6, r7, r8, r9, r10, r11)                                               \
        EK_TILE_POINTS(ssub16, "48", r8, r9, r10, r11, r8, r9, r10, r11, r4, r5, r6, r7)                     \
            EK_TILE_COLUMN(EK_TILE_EVEN, r8, r9, r10, r11)                                                   \
                EK_TILE_POINTS(ssub16, "16", r8, r9, r10, r11, r8, r9, r10, r11, r4, r5, r6, r7)
#define EK_TILE_BACK                                                                                         \
    EK_TILE_COLUMN(EK_TILE_ODD, r8, r9, r10, r11)                                                            \
    "sub.w r0,r0,r12,lsl#1\n" EK_TILE_COLUMN(EK_TILE_ODD, r4, r5, r6,                                        \
        r7) "add.w r0,r0,r12\n" EK_TILE_POINTS(ssub16, "24", r8, r9, r10, r11, r8, r9, r10, r11, r4, r5, r6, \
        r7) EK_TILE_COLUMN(EK_TILE_ODD, r8, r9, r10, r11) "sub.w r0,r0,r12,lsl#1\n" EK_TILE_POINTS(sadd16,   \
        "8", lr, lr, lr, lr, r4, r5, r6, r7, r8, r9, r10, r11)                                               \
        EK_TILE_POINTS(ssub16, "56", r4, r5, r6, r7, r8, r9, r10, r11, r4, r5, r6, r7)                       \
            EK_TILE_COLUMN(EK_TILE_ODD, r4, r5, r6, r7)                                                      \
                EK_TILE_POINTS(ssub16, "40", r4, r5, r6, r7, r4, r5, r6, r7, r8, r9, r10, r11)

/* A tile at the points. For each four channels and point `to` has two words of this tile, each before one of the other tile.
 *
 * Called with  r0 cells, r1 to, r2 their shape
 * Stack        0 end of the cells
 * Points       r0 cells, r1 to, r2 bytes of a row, r3 of three, r12 of a column, r4-r11 two columns, lr more */
/* clang-format off */
static EK_ASSEMBLY void ek_tile_at_points(const int8_t *x EK_IN_ASSEMBLY, uint32_t *to EK_IN_ASSEMBLY,
    const struct ek_tile_shape *shape EK_IN_ASSEMBLY)
{
    __asm volatile(
    "push {r4-r11,lr}\n"
    "ldm r2,{r2,r12,lr}\n"
    "add.w r3,r2,r2,lsl#1\n"
    "add.w lr,lr,r0\n"
    "push {lr}\n"
    "1:\n" /* four channels */
        EK_TILE_FORTH
        EK_TILE_BACK
        "ldr lr,[sp]\n"
        "add.w r0,r0,#4\n"
        "add.w r1,r1,#256\n"
        "cmp r0,lr\n"
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

/* The sum by factors of a convolution and what is added to it. */
struct ek_tile_sum {
    int32_t is_bounded; /* has the convolution bounds, or those of int8? */
    int32_t lo;
    int32_t hi;
    int32_t first;
    int32_t second;
    int32_t constant;
    int32_t shift;
    int32_t apart; /* bytes from a result to what is added to it */
};
EK_ASSEMBLY_OFFSETS(struct ek_tile_sum, 0, is_bounded, lo, hi, first);
EK_ASSEMBLY_OFFSETS(struct ek_tile_sum, 16, second, constant, shift, apart);

/* What the results of two tiles are made with. */
struct ek_tile_results {
    const int32_t *m;
    const int8_t *e;
    int32_t offset; /* constants of the rule */
    int32_t shift;
    int8_t *one
        [4]; /* where the results of a tile are: those beyond the image in the place of others, which go last */
    int8_t *other[4]; /* the third is 0 where there is no other tile */
    int32_t outputs;
    const struct ek_tile_sum *sum;
};
EK_ASSEMBLY_OFFSETS(struct ek_tile_results, 0, m, e, offset, shift);
EK_ASSEMBLY_OFFSET(struct ek_tile_results, one, 16);
EK_ASSEMBLY_OFFSET(struct ek_tile_results, other, 32);
EK_ASSEMBLY_OFFSET(struct ek_tile_results, outputs, 48);
EK_ASSEMBLY_OFFSET(struct ek_tile_results, sum, 52);

/* The places of the results from y on: how far those beside and below it are, or 0 beyond the image. */
static inline void ek_tile_places(int8_t *y, int32_t right, int32_t down, int8_t **places)
{
    places[0] = y;
    places[1] = y + right;
    places[2] = y + down;
    places[3] = y + down + right;
}

/* Both results of a row of points, for both tiles: on the left in a and b, on the right in c and d; t and u are free. */
#define EK_TILE_ACROSS(a, b, c, d, t, u, row)                                                                \
    "ldrd " #a "," #b ",[r0,#96+128*" #row "]\n"                                                             \
    "ldrd " #c "," #d ",[r0,#64+128*" #row "]\n" EK_TILE_RIGHT(a, b, c, d, t, u, row)
#define EK_TILE_RIGHT(a, b, c, d, t, u, row)                                                                 \
    "sub.w " #c "," #c "," #a "\n"                                                                           \
    "sub.w " #d "," #d "," #b "\n"                                                                           \
    "ldrd " #t "," #u ",[r0,#32+128*" #row "]\n"                                                             \
    "add.w " #c "," #c "," #t "\n"                                                                           \
    "add.w " #d "," #d "," #u "\n"
/* Half of a number and another one, which is added to it or taken from it; and the difference of two, and their sum. */
#define EK_TILE_HALF(op, a, b) #op " " #a "," #b "," #a ",asr#1\n"
#define EK_TILE_BOTH(a, b) "sub.w " #a "," #a "," #b "\nadd.w " #b "," #a "," #b ",lsl#1\n"
/* Doubled results of an output: r6 r7 the upper ones of the first tile, r4 r5 the lower ones, r10 r11 r8 r9 of the second. */
#define EK_TILE_DOUBLED                                                                                      \
    EK_TILE_ACROSS(r4, r8, r5, r9, r1, r2, 0)                                                                \
    EK_TILE_ACROSS(r6, r10, r7, r11, r1, r2, 1)                                                              \
    EK_TILE_BOTH(r4, r6)                                                                                     \
    EK_TILE_BOTH(r8, r10)                                                                                    \
    EK_TILE_BOTH(r5, r7)                                                                                     \
    EK_TILE_BOTH(r9, r11)                                                                                    \
    "ldrd r1,r2,[r0,#352]\n"                                                                                 \
    "ldrd r3,r12,[r0,#320]\n" EK_TILE_HALF(add, r6, r1) EK_TILE_HALF(add, r10, r2)                           \
        EK_TILE_RIGHT(r1, r2, r3, r12, r1, r2, 2) EK_TILE_HALF(add, r7, r3)                                  \
            EK_TILE_HALF(add, r11, r12) "ldrd r1,r2,[r0,#480]\n"                                             \
                                        "ldrd r3,r12,[r0,#448]\n" EK_TILE_HALF(rsb, r4, r1)                  \
                                            EK_TILE_HALF(rsb, r8, r2)                                        \
                                                EK_TILE_RIGHT(r1, r2, r3, r12, r1, r2, 3)                    \
                                                    EK_TILE_HALF(rsb, r5, r3) EK_TILE_HALF(rsb, r9, r12)

/* The number of the output; its constants: r12 multiplier, r1 offset, r2 shift; and a rule. */
#define EK_TILE_OUTPUT "ldr r3,[sp]\nadd.w r3,r3,r0,lsr#3\n"
#define EK_TILE_EACH(op) op(r4) op(r5) op(r6) op(r7) op(r8) op(r9) op(r10) op(r11)
#define EK_TILE_AND_OFFSET(multiply, y) multiply " " #y "," #y ",r12,r1\n"
#define EK_TILE_PLUS(y) EK_PLUS(y, r1)
#define EK_TILE_DOWN(y) EK_DOWN(y, r2)
#define EK_TILE_BYTE(y) EK_NEAREST(y, 8)
#define EK_TILE_UP(y) EK_TILE_AND_OFFSET("smmlar", y)
#define EK_TILE_SCALED(y) EK_TILE_AND_OFFSET("smmla", y)
#define EK_TILE_CONSTANTS_TFL                                                                                \
    "ldrd r1,r2,[lr]\n"                                                                                      \
    "ldr r12,[r1,r3,lsl#2]\n"                                                                                \
    "ldrb r2,[r2,r3]\n"                                                                                      \
    "ldr r1,[lr,#8]\n"
#define EK_TILE_TFL                                                                                          \
    EK_TILE_CONSTANTS_TFL                                                                                    \
    EK_TILE_EACH(EK_HIGH)                                                                                    \
    EK_TILE_EACH(EK_AWAY) EK_TILE_EACH(EK_TILE_DOWN) EK_TILE_EACH(EK_TILE_PLUS) EK_TILE_EACH(EK_NEAREST_HALF)
#define EK_TILE_TFL_UP                                                                                       \
    EK_TILE_CONSTANTS_TFL                                                                                    \
    "lsls r1,r2\n" EK_TILE_EACH(EK_TILE_UP) EK_TILE_EACH(EK_TILE_DOWN) EK_TILE_EACH(EK_NEAREST_HALF)
#define EK_TILE_E                                                                                            \
    "ldr r1,[lr]\n"                                                                                          \
    "ldr r12,[r1,r3,lsl#2]\n"                                                                                \
    "ldrd r1,r2,[lr,#8]\n" EK_TILE_EACH(EK_TILE_SCALED) EK_TILE_EACH(EK_TILE_DOWN)                           \
        EK_TILE_EACH(EK_TILE_BYTE)

/* Results of a tile, whose places are at `at` of the layer. */
#define EK_TILE_STORE(at, a, b, c, d, skip)                                                                  \
    "ldrd r1,r2,[lr,#8+" at "]\n" skip "strb " #d ",[r2,r3]\n"                                               \
    "strb " #c ",[r1,r3]\n"                                                                                  \
    "ldrd r1,r2,[lr,#" at "]\n"                                                                              \
    "strb " #b ",[r2,r3]\n"                                                                                  \
    "strb " #a ",[r1,r3]\n"
#define EK_TILE_PLAIN                                                                                        \
    EK_TILE_STORE("16", r6, r7, r4, r5, "") EK_TILE_STORE("32", r10, r11, r8, r9, "cbz r1,3f\n")

/* The same of sums: r8 r9 factors, r10 constant, r11 shift, r12 the number of what is added, from the place of a result. */
#define EK_TILE_FACTORS(a, b)                                                                                \
    "ldrsb r1,[r1,r12]\n"                                                                                    \
    "ldrsb r2,[r2,r12]\n"                                                                                    \
    "mla r1,r1,r9,r10\n"                                                                                     \
    "mla r2,r2,r9,r10\n"                                                                                     \
    "mla " #a "," #a ",r8,r1\n"                                                                              \
    "mla " #b "," #b ",r8,r2\n" EK_DOWN(a, r11) EK_DOWN(b, r11) EK_NEAREST(a, 8) EK_NEAREST(b, 8)
#define EK_TILE_SUMMED(at, skip)                                                                             \
    "ldrd r1,r2,[lr,#8+" at "]\n" skip EK_TILE_FACTORS(r4, r5) "ldrd r1,r2,[lr,#" at "]\n" EK_TILE_FACTORS(  \
        r6, r7) EK_TILE_STORE(at, r6, r7, r4, r5, "")
#define EK_TILE_SUM                                                                                          \
    "ldr r12,[lr,#52]\n"                                                                                     \
    "ldr r1,[r12]\n"                                                                                         \
    "cbz r1,2f\n"                                                                                            \
    "ldrd r1,r2,[r12,#4]\n"                                                                                  \
    ".irp y,r4,r5,r6,r7,r8,r9,r10,r11\n"                                                                     \
    "cmp \\y,r1\n"                                                                                           \
    "it lt\n"                                                                                                \
    "movlt \\y,r1\n"                                                                                         \
    "cmp \\y,r2\n"                                                                                           \
    "it gt\n"                                                                                                \
    "movgt \\y,r2\n"                                                                                         \
    ".endr\n"                                                                                                \
    "2:\n"                                                                                                   \
    "push {r8-r11}\n"                                                                                        \
    "add.w r12,r12,#12\n"                                                                                    \
    "ldm r12,{r8-r12}\n"                                                                                     \
    "add r12,r3\n" EK_TILE_SUMMED("16", "") "pop {r4-r7}\n" EK_TILE_SUMMED("32", "cbz r1,3f\n")

/* Results of four outputs of two tiles, from output o on, by a rule; `store` puts them in their places.
 *
 * Called with  r0 sums, r1 o, r2 the layer
 * Stack        0 o less an eighth of the sums' address, 4 end of the sums
 * Results      r0 sums, r3 the output, r4-r11 results, lr the layer, r1 r2 r12 constants and places */
/* clang-format off */
#define EK_TILE_RESULTS(rule, store)                                                                         \
    "push {r4-r11,lr}\n"                                                                                     \
    "mov lr,r2\n"                                                                                            \
    "ldr r3,[r2,#48]\n"                                                                                      \
    "subs r3,r3,r1\n" /* outputs that there are */                                                           \
    "cmp r3,#4\n"                                                                                            \
    "it gt\n"                                                                                                \
    "movgt r3,#4\n"                                                                                          \
    "add.w r3,r0,r3,lsl#3\n"                                                                                 \
    "sub.w r2,r1,r0,lsr#3\n"                                                                                 \
    "push {r2,r3}\n"                                                                                         \
    "1:\n" /* an output */                                                                                   \
        EK_TILE_DOUBLED                                                                                      \
        EK_TILE_OUTPUT                                                                                       \
        rule                                                                                                 \
        store                                                                                                \
    "3:\n"                                                                                                   \
        "ldr r1,[sp,#4]\n"                                                                                   \
        "adds r0,#8\n"                                                                                       \
        "cmp r0,r1\n"                                                                                        \
        "bne 1b\n"                                                                                           \
    "add sp,sp,#8\n"                                                                                         \
    "pop {r4-r11,pc}\n"
/* clang-format on */
#define EK_TILE_RULE(NAME, RULE, rule, store)                                                                \
    EK_CONSTANTS_DSP(NAME, RULE)                                                                             \
    static EK_ASSEMBLY void ek_requantize_##NAME##_results(const int32_t *sums EK_IN_ASSEMBLY,               \
        int32_t o EK_IN_ASSEMBLY, const struct ek_tile_results *layer EK_IN_ASSEMBLY)                        \
    {                                                                                                        \
        __asm volatile(EK_TILE_RESULTS(rule, store));                                                        \
    }
EK_TILE_RULE(tile_tfl, tfl, EK_TILE_TFL, EK_TILE_PLAIN)
EK_TILE_RULE(tile_tfl_up, tfl, EK_TILE_TFL_UP, EK_TILE_PLAIN)
EK_TILE_RULE(tile_e, e, EK_TILE_E, EK_TILE_PLAIN)
EK_TILE_RULE(tile_sum_tfl, tfl, EK_TILE_TFL, EK_TILE_SUM)
EK_TILE_RULE(tile_sum_tfl_up, tfl, EK_TILE_TFL_UP, EK_TILE_SUM)
EK_TILE_RULE(tile_sum_e, e, EK_TILE_E, EK_TILE_SUM)

#endif
