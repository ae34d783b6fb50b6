/* Fully connected layer of int8 without the blocks of weights that are zero: see pixel_rows_s8_x86.h. Eight
 * rows advance together, four, or one.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once line line_away
 * @when zero_blocks(8, 2) > 0
 * @when inputs % 2 == 0 and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: blocks O/8! I/2! o8 i2 @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8
 * @scratch rows * inputs * 2 + 64
 * @count eights: rows // 8 + (rows > 8 and rows % 8 > 4)
 * @count fours: (rows + 3) // 4 if 3 < rows < 8 else (rows > 8 and 0 < rows % 8 < 5)
 * @count single: rows if rows < 4 else 0
 * @count computed: 8 * eights + 4 * fours + single
 * @count vectors: (outputs + 7) // 8
 * @count blocks: vectors * inputs * (100 - zero_blocks(8, 2)) // 200
 * @count tiles: (eights + fours + single) * vectors
 * @count weight vectors: (eights + fours + single) * blocks
 * @count product vectors: computed * blocks
 * @count result vectors: computed * vectors
 * @work calls 28.8, inputs 0.251, product vectors 3.13, result vectors 2.86, tiles 41.2
 * @work weight vectors 8.27 */
/* Fully connected layer of int8 by AVX-512 VNNI without the blocks of weights that are zero.
 * @as avx512/dense_int.blocks x8=x16 @without when zero_blocks(8, 2) > 0, when inputs % 2 == 0
 * @when zero_blocks(16, 4) > 0 and inputs % 4 == 0 @pack w: blocks O/16! I/4! o16 i4
 * @pack b: O/16! o16 @pack m: O/16! o16 @pack e: O/16! o16 @fold b: -128 w @scratch rows * inputs + 64
 * @count eights: rows // 16 + rows % 16 // 8 + (rows > 8 and rows % 8 > 4)
 * @count computed: 8 * (rows // 8 + (rows > 8 and rows % 8 > 4)) + 4 * fours + single
 * @count vectors: (outputs + 15) // 16
 * @count blocks: vectors * inputs * (100 - zero_blocks(16, 4)) // 400
 * @work inputs 0.0437, product vectors 2.36, result vectors 1.5, tiles 52.6, weight vectors 5.89 */
/* Fully connected layer of int8 by AVX-VNNI without the blocks of weights that are zero.
 * @as avxvnni/dense_int.blocks x8=x8v @without when zero_blocks(8, 2) > 0, when inputs % 2 == 0
 * @when zero_blocks(8, 4) > 0 and inputs % 4 == 0 @pack w: blocks O/8! I/4! o8 i4
 * @fold b: -128 w @scratch rows * inputs + 64
 * @count blocks: vectors * inputs * (100 - zero_blocks(8, 4)) // 400
 * @work inputs 0.0437, product vectors 2.36, result vectors 1.5, tiles 52.6, weight vectors 5.89 */
#include "edgekit/contracts/dense_int.h"
#include "edgekit/simd/x86/rules_x86.h"

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct ek_x8_layer s = {
        1, p->inputs * EK_X8_SIZE / 4, 0, p->outputs, EK_RULE(kind), p->zero, p->lo, p->hi, w, b, m, e, 0, 1};
    ek_x8_copy(x, scratch, p->rows * p->inputs);
    ek_x8_block_rows(scratch, y, p->rows, p->inputs * EK_X8_SIZE, &s);
}
