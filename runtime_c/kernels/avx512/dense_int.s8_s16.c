/* Fully connected layer of int8, sums of sixteen outputs at a time, results of 16 bits.
 * like avx2/dense_int.c x8=x16
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide
 * when sum_bits <= 30
 * pack w: O/16! I/4! o16 i4
 * pack b: O/16! o16
 * pack m: O/16! o16
 * pack e: O/16! o16
 * fold b: -128 w
 * scratch rows * inputs + 64
 * order bands */
