/* Convolution of int8 and weights of four bits with DSP instructions: see nibbles_dsp.h.
 * for X=s8 W=s4 Y=s8 S=s32
 * rule e=e_nibbles
 * when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1 and in_c % 8 == 0
 * when pad_top == 0 and (out_h - 1) * stride_h < in_h
 * when pad_left == 0 and (out_w - 1) * stride_w < in_w
 * when sum_bits <= 30 and most_exponent > 32
 * pack w: O/4! HWI/8! o4 hwi8(01452367) : +8 u4
 * pack b: O/4! o4 : s32
 * pack e: O : s8 x-1 +-1
 * order pixels 4
 * like dsp/conv2d_int.pixel.c */
