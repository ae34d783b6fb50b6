/* Depthwise convolution of int8 and weights of four bits with DSP instructions: there are few, and they are stored in
 * 16 bits.
 * for X=s8 W=s4 Y=s8 S=s32
 * rule tfl e
 * when in_c == out_c and sum_bits <= 30 and (most_exponent < 0 or most_exponent > 32)
 * pack w: O/4! HWI o4(0213) : s16 x2
 * pack b: O/4! o4 : s32 x2
 * pack e: O : s8 x-1 +-1
 * order pixels 4
 * like dsp/depthwise2d_int.taps.c */
