/* Fully connected layer of int8 with DSP instructions, without the blocks of weights that are zero, the others in
 * 8 bits.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_blocks_bytes once=once_blocks_bytes e=e_blocks_bytes e_wide=e_blocks_bytes
 * when zero_blocks(1, 4) >= 52 and small
 * when inputs % 4 == 0 and sum_bits <= 30 and up == 0
 * pack w: blocks O/1! I/4! o1 i4 : s8
 * pack b: O : s32
 * pack e: O : s8 x-1 +-1
 * order rows 1
 * like dsp/dense_int.c */
