/* Convolution of int8 with DSP instructions, two pixels at a time, without the blocks of weights that are zero, the
 * others in 8 bits.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_blocks_bytes e=e_blocks_bytes e_wide=e_blocks_bytes
 * when zero_blocks(1, 4) >= 52 and small
 * when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1 and in_c % 4 == 0
 * when pad_top == 0 and (out_h - 1) * stride_h < in_h
 * when pad_left == 0 and (out_w - 1) * stride_w < in_w
 * when sum_bits <= 30 and up == 0
 * pack w: blocks O/1! HWI/4! o1 hwi4 : s8
 * pack b: O : s32
 * pack e: O : s8 x-1 +-1
 * order pixels 1 2
 * like dsp/conv2d_int.pixel_blocks.c */
