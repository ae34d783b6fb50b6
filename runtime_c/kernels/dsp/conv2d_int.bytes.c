/* Convolution of int8 with DSP instructions, weights in 8 bits: half the flash, half as many instructions more.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_bytes e=e_bytes e_wide=e_bytes
 * when small
 * when step_c == 1 and sum_bits <= 30 and up == 0
 * pack w: G O/8! HWI/4! o8 hwi4 : s8
 * pack b: G O/8! o8 : s32
 * pack e: O : s8 x-1 +-1
 * order windows 1
 * like dsp/conv2d_int.c */
