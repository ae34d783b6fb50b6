/* Fully connected layer of int16 with DSP instructions, results of 16 bits.
 * for X=s16 W=s8 Y=s16 S=s32
 * rule e=e_s16 e_wide=e_s16
 * when inputs % 4 != 0 and sum_bits + up <= 30 and up <= 7
 * pack w: O/8! I/4! o8 i4 : s16 x{2 << up}
 * order rows 8
 * scratch 2 * ((inputs + 3) // 4 * 4)
 * like dsp/dense_int.odd.c */
