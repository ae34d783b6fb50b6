/* Fully connected layer of int8 with DSP instructions, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_s8_s16
 * when inputs % 4 == 0 and sum_bits + up <= 30 and up <= 7
 * order rows 8
 * like dsp/dense_int.c */
