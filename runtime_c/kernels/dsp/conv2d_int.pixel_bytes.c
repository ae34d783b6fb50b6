/* Convolution of int8 with DSP instructions, weights in 8 bits: half the flash, half as many instructions more.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_bytes e=e_bytes e_wide=e_bytes
 * when small
 * when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1 and in_c % 4 == 0
 * when pad_top == 0 and (out_h - 1) * stride_h < in_h
 * when pad_left == 0 and (out_w - 1) * stride_w < in_w
 * when sum_bits <= 30 and up == 0
 * pack w: O/8! HWI/4! o8 hwi4 : s8
 * pack b: O/8! o8 : s32
 * pack e: O : s8 x-1 +-1
 * order pixels 8
 * like dsp/conv2d_int.pixel.c */
