/* Convolution of int16 with DSP instructions, results of 8 bits.
 * for X=s16 W=s8 Y=s8 S=s32
 * rule e=e_s16_s8 e_wide=e_s16_s8
 * when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1 and in_c % 4 == 0
 * when pad_top == 0 and (out_h - 1) * stride_h < in_h
 * when pad_left == 0 and (out_w - 1) * stride_w < in_w
 * when sum_bits + up <= 30 and up <= 7
 * pack w: O/8! HWI/4! o8 hwi4 : s16 x{2 << up}
 * order pixels 8
 * like dsp/conv2d_int.pixel.c */
