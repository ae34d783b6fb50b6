/* Depthwise convolution of int8 with DSP instructions, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e=e_s8_s16 e_wide=e_s8_s16
 * when in_c == out_c and sum_bits + up <= 30 and up <= 7
 * pack w: O/4! HWI o4(0213) : s16 x{2 << up}
 * pack b: O/4! o4 : s32 x{2 << up}
 * pack e: O : s8 x-1 +-{1 + up}
 * scratch 4 * k_h * k_w + (in_c + 3) // 4 * 4 * (1 if in_c % 4 == 0 else 1 + min(k_h * k_w, 3 // in_c + 1))
 * order pixels 4
 * like dsp/depthwise2d_int.taps.c */
