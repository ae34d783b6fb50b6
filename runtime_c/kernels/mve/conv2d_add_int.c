/* Convolution of int8 and a sum by factors, with Helium: see conv2d_add_int.h.
 * like mve/conv2d_int.pair.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e=e_sum tfl=tfl_sum tfl_up=tfl_up_sum
 * when step_c == 1 and step_w == in_c and groups == 1 and dilation_w == 1 and stride_w < k_w
 * when k_w * in_c % 16 == 0 and (most_exponent <= 0 or least_exponent > 32)
 * when add[3] > 0 and add[4] == -128 and add[5] == 127 */
