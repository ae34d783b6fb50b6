/* Plain recurrent layer on int8, sums by SDOT: see rnn_int.h and gates_neon.h.
 * like ref/rnn_int.c one=neon state=dot
 * pack r: O/16!4 I/4! o16 i4
 * pack b: O/4! o4
 * pack m: O/4! o4 */
