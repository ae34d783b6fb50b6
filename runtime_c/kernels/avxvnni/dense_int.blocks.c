/* Fully connected layer of int8 by AVX-VNNI without the blocks of weights that are zero: see dense_int.h.
 * like avx2/dense_int.blocks.c x8=x8v
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once line line_away
 * when zero_blocks(8, 4) >= 50 + 5000 // inputs
 * when inputs % 4 == 0 and sum_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * pack w: blocks O/8! I/4! o8 i4
 * fold b: -128 w
 * scratch rows * inputs + 64 */
