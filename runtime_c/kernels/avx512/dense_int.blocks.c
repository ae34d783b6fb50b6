/* Fully connected layer of int8 by AVX-512 VNNI without the blocks of weights that are zero: see dense_int.h.
 * like avx2/dense_int.blocks.c x8=x16
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once line line_away
 * when zero_blocks(16, 4) >= 50 + 6000 // inputs
 * when inputs % 4 == 0 and sum_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * pack w: blocks O/16! I/4! o16 i4
 * pack b: O/16! o16
 * pack m: O/16! o16
 * pack e: O/16! o16
 * fold b: -128 w
 * scratch rows * inputs + 64 */
