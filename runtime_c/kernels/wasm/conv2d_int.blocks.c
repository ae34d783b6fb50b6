/* Convolution of int8 pixel by pixel without the blocks of weights that are zero: see conv2d_int.h and blocks_s8_wasm.h.
 * like relaxed/conv2d_int.blocks.c four=two
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when zero_blocks(8, 2) >= 20 and k_h == 1 and k_w == 1 and groups == 1 and in_c % 2 == 0
 * when stride_h == 1 and stride_w == 1 and out_h == in_h and out_w == in_w and pad_top == 0 and pad_left == 0
 * when step_c == 1 and step_w == in_c and step_h == in_w * in_c
 * pack w: blocks O/8! HWI/2! o8 hwi2
 * scratch 2 * (batch * in_h * in_w * in_c) + 16
 * order windows 1048576 */
