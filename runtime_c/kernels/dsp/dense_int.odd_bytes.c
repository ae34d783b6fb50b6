/* Fully connected layer of int8 with DSP instructions, weights in 8 bits: half the flash, half as many instructions more.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_bytes once=once_bytes e=e_bytes e_wide=e_bytes
 * when small
 * when inputs % 4 != 0 and sum_bits <= 30 and up == 0
 * pack w: O/8! I/4! o8 i4 : s8
 * pack b: O/8! o8 : s32
 * pack e: O : s8 x-1 +-1
 * order rows 8
 * like dsp/dense_int.odd.c */
