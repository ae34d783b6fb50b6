/* Convolution of an int16 image in planes of channels with DSP instructions, results of 16 bits.
 * for X=s16 W=s8 Y=s16 S=s32
 * rule e=e_s16 e_wide=e_s16
 * when step_c > 1 and sum_bits + up <= 30 and up <= 7
 * pack w: G O/8! HWI/4! o8 hwi4 : s16 x{2 << up}
 * order windows 1
 * scratch 2 * ((k_h * k_w * (in_c // groups) + 6) // 4 * 4)
 * like dsp/conv2d_int.c cells=half_planes */
