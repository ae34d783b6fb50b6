/* Fully connected layer of int8. Rows are the pixels of a line: see pixel_rows_s8_x86.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once line line_away
 * @when acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30 @pack w: O/8! I/2! o8 i2 @pack b: O/8! o8
 * @pack m: O/8! o8 @pack e: O/8! o8 @scratch rows * inputs * 2 + 64 @order bands
 * @count lanes: 8
 * @count vectors: (outputs + lanes - 1) // lanes
 * @count taps: (inputs + 1) // 2
 * @count steps: vectors * taps
 * @count most: 12 if vectors == 1 else 6
 * @count quads: (rows + 3) // 4 * 4
 * @count together: 1 if rows < 4
 * @count together: else (most if rows >= most and -(-rows // most) * most <= (rows + 7) // 8 * 8 else 8 if rows > 7 else 4)
 * @count together: if most > 6 else 6 if rows > 5 and (rows + 5) // 6 * 6 <= quads
 * @count together: else 5 if rows > 4 and (rows + 4) // 5 * 5 <= quads else 4
 * @count tiles: -(-rows // together)
 * @count weight vectors: tiles * steps
 * @count product vectors: together * tiles * steps
 * @count result vectors: together * tiles * vectors
 * @count parts: vectors // 8 + vectors % 8 // 4 + vectors % 4 // 2 + vectors % 2 if rows == 1 else (vectors + 1) // 2
 * @count broadcasts: together * tiles * parts * taps
 * @work broadcasts 2.59, calls 34.5, inputs 0.127, product vectors 1.63, result vectors 9.9
 * @work weight vectors 1.85 */
/* Fully connected layer of int8, results of 16 bits.
 * @as avx2/dense_int.s8_s16 Y=s16 @without when @rule e e_wide @when acc_bits <= 30 */
/* Fully connected layer of int8, sums of sixteen outputs at a time: see pixel_rows_s8_x86.h.
 * @as avx512/dense_int x8=x16 @pack w: O/64!16 I/4! o64 i4 @pack b: O/16! o16 @pack m: O/16! o16
 * @pack e: O/16! o16 @fold b: -128 w @scratch rows * inputs + 64
 * @count lanes: 16
 * @count taps: (inputs + 3) // 4
 * @count most: 16 if vectors == 1 else 12 if vectors == 2 else 8 if vectors == 3 else 6
 * @count parts: vectors // 4 + vectors % 4 // 2 + vectors % 2 if rows == 1 else (vectors + 3) // 4
 * @work broadcasts 1.83, calls 17.6, product vectors 1.36, result vectors 10.1, weight vectors 1.33 */
/* Fully connected layer of int8, sums of sixteen outputs at a time, results of 16 bits.
 * @as avx512/dense_int.s8_s16 Y=s16 like avx512/dense_int @without when @rule e e_wide
 * @when acc_bits <= 30 */
/* Fully connected layer of int8, by AVX-VNNI, sums of eight outputs at a time: see pixel_rows_s8_x86.h.
 * @as avxvnni/dense_int x8=x8v @pack w: O/8! I/4! o8 i4 @fold b: -128 w @scratch rows * inputs + 64
 * @count taps: (inputs + 3) // 4
 * @work broadcasts 1.83, calls 17.6, product vectors 1.36, result vectors 10.1, weight vectors 1.33 */
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
