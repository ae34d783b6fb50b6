/* Convolution of int8 and weights of four bits with DSP instructions: see nibbles_dsp.h.
 * for X=s8 W=s4 Y=s8 S=s32
 * rule e=e_nibbles
 * when step_c == 1 and sum_bits <= 30 and most_exponent > 32
 * pack w: G O/4! HWI/8! o4 hwi8(01452367) : +8 u4
 * pack b: G O/4! o4 : s32
 * pack e: O : s8 x-1 +-1
 * order windows 1
 * scratch (k_h * k_w * (in_c // groups) + 10) // 8 * 8
 * like dsp/conv2d_int.c */
