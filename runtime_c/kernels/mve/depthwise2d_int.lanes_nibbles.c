/* Depthwise convolution of int8 and weights of four bits with Helium: there are few, and they are stored in 8 bits.
 * for X=s8 W=s4 Y=s8 S=s32
 * rule e tfl
 * when in_c == out_c and least_weight > -128 and (most_exponent <= 0 or least_exponent > 32)
 * order pixels 16
 * like mve/depthwise2d_int.lanes.c */
