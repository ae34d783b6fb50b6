/* Depthwise convolution of int8: see depthwise2d_int.h. As the one for relaxed vectors, with taps of 16 bits.
 * like relaxed/depthwise2d_int.c four=two
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when in_c == out_c
 * scratch (in_c + 7) // 8 * (144 + (k_h + 1) // 2 * k_w * 32)
 * scratch + ((k_h + 1) // 2 + 2 * dilation_h - 1) * 64
 * scratch + ((k_h + 1) // 2 + 2 * dilation_h - 1) * ((out_w - 1) * stride_w + (k_w - 1) * dilation_w + 1) * in_c * 4
 * order lines 8 */
