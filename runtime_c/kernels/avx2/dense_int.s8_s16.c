/* Fully connected layer of int8, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide
 * when sum_bits <= 30
 * pack w: O/8! I/2! o8 i2
 * pack b: O/8! o8
 * pack m: O/8! o8
 * pack e: O/8! o8
 * scratch rows * inputs * 2 + 64
 * order bands
 * like avx2/dense_int.c */
