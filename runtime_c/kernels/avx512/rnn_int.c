/* Plain recurrent layer on int8, sixteen numbers at a time: see rnn_int.h and gates_x16.h.
 * like ref/rnn_int.c one=x16 state=x16
 * pack r: O/16! I/4! o16 i4
 * pack b: O/16! o16
 * pack m: O/16! o16
 * fold b: -128 r
 * scratch 3 * size + 4 */
