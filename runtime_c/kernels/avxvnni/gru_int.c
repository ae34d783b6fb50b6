/* Gated recurrent units on int8, sums by AVX-VNNI: see gru_int.h and gates_x8v.h.
 * like ref/gru_int.c one=x8 state=x8v
 * pack r: G O/8! I/4! o8 i4
 * pack b: G O/8! o8
 * pack m: G O/8! o8
 * fold b: -128 r
 * scratch 9 * size + 4 */
