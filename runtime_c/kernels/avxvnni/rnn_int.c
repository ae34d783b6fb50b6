/* Plain recurrent layer on int8, sums by AVX-VNNI: see rnn_int.h and gates_x8v.h.
 * like ref/rnn_int.c one=x8 state=x8v
 * pack r: O/8! I/4! o8 i4
 * pack b: O/8! o8
 * pack m: O/8! o8
 * fold b: -128 r
 * scratch 3 * size + 4 */
