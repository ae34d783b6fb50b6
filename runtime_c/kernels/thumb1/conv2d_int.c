/* Convolution of int8 on Cortex-M0+: see conv2d_int.h. The sums are those of four_thumb1.h.
 * like thumb/conv2d_int.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl tfl_up
 * when sum_bits <= 30 and (most_exponent < 0 or least_exponent > 32)
 * pack w: G O/4! HWI/4! hwi4 o4 : s16 +128 u8
 * pack b: G O/4! o4
 * pack e: O : s8 x-1 +-1
 * fold b: -128 w
 * order windows 1
 * scratch (k_h * k_w * (in_c // groups) + 3) // 4 * 4 */
