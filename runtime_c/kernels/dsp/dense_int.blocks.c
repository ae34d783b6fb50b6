/* Fully connected layer of int8 with DSP instructions, without the blocks of weights that are zero.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_blocks once=once_blocks e=e_blocks e_wide=e_blocks
 * when zero_blocks(1, 4) >= 45 + 800 // inputs and not small
 * when inputs % 4 == 0 and sum_bits + up <= 30 and up <= 7
 * pack w: blocks O/1! I/4! o1 i4(0213) : s16 x{2 << up}
 * pack b: O : s32 x{2 << up}
 * order rows 1
 * like dsp/dense_int.c */
