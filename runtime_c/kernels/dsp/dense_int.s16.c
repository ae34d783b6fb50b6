/* Fully connected layer of int16 with DSP instructions, results of 16 bits.
 * for X=s16 W=s8 Y=s16 S=s32
 * rule e=e_s16
 * when inputs % 4 == 0 and sum_bits <= 30 and (most_exponent < 0 or most_exponent > 32)
 * pack w: O/8! I/4! o8 i4 : s16 x2
 * pack b: O/8! o8 : s32 x2
 * pack e: O : s8 x-1 +-1
 * order rows 8
 * like dsp/dense_int.c */
