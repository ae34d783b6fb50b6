/* Convolution of int8 on Cortex-M0+: see conv2d_int.h. The sums are those of four_thumb1.h.
 * like thumb/conv2d_int.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl tfl_up
 * when sum_bits <= 30 and (most_exponent < 0 or least_exponent > 32)
 * fold b: -128 w
 * order windows 1 */
