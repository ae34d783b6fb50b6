/* Convolution of int8 by AVX-VNNI without the blocks of weights that are zero, pixel by pixel: see conv2d_int.h.
 * like avx2/conv2d_int.blocks.c x8=x8v
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once line line_away
 * when zero_blocks(8, 4) >= 30 + 1000 // in_c and k_h == 1 and k_w == 1 and groups == 1 and in_c % 4 == 0
 * when stride_h == 1 and stride_w == 1 and out_h == in_h and out_w == in_w and pad_top == 0 and pad_left == 0
 * when step_c == 1 and step_w == in_c and step_h == in_w * in_c
 * when sum_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * pack w: blocks O/8! HWI/4! o8 hwi4
 * fold b: -128 w
 * scratch batch * in_h * in_w * in_c + 64 */
