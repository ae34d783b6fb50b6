/* Convolution of an int8 image in planes of channels with DSP instructions: see planes_dsp.h.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl e e_wide=e
 * when step_c > 1 and sum_bits + up <= 30 and up <= 7
 * order windows 1
 * like dsp/conv2d_int.c cells=planes */
