/* Gated recurrent units on int8, sixteen numbers at a time: see gru_int.h and gates_x16.h.
 * like ref/gru_int.c one=x16 state=x16
 * pack r: G O/16! I/4! o16 i4
 * pack b: G O/16! o16
 * pack m: G O/16! o16
 * fold b: -128 r
 * scratch 9 * size + 4 */
