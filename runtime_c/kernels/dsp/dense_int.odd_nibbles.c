/* Fully connected layer of int8 and weights of four bits with DSP instructions: see nibbles_dsp.h.
 * for X=s8 W=s4 Y=s8 S=s32
 * rule e=e_nibbles
 * when inputs % 8 != 0 and sum_bits <= 30 and most_exponent > 32
 * pack w: O/4! I/8! o4 i8(01452367) : +8 u4
 * pack b: O/4! o4 : s32
 * pack e: O : s8 x-1 +-1
 * order rows 4
 * scratch (inputs + 7) // 8 * 8
 * like dsp/dense_int.odd.c */
