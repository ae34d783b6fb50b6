/* Fully connected layer of int8 on Cortex-M0+: see dense_int.h. The sums are those of four_thumb1.h.
 * like thumb/dense_int.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl once
 * when sum_bits <= 30 and (rule == "once" or most_exponent < 0 or least_exponent > 32)
 * pack w: O/4! I/4! i4 o4 : s16 +128 u8
 * pack b: O/4! o4
 * pack e: O : s8 x-1 +-1
 * fold b: -128 w
 * scratch (inputs + 3) // 4 * 4 */
