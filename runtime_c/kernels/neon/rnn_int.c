/* Plain recurrent layer on int8, sums by SMULL and SADALP: see rnn_int.h and gates_neon.h.
 * like ref/rnn_int.c one=neon state=madd
 * pack r: O/8!4 I/16! o8 i16
 * pack b: O/4! o4
 * pack m: O/4! o4 */
