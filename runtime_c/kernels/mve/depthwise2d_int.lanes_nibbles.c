/* Depthwise convolution of int8 and weights of four bits with Helium: there are few, and they are stored in 8 bits.
 * for X=s8 W=s4 Y=s8 S=s32
 * rule e tfl
 * when in_c == out_c and least_weight > -128 and (most_exponent <= 0 or least_exponent > 32)
 * pack w: O/16! HWI o16
 * pack b: O/16! o16(048c26ae159d37bf)
 * pack m: O/16! o16(048c26ae159d37bf)
 * pack e: O/16! o16(048c26ae159d37bf)
 * scratch 4 * k_h * k_w + (in_c + 15) // 16 * 16 * (1 if in_c % 16 == 0 else 1 + min(k_h * k_w, 15 // in_c + 1))
 * order pixels 16
 * like mve/depthwise2d_int.lanes.c */
