/* Fully connected layer of int16 with DSP instructions, results of 8 bits.
 * for X=s16 W=s8 Y=s8 S=s32
 * rule e=e_s16_s8 e_wide=e_s16_s8
 * when inputs % 4 == 0 and sum_bits + up <= 30 and up <= 7
 * pack w: O/8! I/4! o8 i4 : s16 x{2 << up}
 * order rows 8
 * like dsp/dense_int.c */
