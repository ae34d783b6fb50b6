/* Convolution with windows of one cell of int8 with Helium, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_up_s8_s16
 * when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1
 * when pad_top == 0 and (out_h - 1) * stride_h < in_h
 * when pad_left == 0 and (out_w - 1) * stride_w < in_w
 * when most_exponent <= 0 or least_exponent + up > 31
 * when most_exponent <= 0 or sum_bits + up <= 31
 * order windows 2
 * like mve/conv2d_int.pixel.c */
