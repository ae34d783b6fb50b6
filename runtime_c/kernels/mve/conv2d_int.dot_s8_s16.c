/* Convolution of int8 with Helium, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_up_s8_s16
 * when step_c == 1 and (groups == 1 or out_c // groups % 4 == 0)
 * when most_exponent <= 0 or least_exponent + up > 31
 * when most_exponent <= 0 or sum_bits + up <= 31
 * order windows 2
 * like mve/conv2d_int.dot.c */
