/* Convolution of int8 with Helium, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_up_s8_s16
 * when step_c == 1 and (groups == 1 or out_c // groups % 4 == 0)
 * when most_exponent <= 0 or least_exponent + up > 31
 * when most_exponent <= 0 or sum_bits + up <= 31
 * pack w: G O/4! HWI/16! o4 hwi16
 * pack b: O/4! o4
 * pack m: O/4! o4
 * pack e: O/4! o4
 * scratch 32 * ((k_h * k_w * (in_c // groups) + 15) // 16)
 * order windows 2
 * like mve/conv2d_int.dot.c */
