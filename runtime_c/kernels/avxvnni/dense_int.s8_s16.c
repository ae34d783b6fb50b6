/* Fully connected layer of int8, by AVX-VNNI, results of 16 bits.
 * like avx2/dense_int.c x8=x8v
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide
 * when sum_bits <= 30
 * pack w: O/8! I/4! o8 i4
 * fold b: -128 w
 * scratch rows * inputs + 64
 * order bands */
