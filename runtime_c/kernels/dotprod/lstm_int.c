/* Long short-term memory on int8, sums by SDOT: see lstm_int.h and gates_neon.h.
 * like ref/lstm_int.c one=neon state=dot
 * pack r: G O/16!4 I/4! o16 i4
 * pack b: G O/4! o4
 * pack m: G O/4! o4 */
