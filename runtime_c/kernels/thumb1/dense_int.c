/* Fully connected layer of int8 on Cortex-M0+: see dense_int.h. The sums are those of four_thumb1.h.
 * like thumb/dense_int.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl once
 * when sum_bits <= 30 and (rule == "once" or most_exponent < 0 or least_exponent > 32)
 * fold b: -128 w */
