/* Long short-term memory on int8, sums by SMULL and SADALP: see lstm_int.h and gates_neon.h.
 * like ref/lstm_int.c one=neon state=madd
 * pack r: G O/8!4 I/16! o8 i16
 * pack b: G O/4! o4
 * pack m: G O/4! o4 */
