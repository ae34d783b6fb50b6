/* Convolution of int8 without the blocks of weights that are zero, pixel by pixel: see pixel_rows_s8_x86.h. Eight
 * pixels advance together.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once line line_away
 * @when zero_blocks(8, 2) > 0
 * @when k_h == 1 and k_w == 1 and groups == 1 and in_c % 2 == 0 and stride_h == 1 and stride_w == 1
 * @when out_h == in_h and out_w == in_w and pad_top == 0 and pad_left == 0 and step_c == 1 and step_w == in_c
 * @when step_h == in_w * in_c and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: blocks O/8! HWI/2! o8 hwi2 @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8
 * @scratch batch * in_h * in_w * in_c * 2 + 64
 * @count pixels: batch * out_h * out_w
 * @count eights: pixels // 8 + (pixels > 8 and pixels % 8 > 4)
 * @count fours: (pixels + 3) // 4 if 3 < pixels < 8 else (pixels > 8 and 0 < pixels % 8 < 5)
 * @count single: pixels if pixels < 4 else 0
 * @count computed: 8 * eights + 4 * fours + single
 * @count vectors: (out_c + 7) // 8
 * @count blocks: vectors * in_c * (100 - zero_blocks(8, 2)) // 200
 * @count tiles: (eights + fours + single) * vectors
 * @count weight vectors: (eights + fours + single) * blocks
 * @count product vectors: computed * blocks
 * @count result vectors: computed * vectors
 * @work calls 39.8, inputs 0.309, product vectors 2.73, result vectors 11.2, tiles 25.5
 * @work weight vectors 8.93 */
/* Convolution of int8 by AVX-512 VNNI without the blocks of weights that are zero, pixel by pixel.
 * @as avx512/conv2d_int.blocks x8=x16 @without when zero_blocks(8, 2) > 0, when in_c % 2 == 0
 * @when zero_blocks(16, 4) > 0 and in_c % 4 == 0 @pack w: blocks O/16! HWI/4! o16 hwi4
 * @pack b: O/16! o16 @pack m: O/16! o16 @pack e: O/16! o16 @fold b: -128 w
 * @scratch batch * in_h * in_w * in_c + 64
 * @count eights: pixels // 16 + pixels % 16 // 8 + (pixels > 8 and pixels % 8 > 4)
 * @count computed: 8 * (pixels // 8 + (pixels > 8 and pixels % 8 > 4)) + 4 * fours + single
 * @count vectors: (out_c + 15) // 16
 * @count blocks: vectors * in_c * (100 - zero_blocks(16, 4)) // 400
 * @work inputs 0.0463, product vectors 2.85, result vectors 8.17, tiles 50.9, weight vectors 3.22 */
/* Convolution of int8 by AVX-VNNI without the blocks of weights that are zero, pixel by pixel.
 * @as avxvnni/conv2d_int.blocks x8=x8v @without when zero_blocks(8, 2) > 0, when in_c % 2 == 0
 * @when zero_blocks(8, 4) > 0 and in_c % 4 == 0 @pack w: blocks O/8! HWI/4! o8 hwi4 @fold b: -128 w
 * @scratch batch * in_h * in_w * in_c + 64
 * @count blocks: vectors * in_c * (100 - zero_blocks(8, 4)) // 400
 * @work inputs 0.0463, product vectors 2.85, result vectors 8.17, tiles 50.9, weight vectors 3.22 */
#include "edgekit/contracts/conv2d_int.h"
#include "edgekit/simd/x86/rules_x86.h"

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct ek_x8_layer s = {
        1, p->in_c * EK_X8_SIZE / 4, 0, p->out_c, EK_RULE(kind), p->zero, p->lo, p->hi, w, b, m, e, 0, 1};
    const int32_t pixels = p->batch * p->in_h * p->in_w;
    ek_x8_copy(x, scratch, pixels * p->in_c);
    ek_x8_block_rows(scratch, y, pixels, p->in_c * EK_X8_SIZE, &s);
}
