/* Fully connected layer of int8, by AVX-VNNI, sums of eight outputs at a time: see dense_int.h and lines_s8_x86.h.
 * like avx2/dense_int.c x8=x8v
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once line line_away
 * when sum_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * pack w: O/8! I/4! o8 i4
 * fold b: -128 w
 * scratch rows * inputs + 64
 * order bands */
