/* Fully connected layer of int8 with DSP instructions, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_s8_s16
 * when inputs % 4 != 0 and sum_bits + up <= 30 and up <= 7
 * pack w: O/8! I/4! o8 i4(0213) : s16 x{2 << up}
 * pack b: O/8! o8 : s32 x{2 << up}
 * pack e: O : s8 x-1 +-{1 + up}
 * order rows 8
 * scratch (inputs + 3) // 4 * 4
 * like dsp/dense_int.odd.c */
