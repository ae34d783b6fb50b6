/* Depthwise convolution of one channel of int8 into many. As the one for relaxed vectors, with cells of 16 bits.
 * like relaxed/depthwise2d_int.image.c four=two
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when in_c == 1 and dilation_w == 1
 * pack w: O/8! H WI/2! o8 wi2
 * scratch 2 * (((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w)) + 16
 * order windows 1048576 */
