/* Convolution of an int8 image in planes of channels with DSP instructions, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_s8_s16
 * when step_c > 1 and sum_bits + up <= 30 and up <= 7
 * order windows 1
 * like dsp/conv2d_int.c cells=planes */
