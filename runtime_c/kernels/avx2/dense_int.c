/* Fully connected layer of int8. Rows are the pixels of a line: see pixel_rows_s8_x86.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once line line_away
 * @when acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30 @pack w: O/8! I/2! o8 i2 @pack b: O/8! o8
 * @pack m: O/8! o8 @pack e: O/8! o8 @scratch rows * inputs * 2 + 64 @order bands
 * @count steps: ((outputs + 7) // 8) * ((inputs + 1) // 2)
 * @count quads: (rows + 3) // 4 * 4
 * @count together: 1 if rows < 4
 * @count together: else (12 if rows > 11 and (rows + 11) // 12 * 12 <= (rows + 7) // 8 * 8 else 8 if rows > 7 else 4)
 * @count together: if outputs <= 8 else 6 if rows > 5 and (rows + 5) // 6 * 6 <= quads
 * @count together: else 5 if rows > 4 and (rows + 4) // 5 * 5 <= quads else 4
 * @count tiles: -(-rows // together)
 * @count weight vectors: tiles * steps
 * @count product vectors: together * tiles * steps
 * @count result vectors: together * tiles * ((outputs + 7) // 8)
 * @work calls 141, inputs 0.238, product vectors 3.22, result vectors 1.78, weight vectors 0.628 */
/* Fully connected layer of int8, results of 16 bits.
 * @as avx2/dense_int.s8_s16 Y=s16 @without when @rule e e_wide @when acc_bits <= 30 */
/* Fully connected layer of int8, sums of sixteen outputs at a time: see pixel_rows_s8_x86.h.
 * @as avx512/dense_int x8=x16 @pack w: O/64!16 I/4! o64 i4 @pack b: O/16! o16 @pack m: O/16! o16
 * @pack e: O/16! o16 @fold b: -128 w @scratch rows * inputs + 64 @work padded products 1 */
/* Fully connected layer of int8, sums of sixteen outputs at a time, results of 16 bits.
 * @as avx512/dense_int.s8_s16 Y=s16 like avx512/dense_int @without when @rule e e_wide
 * @when acc_bits <= 30 */
/* Fully connected layer of int8, by AVX-VNNI, sums of eight outputs at a time: see pixel_rows_s8_x86.h.
 * @as avxvnni/dense_int x8=x8v @pack w: O/8! I/4! o8 i4 @fold b: -128 w @scratch rows * inputs + 64
 * @work padded products 1 */
/* Fully connected layer of int8, by AVX-VNNI, results of 16 bits.
 * @as avxvnni/dense_int.s8_s16 Y=s16 like avxvnni/dense_int @without when @rule e e_wide
 * @when acc_bits <= 30 */
#include "edgekit/contracts/dense_int.h"
#include "edgekit/simd/x86/rules_x86.h"

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct ek_x8_layer s = {1, (p->inputs * EK_X8_SIZE + 3) / 4, 0, p->outputs, EK_RULE(kind), p->zero,
        p->lo, p->hi, w, b, m, e, sizeof(EK_Y) == 2, EK_X8_ABREAST};
    ek_x8_copy(x, scratch, p->rows * p->inputs);
    if (p->rows == 1)
        ek_x8_outputs(scratch, (int8_t *)y, &s);
    else
        ek_x8_lines(scratch, (int8_t *)y, 1, 0, p->inputs * EK_X8_SIZE, p->rows, &s);
}
