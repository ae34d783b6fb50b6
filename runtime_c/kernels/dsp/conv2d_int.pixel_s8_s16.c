/* Convolution of int8 with DSP instructions, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_s8_s16
 * when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1 and in_c % 4 == 0
 * when pad_top == 0 and (out_h - 1) * stride_h < in_h
 * when pad_left == 0 and (out_w - 1) * stride_w < in_w
 * when sum_bits + up <= 30 and up <= 7
 * order pixels 8
 * like dsp/conv2d_int.pixel.c */
