/* Convolution of int8, by AVX-VNNI, sums of eight outputs at a time: see conv2d_int.h and lines_s8_x86.h.
 * like avx2/conv2d_int.c x8=x8v
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once line line_away
 * when groups == 1 and dilation_w == 1 and sum_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * pack w: O/8! H WI/4! o8 wi4
 * fold b: -128 w
 * scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * in_c + 64
 * order bands */
