/* Gated recurrent units on int8, sums by SMULL and SADALP: see gru_int.h and gates_neon.h.
 * like ref/gru_int.c one=neon state=madd
 * pack r: G O/8!4 I/16! o8 i16
 * pack b: G O/4! o4
 * pack m: G O/4! o4 */
