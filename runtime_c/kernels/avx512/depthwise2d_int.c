/* Depthwise convolution of int8, 64 channels at a time: see depthwise2d_int.h.
 * like avx2/depthwise2d_int.c x8=x16
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once line line_away
 * when in_c == out_c and sum_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * pack w: O/64~ H/4! W I o64(4x4x4) h4
 * pack b: O/64~ o64(4x4x4)
 * pack m: O/64~ o64(4x4x4)
 * pack e: O/64~ o64(4x4x4)
 * fold b: -128 w
 * scratch ((min(out_h, 8) - 1) * stride_h + (k_h - 1) * dilation_h + 1) * stride_w
 * scratch * ((out_w * stride_w + (k_w - 1) * dilation_w) // stride_w + 1) * in_c + 128
 * order bands 8 */
