/* Fully connected layer of int8, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide
 * when sum_bits <= 30
 * order bands
 * like avx2/dense_int.c */
