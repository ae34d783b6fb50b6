/* Convolution of an int8 image in planes of channels with DSP instructions, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_s8_s16
 * when step_c > 1 and sum_bits + up <= 30 and up <= 7
 * pack w: G O/8! HWI/4! o8 hwi4(0213) : s16 x{2 << up}
 * pack b: G O/8! o8 : s32 x{2 << up}
 * pack e: O : s8 x-1 +-{1 + up}
 * order windows 1
 * scratch (k_h * k_w * (in_c // groups) + 6) // 4 * 4
 * like dsp/conv2d_int.c cells=planes */
